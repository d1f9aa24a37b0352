// Short names for what people do, for the tables of scenarios.
#pragma once

#include "scenario.h"

namespace loadline::explorer {

inline constexpr std::uint8_t kHigh = 0;
inline constexpr std::uint8_t kLow = 1;
inline constexpr std::uint32_t kA = 0;
inline constexpr std::uint32_t kB = 1;
inline constexpr std::uint32_t kD = 3;
inline constexpr std::uint32_t kAfterTheBudget = 2'000;  // ms; the wait budget is a second

inline Act request(std::uint8_t importance = kHigh, std::uint32_t units = 1) {
  return {.kind = Act::Kind::request, .importance = importance, .units = units};
}
inline Act ask(std::uint8_t importance = kHigh, std::uint32_t units = 1) {
  return {.kind = Act::Kind::ask, .importance = importance, .units = units};
}
inline Act take(std::uint32_t units = 1) {
  return {.kind = Act::Kind::take, .units = units};
}
inline Act turned_away(std::uint8_t importance = kHigh, std::uint32_t units = 1) {
  return {.kind = Act::Kind::turned_away, .importance = importance, .units = units};
}
inline Act set_limit(std::uint32_t units) {
  return {.kind = Act::Kind::set_limit, .units = units};
}
inline Act reconfigure(std::uint32_t limit, Discipline discipline) {
  return {.kind = Act::Kind::reconfigure, .units = limit, .discipline = discipline};
}
inline Act tick(std::uint32_t at_ms = 20) {
  return {.kind = Act::Kind::tick, .at_ms = at_ms};
}
inline Act settle(std::uint32_t at_ms = 0) {
  return {.kind = Act::Kind::settle, .at_ms = at_ms};
}
inline Act finish(std::uint32_t at_ms) {
  return {.kind = Act::Kind::finish, .at_ms = at_ms};
}
inline constexpr Act kGive{.kind = Act::Kind::give};
inline constexpr Act kCancel{.kind = Act::Kind::cancel};
inline constexpr Act kPoll{.kind = Act::Kind::poll};
inline constexpr Act kAwait{.kind = Act::Kind::await};
inline constexpr Act kObserve{.kind = Act::Kind::observe};
inline constexpr Act kEnforce{.kind = Act::Kind::enforce};
inline constexpr Act kDrain{.kind = Act::Kind::drain};
inline constexpr Act kLeave{.kind = Act::Kind::leave};
inline constexpr Act kSit{.kind = Act::Kind::sit};

// The same act, but ...
inline Act at(std::uint32_t ms, Act act) {
  act.at_ms = ms;
  return act;
}
inline Act not_waiting(Act act) {
  act.may_wait = false;
  return act;
}
inline Act exempt(Act act) {
  act.exempt = true;
  return act;
}
inline Act of_tenant(std::uint8_t tenant, Act act) {
  act.tenant = tenant;
  return act;
}
inline Act with_key(std::uint8_t key, Act act) {
  act.quota = key;
  return act;
}

}  // namespace loadline::explorer
