#include "sim/python_random.h"

#include <cmath>

#include "sim/seconds.h"

namespace loadline::sim {
namespace {

constexpr std::uint32_t mixed(std::uint32_t before, std::uint32_t factor) noexcept {
  return (before ^ (before >> 30)) * factor;
}

}  // namespace

PythonRandom::PythonRandom(std::uint32_t seed) noexcept {
  state_[0] = 19650218;
  for (std::uint32_t i = 1; i < kWords; ++i) {
    state_[i] = mixed(state_[i - 1], 1812433253) + i;
  }
  // The key has one word, so each is mixed with the same.
  std::size_t i = 1;
  const auto step = [&](std::uint32_t factor, auto combine) {
    state_[i] = combine(state_[i] ^ mixed(state_[i - 1], factor));
    if (++i == kWords) {
      state_[0] = state_[kWords - 1];
      i = 1;
    }
  };
  for (std::size_t k = 0; k < kWords; ++k) {
    step(1664525, [seed](std::uint32_t x) { return x + seed; });
  }
  for (std::size_t k = 1; k < kWords; ++k) {
    step(1566083941, [&i](std::uint32_t x) { return x - static_cast<std::uint32_t>(i); });
  }
  state_[0] = 0x80000000;
}

void PythonRandom::turn() noexcept {
  constexpr std::size_t kApart = 397;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t joined = (state_[i] & 0x80000000) | (state_[(i + 1) % kWords] & 0x7fffffff);
    state_[i] =
        state_[(i + kApart) % kWords] ^ (joined >> 1) ^ ((joined & 1) != 0 ? 0x9908b0dfU : 0U);
  }
  next_ = 0;
}

std::uint32_t PythonRandom::word() noexcept {
  if (next_ == kWords) {
    turn();
  }
  std::uint32_t x = state_[next_++];
  x ^= x >> 11;
  x ^= (x << 7) & 0x9d2c5680;
  x ^= (x << 15) & 0xefc60000;
  return x ^ (x >> 18);
}

double PythonRandom::uniform() noexcept {
  const std::uint32_t high = word() >> 5;
  const std::uint32_t low = word() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double PythonRandom::exponential(double per_second) noexcept {
  return -std::log(1.0 - uniform()) / per_second;
}

std::vector<Listed> python_poisson(std::uint32_t seed, double per_second, Duration until) {
  PythonRandom random(seed);
  std::vector<Listed> callers;
  for (double t = 0; t < seconds(until);) {
    t += random.exponential(per_second);
    callers.push_back({.at = at(t)});
  }
  return callers;
}

}  // namespace loadline::sim
