// Randomness as Loadline uses it: a generator with a seed, so that a run can be repeated.
//
// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014)
// on an atomic counter: any thread may draw, each draw is one addition, and in one thread the
// sequence is the same on every machine. Not for secrets.
#pragma once

#include <atomic>
#include <cstdint>

namespace loadline::client {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;
  ~Random() = default;

  std::uint64_t draw() noexcept {
    std::uint64_t z = state_.fetch_add(kGamma, std::memory_order_relaxed) + kGamma;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15U;
  std::atomic<std::uint64_t> state_;
};

// 64 even bits as an even number from 0 to less than `below`: the upper word of a product (Lemire,
// "Fast Random Integer Generation in an Interval", TOMACS 29(1), 2019, without the rejection: the
// bias is below 2^-20 for any time shorter than two hours in nanoseconds).
constexpr std::uint64_t scaled_down(std::uint64_t random, std::uint64_t below) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{random} * below) >> 64);
}

}  // namespace loadline::client
