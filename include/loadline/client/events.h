// What has changed, in words: a bounded ring of the last events of one caller.
//
// Only changes are events, never single calls; those are counted. Writing is a few stores and never
// blocks; when two writers meet in the same place, one event is lost and counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "loadline/time.h"

namespace loadline::client {

// The names are stable.
enum class EventKind : std::uint8_t {
  none,
  breaker_opened,     // detail: a BreakerCause; a: bad results, b: results, c: open for, in ms
  breaker_half_open,  // the next calls are probes
  breaker_closed,     // all probes have passed
  budget_spent,       // a retry was refused, for the first time since it was half full
  budget_back,        // it is half full again; a: retries that were refused meanwhile
  throttle_began,     // a: requests, b: accepts in the window
  throttle_ended,     // a: calls that were refused meanwhile
};
inline constexpr std::uint32_t kEventKinds = 8;

constexpr std::string_view name(EventKind kind) noexcept {
  constexpr std::string_view kNames[kEventKinds] = {
      "none",         "breaker_opened", "breaker_half_open", "breaker_closed",
      "budget_spent", "budget_back",    "throttle_began",    "throttle_ended"};
  const auto index = static_cast<std::uint32_t>(kind);
  return index < kEventKinds ? kNames[index] : std::string_view("unknown");
}

struct Event {
  std::uint64_t number = 0;  // the first is 1; a gap: some were overwritten or lost
  Instant at{};
  EventKind kind = EventKind::none;
  std::uint8_t detail = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

// The event as a sentence, such as "breaker_opened: 12 of 20 results were bad; nothing is sent for
// 812 ms". Into `out`, of which the answer is a part; cut off if it is too long.
std::string_view describe(const Event& event, std::span<char> out) noexcept;

class EventRing {
 public:
  static constexpr std::uint32_t kEvents = 64;

  EventRing() noexcept = default;
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;
  ~EventRing() = default;

  // Any thread. `number` is given here.
  void write(const Event& event) noexcept;
  // The last out.size() that can be read, oldest first; how many. Any thread.
  std::size_t read(std::span<Event> out) const noexcept;
  [[nodiscard]] std::uint64_t lost() const noexcept {
    return lost_.load(std::memory_order_relaxed);
  }

 private:
  struct Place {
    std::atomic<std::uint64_t> turn{0};  // 2 * number when complete, odd while it is written
    std::atomic<std::uint64_t> words[3]{};
  };

  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::array<Place, kEvents> places_{};
};

}  // namespace loadline::client
