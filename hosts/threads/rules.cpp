// What a Doorkeeper is told to do, and what it says about itself.
#include <cstdio>

#include "engine.h"

namespace loadline::threads {
namespace {

PolicyError refuse(const char* field, const char* text) noexcept {
  PolicyError error;
  error.field = field;
  std::snprintf(error.text.data(), error.text.size(), "%s", text);
  return error;
}

template <class First, class... Others>
PolicyError refuse(const char* field, const char* format, First first, Others... others) noexcept {
  PolicyError error;
  error.field = field;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): bounded, and the text is a plain array.
  std::snprintf(error.text.data(), error.text.size(), format, first, others...);
  return error;
}

template <class Named>
bool same_names(const Named& some, std::uint32_t count, const Named& others,
                std::uint32_t other_count) noexcept {
  bool same = count == other_count;
  for (std::uint32_t i = 0; same && i < count; ++i) {
    same = some[i].name_view() == others[i].name_view();
  }
  return same;
}

}  // namespace

Request Engine::request(Duration patience) const noexcept {
  Request request;
  request.importance = default_class_.load(std::memory_order_relaxed);
  if (patience != Duration::max()) {
    request.deadline = now() + patience;
  }
  return request;
}

PolicyError Engine::reconfigure(const Policy& policy) noexcept {
  if (const PolicyError error = validate(policy); error.refused()) {
    return error;
  }
  if (!same_names(policy.classes, policy.class_count, names_.classes, names_.class_count)) {
    return refuse("classes", "the classes of an open gate keep their names, number and order");
  }
  if (!same_names(policy.groups, policy.group_count, names_.groups, names_.group_count)) {
    return refuse("groups", "the groups of an open gate keep their names, number and order");
  }
  // The tables are made with the gate.
  const Capacity has = gate_.capacity();
  const Capacity wants = has.for_tables(policy);
  if ((wants.tenant_buckets != 0) != (has.tenant_buckets != 0)) {
    return refuse("tenants", "an open gate has tenants from the beginning or never");
  }
  if (wants.quota_keys != 0 && has.quota_keys == 0) {
    return refuse("quota", "an open gate has a quota from the beginning or never");
  }
  if (wants.learns != 0 && has.learns == 0) {
    return refuse("law", "an open gate has a law that finds its limit from the beginning or never");
  }
  for (const std::string_view name : {kCpuPressure, kCpuThrottled}) {
    if (find_signal(policy, name) >= 0 && find_signal(names_, name) < 0) {
      return refuse("signals", "an open gate reads %s from the beginning or never", name.data());
    }
  }
  const std::uint32_t room = has.tickets - Capacity::kSpareTickets;
  if (policy.queue.kind == QueueSize::Kind::fixed && policy.queue.entries > room) {
    return refuse("queue", "queue %u: this gate was opened with room for %u", policy.queue.entries,
                  room);
  }
  Signals ready;
  if (!gate_.reconfigure(policy, now(), ready)) {
    return refuse("system", "the gate did not answer in time; nothing was changed");
  }
  default_class_.store(policy.default_class, std::memory_order_relaxed);
  retry_after_.store(policy.retry_after_min, std::memory_order_relaxed);
  visit(ready);
  return {};
}

bool Engine::set_limit(std::uint32_t limit) noexcept {
  Signals ready;
  const bool set = gate_.set_limit(limit, now(), ready);
  visit(ready);
  return set;
}

bool Engine::report(std::string_view signal, double value) noexcept {
  return gate_.report(signal, value, now());
}

std::size_t Engine::limit_events(std::uint64_t& next, std::span<LimitEvent> out) const noexcept {
  return gate_.limit_events(next, out);
}

void Engine::set_mode(Mode mode) noexcept {
  visit(gate_.set_mode(mode, now()));
}

void Engine::set_draining(bool draining) noexcept {
  visit(gate_.set_draining(draining, now()));
}

Snapshot Engine::snapshot() const noexcept {
  return {.gate = gate_.snapshot(),
          .busy = busy_.load(std::memory_order_relaxed),
          .after_close = after_close_.load(std::memory_order_relaxed),
          .leases_expired = leases_expired_.load(std::memory_order_relaxed),
          .returned_late = returned_late_.load(std::memory_order_relaxed),
          .unleased = unleased_.load(std::memory_order_relaxed)};
}

}  // namespace loadline::threads
