#include "loadline/client/events.h"

#include <algorithm>
#include <cstdio>

#include "loadline/client/breaker.h"

namespace loadline::client {
namespace {

std::uint64_t join(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}

const char* text_of(BreakerCause cause) noexcept {
  switch (cause) {
    case BreakerCause::failure_share:
      return "too many results were bad";
    case BreakerCause::consecutive:
      return "too many results in a row were bad";
    case BreakerCause::probe_failed:
      return "a probe went badly";
    case BreakerCause::probe_overdue:
      return "a probe has had no result in time";
    default:
      return "unknown";
  }
}

}  // namespace

std::string_view describe(const Event& event, std::span<char> out) noexcept {
  if (out.empty()) {
    return {};
  }
  const char* kind = name(event.kind).data();  // names are literals
  int length = 0;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): bounded, and nothing of libstdc++.
  switch (event.kind) {
    case EventKind::breaker_opened:
      length = std::snprintf(out.data(), out.size(), "%s: %s (%u of %u); nothing is sent for %u ms",
                             kind, text_of(static_cast<BreakerCause>(event.detail)), event.a,
                             event.b, event.c);
      break;
    case EventKind::breaker_half_open:
      length = std::snprintf(out.data(), out.size(), "%s: the next calls are probes", kind);
      break;
    case EventKind::breaker_closed:
      length = std::snprintf(out.data(), out.size(), "%s: all probes went well", kind);
      break;
    case EventKind::budget_spent:
      length = std::snprintf(out.data(), out.size(),
                             "%s: too many retries for what succeeds; no more for now", kind);
      break;
    case EventKind::budget_back:
      length = std::snprintf(out.data(), out.size(),
                             "%s: half full again, after %u retries were not made", kind, event.a);
      break;
    case EventKind::throttle_began:
      length = std::snprintf(out.data(), out.size(),
                             "%s: of %u requests only %u were accepted; some are not sent", kind,
                             event.a, event.b);
      break;
    case EventKind::throttle_ended:
      length = std::snprintf(out.data(), out.size(), "%s: all are sent, after %u were not", kind,
                             event.a);
      break;
    case EventKind::none:
      length = std::snprintf(out.data(), out.size(), "%s", kind);
      break;
  }
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  const auto written = static_cast<std::size_t>(std::max(length, 0));
  return {out.data(), std::min(written, out.size() - 1)};
}

// Words are stored with release and read with acquire, so that who has read a new word also sees
// the turn that was set before it: a reader that saw the same turn before and after has read one
// event.
void EventRing::write(const Event& event) noexcept {
  const std::uint64_t number = written_.fetch_add(1, std::memory_order_relaxed) + 1;
  Place& place = places_[(number - 1) % kEvents];
  std::uint64_t turn = place.turn.load(std::memory_order_relaxed);
  const bool taken = turn % 2 != 0 || turn > 2 * number;
  if (taken || !place.turn.compare_exchange_strong(turn, 2 * number - 1, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed)) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const auto kind = static_cast<std::uint32_t>(event.kind) << 8 | event.detail;
  place.words[0].store(static_cast<std::uint64_t>(event.at.ns), std::memory_order_release);
  place.words[1].store(join(kind, event.c), std::memory_order_release);
  place.words[2].store(join(event.a, event.b), std::memory_order_release);
  place.turn.store(2 * number, std::memory_order_release);
}

std::size_t EventRing::read(std::span<Event> out) const noexcept {
  const std::uint64_t last = written_.load(std::memory_order_acquire);
  const auto wanted = std::min<std::uint64_t>({last, kEvents, out.size()});
  std::size_t count = 0;
  for (std::uint64_t number = last - wanted + 1; number <= last; ++number) {
    const Place& place = places_[(number - 1) % kEvents];
    const std::uint64_t before = place.turn.load(std::memory_order_acquire);
    const std::uint64_t at = place.words[0].load(std::memory_order_acquire);
    const std::uint64_t kind = place.words[1].load(std::memory_order_acquire);
    const std::uint64_t numbers = place.words[2].load(std::memory_order_acquire);
    if (before != 2 * number || place.turn.load(std::memory_order_relaxed) != before) {
      continue;
    }
    out[count++] = {.number = number,
                    .at = {static_cast<std::int64_t>(at)},
                    .kind = static_cast<EventKind>(kind >> 40),
                    .detail = static_cast<std::uint8_t>(kind >> 32),
                    .a = static_cast<std::uint32_t>(numbers >> 32),
                    .b = static_cast<std::uint32_t>(numbers),
                    .c = static_cast<std::uint32_t>(kind)};
  }
  return count;
}

}  // namespace loadline::client
