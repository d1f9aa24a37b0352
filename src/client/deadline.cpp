#include "loadline/client/deadline.h"

#include <algorithm>
#include <charconv>

namespace loadline::client {
namespace {

constexpr std::int64_t kUnitNs = 64;          // of the mean: up to 274 s
constexpr std::int64_t kTickNs = 64'000'000;  // of the time since
constexpr std::uint32_t kTickBits = 27;
constexpr std::uint32_t kTickMask = (1U << kTickBits) - 1;
constexpr std::uint32_t kFreshTicks = 2'000 / 64;
constexpr std::int64_t kMostUnits = 0xffffffff;
constexpr std::int64_t kSamples = 20;

struct Estimate {
  std::int64_t units = 0;
  std::int64_t samples = 0;
  std::uint32_t tick = 0;
};

Estimate unpack(std::uint64_t word) noexcept {
  return {static_cast<std::int64_t>(word >> 32),
          static_cast<std::int64_t>(word >> kTickBits) & 0x1f,
          static_cast<std::uint32_t>(word) & kTickMask};
}

std::uint64_t pack(Estimate estimate) noexcept {
  return static_cast<std::uint64_t>(estimate.units) << 32 |
         static_cast<std::uint64_t>(estimate.samples) << kTickBits | estimate.tick;
}

std::uint32_t tick_of(Instant now, Instant origin) noexcept {
  const std::int64_t since = std::max((now - origin).ns, std::int64_t{0});
  return static_cast<std::uint32_t>(since / kTickNs) & kTickMask;
}

// Time that goes back makes nothing old.
bool is_fresh(const Estimate& estimate, std::uint32_t tick) noexcept {
  const std::uint32_t age = (tick - estimate.tick) & kTickMask;
  return age <= kFreshTicks || age > kTickMask / 2;
}

}  // namespace

std::string_view write_grpc_timeout(Duration left, std::span<char, 9> out) noexcept {
  struct Unit {
    char letter;
    std::int64_t ns;
  };
  constexpr Unit kUnits[] = {{'n', 1},
                             {'u', 1'000},
                             {'m', 1'000'000},
                             {'S', 1'000'000'000},
                             {'M', 60'000'000'000},
                             {'H', 3'600'000'000'000}};
  constexpr std::int64_t kMost = 99'999'999;  // 8 digits
  if (left == Duration::max()) {
    return {};
  }
  const Duration told = std::max(left, Duration{1});
  const Unit* unit = kUnits;
  while (told.ns / unit->ns > kMost) {
    ++unit;  // hours are enough for any
  }
  char* const end = std::to_chars(out.data(), out.data() + 8, told.ns / unit->ns).ptr;
  *end = unit->letter;
  return {out.data(), static_cast<std::size_t>(end + 1 - out.data())};
}

std::string_view write_milliseconds(Duration left, std::span<char, 20> out) noexcept {
  if (left == Duration::max()) {
    return {};
  }
  const std::int64_t millis = std::max(left.ns, std::int64_t{0}) / 1'000'000;
  char* const end = std::to_chars(out.data(), out.data() + out.size(), millis).ptr;
  return {out.data(), static_cast<std::size_t>(end - out.data())};
}

void TimeEstimate::take(Duration took, Instant now) noexcept {
  const std::int64_t units = std::clamp(took.ns / kUnitNs, std::int64_t{1}, kMostUnits);
  const std::uint32_t tick = tick_of(now, origin_);
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  Estimate next;
  do {
    next = unpack(seen);
    if (!is_fresh(next, tick)) {
      next = {};
    }
    next.samples = std::min(next.samples + 1, kSamples);
    next.units += (units - next.units) / next.samples;
    next.tick = tick;
  } while (!word_.compare_exchange_weak(seen, pack(next), std::memory_order_relaxed));
}

Duration TimeEstimate::mean(Instant now) const noexcept {
  const Estimate there = unpack(word_.load(std::memory_order_relaxed));
  const bool known = there.samples == kSamples && is_fresh(there, tick_of(now, origin_));
  return known ? Duration{there.units * kUnitNs} : Duration{};
}

}  // namespace loadline::client
