// Random numbers that belong to a request, not to the order in which things happen.
//
// Each is a function of (seed, stream, number): the gap before the 17th caller of a population and
// the work he brings are the same whatever the policy did with the 16 before him. Without this two
// policies could not be compared on one seed.
#pragma once

#include <cstdint>

namespace loadline::sim {

// The draws that belong to one (seed, stream, number): SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)
// from a state into which the three are mixed when the first is drawn; many never draw.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) noexcept
      : seed_(seed), stream_(stream), state_(number) {}

  std::uint64_t bits() noexcept;
  double uniform() noexcept;      // above 0, below 1
  double exponential() noexcept;  // of mean 1
  double normal() noexcept;       // of mean 0 and variance 1

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t state_;
  bool mixed_ = false;
};

}  // namespace loadline::sim
