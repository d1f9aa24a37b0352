// The one 64-bit word in which a gate's fast path happens.
//
//   in_flight:32 | waiting:16 | class mask:8 | epoch:8
//
// Everything that must change together stands here, so that a single compare-and-swap can say
// "there was room, nobody more important waited, and the limit had not moved". in_flight is on top:
// a release too many cannot borrow from its neighbours. Bit c of the mask: someone of class c
// waits.
#pragma once

#include <cstdint>

namespace loadline {

struct Word {
  std::uint64_t bits = 0;

  static constexpr std::uint64_t kOneInFlight = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kOneWaiting = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kMaskBits = std::uint64_t{0xff} << 8;

  [[nodiscard]] constexpr std::uint32_t in_flight() const noexcept {
    return std::uint32_t(bits >> 32);
  }
  [[nodiscard]] constexpr std::uint32_t waiting() const noexcept { return (bits >> 16) & 0xffff; }
  [[nodiscard]] constexpr std::uint32_t mask() const noexcept { return (bits >> 8) & 0xff; }
  [[nodiscard]] constexpr std::uint32_t epoch() const noexcept { return bits & 0xff; }

  // Does anyone of this class, or of a more important one, wait?
  [[nodiscard]] constexpr bool waits_at_or_above(std::uint32_t importance) const noexcept {
    return (mask() & ((2U << importance) - 1)) != 0;
  }

  [[nodiscard]] constexpr Word with_in_flight_added(std::uint32_t cost) const noexcept {
    return {bits + (std::uint64_t{cost} << 32)};
  }
  [[nodiscard]] constexpr Word with_in_flight_removed(std::uint32_t cost) const noexcept {
    return {bits - (std::uint64_t{cost} << 32)};
  }
  [[nodiscard]] constexpr Word with_in_flight(std::uint32_t units) const noexcept {
    return {(bits & 0xffff'ffff) | (std::uint64_t{units} << 32)};
  }
  [[nodiscard]] constexpr Word with_waiting(std::uint32_t count,
                                            std::uint32_t mask) const noexcept {
    return {(bits & 0xffff'ffff'0000'00ff) | (std::uint64_t{count & 0xffff} << 16) |
            (std::uint64_t{mask & 0xff} << 8)};
  }
  [[nodiscard]] constexpr Word with_next_epoch() const noexcept {
    return {(bits & ~std::uint64_t{0xff}) | ((bits + 1) & 0xff)};
  }
};

}  // namespace loadline
