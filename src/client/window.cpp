#include "loadline/client/window.h"

#include <algorithm>

namespace loadline::client {
namespace {

constexpr std::uint32_t kMost = 0xffff;
constexpr std::uint32_t kSliceBits = 24;
constexpr std::uint32_t kSliceMask = (1U << kSliceBits) - 1;

struct Slice {
  std::uint32_t number = 0;  // in a circle of kSliceBits
  std::uint8_t generation = 0;
  std::uint32_t all = 0;
  std::uint32_t marked = 0;
};

Slice unpack(std::uint64_t bits) noexcept {
  return {static_cast<std::uint32_t>(bits >> 40), static_cast<std::uint8_t>(bits >> 32),
          static_cast<std::uint32_t>(bits >> 16) & kMost, static_cast<std::uint32_t>(bits) & kMost};
}

std::uint64_t pack(Slice slice) noexcept {
  return std::uint64_t{slice.number} << 40 | std::uint64_t{slice.generation} << 32 |
         std::uint64_t{slice.all} << 16 | slice.marked;
}

// By how many slices `number` is older than `current`; a very large one: it is younger.
std::uint32_t age(std::uint32_t number, std::uint32_t current) noexcept {
  return (current - number) & kSliceMask;
}

void count(Slice& slice, std::uint32_t all, std::uint32_t marked) noexcept {
  if (slice.all + all > kMost) {
    slice.all /= 2;
    slice.marked /= 2;
  }
  slice.all = std::min(slice.all + all, kMost);
  slice.marked = std::min(slice.marked + marked, kMost);
}

}  // namespace

SlidingCounts::SlidingCounts(Duration length, Instant origin) noexcept
    : slice_{std::max(length.ns / kSlices, std::int64_t{1})}, origin_(origin) {}

std::uint64_t SlidingCounts::slice_of(Instant now) const noexcept {
  return static_cast<std::uint64_t>(std::max((now - origin_).ns, std::int64_t{0}) / slice_.ns);
}

void SlidingCounts::add(std::uint32_t all, std::uint32_t marked, Instant now,
                        std::uint8_t generation) noexcept {
  const std::uint64_t slice = slice_of(now);
  const auto number = static_cast<std::uint32_t>(slice & kSliceMask);
  std::atomic<std::uint64_t>& place = slices_[slice % kSlices];
  std::uint64_t seen = place.load(std::memory_order_relaxed);
  Slice next;
  do {
    next = unpack(seen);
    // Younger than now: time has gone back, and it goes on counting where it is.
    const bool is_old = next.number != number && age(next.number, number) <= kSliceMask / 2;
    if (is_old || next.generation != generation) {
      next = {.number = number, .generation = generation};
    }
    count(next, all, marked);
  } while (!place.compare_exchange_weak(seen, pack(next), std::memory_order_relaxed));
}

SlidingCounts::Sum SlidingCounts::sum(Instant now, std::uint8_t generation) const noexcept {
  const auto current = static_cast<std::uint32_t>(slice_of(now) & kSliceMask);
  Sum sum;
  for (const std::atomic<std::uint64_t>& place : slices_) {
    const Slice slice = unpack(place.load(std::memory_order_relaxed));
    const bool recent =
        age(slice.number, current) < kSlices || age(current, slice.number) < kSlices;
    if (recent && slice.generation == generation) {
      sum.all += slice.all;
      sum.marked += slice.marked;
    }
  }
  return sum;
}

}  // namespace loadline::client
