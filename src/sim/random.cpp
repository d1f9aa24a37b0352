#include "sim/random.h"

#include <cmath>
#include <numbers>

namespace loadline::sim {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd

constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t Draws::bits() noexcept {
  if (!mixed_) {
    state_ = mix(mix(mix(seed_ + kGolden) + stream_ + kGolden) + state_ + kGolden);
    mixed_ = true;
  }
  state_ += kGolden;
  return mix(state_);
}

// The middles of 2^52 equal parts, so that neither a logarithm nor a quantile meets its pole. (With
// 2^53 the last middle would round to 1.)
double Draws::uniform() noexcept {
  constexpr double kPart = 1.0 / (std::uint64_t{1} << 52);
  return (static_cast<double>(bits() >> 12) + 0.5) * kPart;
}

double Draws::exponential() noexcept {
  return -std::log(uniform());
}

// Box and Muller (Annals of Mathematical Statistics 29, 1958), the first of the pair.
double Draws::normal() noexcept {
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace loadline::sim
