#include "scenario.h"

namespace loadline::explorer {
namespace {

constexpr std::uint8_t kHigh = 0;
constexpr std::uint8_t kLow = 1;
constexpr std::uint32_t kAfterTheBudget = 2'000;  // ms; the wait budget is a second

Act request(std::uint8_t importance = kHigh, std::uint32_t units = 1) {
  return {Act::Kind::request, importance, units};
}
Act ask(std::uint8_t importance = kHigh, std::uint32_t units = 1) {
  return {Act::Kind::ask, importance, units};
}
Act take(std::uint32_t units = 1) {
  return {Act::Kind::take, kHigh, units};
}
Act set_limit(std::uint32_t units) {
  return {Act::Kind::set_limit, kHigh, units};
}
Act tick(std::uint32_t at_ms = 20) {
  return {Act::Kind::tick, kHigh, 0, at_ms};
}
Act settle(std::uint32_t at_ms = 0) {
  return {Act::Kind::settle, kHigh, 0, at_ms};
}
constexpr Act kGive{Act::Kind::give};
constexpr Act kCancel{Act::Kind::cancel};
constexpr Act kPoll{Act::Kind::poll};
constexpr Act kObserve{Act::Kind::observe};
constexpr Act kLeave{Act::Kind::leave};
constexpr Act kSit{Act::Kind::sit};

constexpr std::uint32_t kA = 0;
constexpr std::uint32_t kB = 1;

std::vector<Scenario> live_ones() {
  return {
      {.name = "two_twice",
       .says = "a wake-up is lost between a release and a queueing",
       .scripts = {{request(), request()}, {request(), request()}}},
      {.name = "three",
       .says = "the same with three",
       .scripts = {{request()}, {request()}, {request()}}},
      {.name = "queue_of_one",
       .says = "two come for the last place to wait",
       .limit = 2,
       .queue = 1,
       .scripts = {{kGive}, {request()}, {request()}, {request()}},
       .before = {{take()}}},
      {.name = "classes",
       .says = "a lower arrival takes the slot of a higher waiter",
       .limit = 2,
       .low_share = 500,
       .scripts = {{request(kHigh)}, {request(kLow)}, {kGive, request(kLow)}},
       .before = {{}, {}, {take()}}},
      {.name = "high_waits",
       .says = "a low one comes while a high one waits",
       .scripts = {{kGive}, {request(kHigh)}, {request(kLow)}},
       .before = {{take()}}},
      {.name = "displacement",
       .says = "one who gives way is granted as well, or never told",
       .queue = 1,
       .scripts = {{kGive}, {request(kLow)}, {request(kHigh)}},
       .before = {{take()}}},
      {.name = "cancel_against_grant",
       .says = "a slot goes to one who has left",
       .scripts = {{kGive}, {ask(), kCancel}, {request()}},
       .before = {{take()}}},
      {.name = "cancel_twice",
       .says = "a place that was left is used again",
       .scripts = {{kGive}, {kCancel, ask(), kCancel}, {request()}},
       .before = {{take()}, {ask()}}},
      {.name = "ticket_used_again",
       .says = "between mark and mutex a cancelled ticket is dropped, and another waits there",
       .scripts = {{kGive}, {kCancel}, {request()}, {tick()}},
       .before = {{take()}, {ask()}}},
      {.name = "heavy_head_cancelled",
       .says = "one who waits behind a heavy head is forgotten when that leaves",
       .limit = 2,
       .scripts = {{kGive}, {ask(kHigh, 2), kCancel}, {request()}},
       .before = {{take()}}},
      {.name = "poll_against_grant",
       .says = "a decided ticket is collected twice or not at all",
       .scripts = {{kGive}, {ask(), kPoll, kPoll}, {request()}},
       .before = {{take()}}},
      {.name = "settle_against_grant",
       .says = "a ticket is granted as its owner finds that it has waited too long",
       .scripts = {{kGive}, {settle(), settle(kAfterTheBudget)}, {request()}},
       .before = {{take()}, {ask()}}},
      {.name = "raise",
       .says = "waiters beside the slots of a raised limit",
       .scripts = {{set_limit(2)}, {request()}, {request()}},
       .before = {{take()}}},
      {.name = "lower",
       .says = "admitted above a limit that was lowered",
       .limit = 2,
       .scripts = {{set_limit(1)}, {request()}, {request()}}},
      {.name = "lower_and_raise",
       .says = "a limit that comes back is not the limit that was read",
       .limit = 2,
       .scripts = {{set_limit(1), set_limit(2)}, {request()}, {request()}},
       .before = {{take()}},
       .in_short_form = false},
      {.name = "lower_below_a_heavy_one",
       .says = "one who waits with more than a lowered limit blocks those behind",
       .limit = 2,
       .scripts = {{set_limit(1)}, {kGive}, {request(kHigh, 2)}},
       .before = {{}, {take()}}},
      {.name = "lower_below_a_heavy_one_and_more",
       .says = "the same with one behind",
       .limit = 2,
       .scripts = {{set_limit(1)}, {kGive}, {request(kHigh, 2)}, {request()}},
       .before = {{}, {take()}},
       .in_short_form = false},
      {.name = "weight_above_the_limit",
       .says = "a weight above the limit never starts",
       .limit = 2,
       .scripts = {{request(kHigh, 5)}, {request()}, {request()}}},
      {.name = "tick_beside_two",
       .says = "a tick disturbs",
       .scripts = {{tick()}, {request()}, {request()}}},
      {.name = "expiry_against_grant",
       .says = "a ticket is granted and refused for its time",
       .scripts = {{tick(kAfterTheBudget)}, {kGive}, {request()}, {request()}},
       .before = {{}, {take()}}},
      {.name = "expiry_against_cancel",
       .says = "a ticket is refused for its time as its caller leaves",
       .scripts = {{kGive}, {kCancel}, {request()}, {tick(kAfterTheBudget)}},
       .before = {{take()}, {ask()}}},
      {.name = "displacement_against_cancel",
       .says = "one gives way and leaves at once, and a third comes for the place",
       .queue = 1,
       .scripts = {{kGive}, {kCancel, ask(kLow)}, {request(kHigh)}},
       .before = {{take()}, {ask(kLow)}}},
      {.name = "observe",
       .says = "those who wait when the gate stops refusing wait on",
       .scripts = {{kObserve}, {request()}, {request()}},
       .before = {{take()}}},
      {.name = "leave_and_sit",
       .says = "a seat is left with a permit and with one waiting, and taken again",
       .scripts = {{kLeave, kSit}, {request()}},
       .before = {{take(), ask()}}},
      {.name = "leave_beside_one",
       .says = "the audit of a seat that is left disturbs a request under way",
       .limit = 2,
       .scripts = {{kLeave}, {request()}},
       .before = {{take()}}},
      {.name = "leave_beside_one_twice",
       .says = "the same with two requests, one after the other",
       .limit = 2,
       .scripts = {{kLeave}, {request(), request()}},
       .before = {{take()}},
       .in_short_form = false},
      {.name = "leave_beside_one_who_waits",
       .says = "one who waits for the slot of a seat that is left",
       .scripts = {{kLeave}, {request()}, {}},
       .before = {{take()}, {}, {ask()}}},
      {.name = "leave_sit_and_request",
       .says = "a seat that is taken again is used before its audit is done",
       .scripts = {{kLeave, kSit, request()}, {request()}},
       .before = {{take(), ask()}},
       .in_short_form = false},
      {.name = "four_twice",
       .says = "four, of two classes, and half of them again",
       .limit = 2,
       .scripts = {{request(), request()}, {request()}, {request(kLow)}, {request(kLow)}},
       .in_short_form = false},
      {.name = "three_twice",
       .says = "three, twice each",
       .scripts = {{request(), request()}, {request(), request()}, {request(), request()}},
       .in_short_form = false},
  };
}

// Locks that are not to be had, at any point.
std::vector<Scenario> busy_ones() {
  return {
      {.name = "busy_two",
       .says = "offer, release and collect without the mutex",
       .scripts = {{request()}, {request()}},
       .timeouts = 2},
      {.name = "busy_cancel",
       .says = "a cancelled ticket that could not be dropped",
       .scripts = {{kGive}, {ask(), kCancel}, {request()}},
       .before = {{take()}},
       .timeouts = 1},
      {.name = "busy_cancel_granted",
       .says = "a cancelled ticket that could not be dropped holds a slot",
       .scripts = {{kGive}, {kCancel}, {request()}},
       .before = {{take()}, {ask()}},
       .timeouts = 2},
      {.name = "busy_settle",
       .says = "a ticket cannot be settled just now",
       .scripts = {{kGive}, {settle(kAfterTheBudget), settle(kAfterTheBudget)}, {request()}},
       .before = {{take()}, {ask()}},
       .timeouts = 2},
      {.name = "busy_displacement",
       .says = "displacing without the mutex",
       .queue = 1,
       .scripts = {{kGive}, {request(kHigh)}, {kPoll}},
       .before = {{take()}, {}, {ask(kLow)}},
       .timeouts = 2},
      {.name = "busy_limit",
       .says = "the limit moves and those who wait cannot be started just now",
       .scripts = {{set_limit(2)}, {request()}, {kGive}},
       .before = {{}, {}, {take()}},
       .timeouts = 2},
  };
}

// One is killed at any of its steps.
std::vector<Scenario> deadly_ones() {
  return {
      {.name = "death_of_one_of_two",
       .says = "what the dead held or had half done stays",
       .scripts = {{request()}, {request()}},
       .victim = kA},
      {.name = "death_of_a_releaser",
       .says = "the slot of a dead releaser is lost to those who wait",
       .scripts = {{kGive}, {request()}, {request()}},
       .before = {{take()}},
       .victim = kA},
      {.name = "death_of_a_waiter",
       .says = "what was granted to the dead stays granted",
       .scripts = {{request()}, {kGive}, {request()}},
       .before = {{}, {take()}},
       .victim = kA},
      {.name = "death_beside_a_tick",
       .says = "the audit of a death disturbs a request under way",
       .limit = 2,
       .scripts = {{kGive}, {request()}, {tick()}},
       .before = {{take()}},
       .victim = kA},
      {.name = "death_and_request_beside_a_tick",
       .says = "the same, killed in the middle of a request",
       .limit = 2,
       .scripts = {{request()}, {request()}, {tick(), tick(40)}},
       .victim = kA,
       .in_short_form = false},
      {.name = "death_of_a_dispatcher",
       .says = "a cancelled ticket comes back to life with the one who was dropping it",
       .scripts = {{kGive}, {kCancel}, {request()}},
       .before = {{take()}, {ask()}},
       .victim = kA},
      {.name = "death_of_a_canceller",
       .says = "a half cancelled ticket stays",
       .scripts = {{ask(), kCancel}, {kGive}, {request()}},
       .before = {{}, {take()}},
       .victim = kA},
      {.name = "death_while_displacing",
       .says = "one who gave way to the dead is never told",
       .queue = 1,
       .scripts = {{request(kHigh)}, {kGive}, {kPoll}},
       .before = {{}, {take()}, {ask(kLow)}},
       .victim = kA},
      {.name = "death_while_changing_the_limit",
       .says = "half a change of the limit",
       .scripts = {{set_limit(2)}, {request()}, {kGive}},
       .before = {{}, {}, {take()}},
       .victim = kA},
      {.name = "death_while_burying",
       .says = "who takes back what a dead one held dies as well",
       .limit = 2,
       .scripts = {{tick()}, {}, {request()}},
       .before = {{}, {take(), ask(kHigh, 2)}},
       .victim = kA,
       .dead = kB},
      {.name = "seat_beside_the_dead",
       .says = "who takes a seat first takes back what a dead one held",
       .limit = 2,
       .scripts = {{kLeave, kSit, request()}, {}, {request()}},
       .before = {{}, {take(), ask(kHigh, 2)}},
       .dead = kB},
      {.name = "death_of_a_mover_of_a_cancelled_one",
       .says =
           "a cancelled ticket and one that is refused for its time, and who walks over them dies",
       .scripts = {{tick(kAfterTheBudget)}, {kCancel, ask()}, {kPoll}},
       .before = {{take()}, {ask()}, {ask()}},
       .victim = kA},
      {.name = "death_while_sitting_down",
       .says = "a seat that is half taken, after half a reclaim",
       .limit = 2,
       .scripts = {{kLeave, kSit}, {}, {request()}},
       .before = {{}, {take(), ask(kHigh, 2)}},
       .victim = kA,
       .dead = kB},
      {.name = "death_beside_two_ticks",
       .says = "two take back what one dead held",
       .limit = 2,
       .scripts = {{kGive}, {tick()}, {tick(40)}},
       .before = {{take()}},
       .victim = kA},
      {.name = "death_while_settling",
       .says = "a ticket that is half settled",
       .scripts = {{kGive}, {settle(kAfterTheBudget)}, {request()}},
       .before = {{take()}, {ask()}},
       .victim = kB},
      {.name = "death_while_granting_a_heavy_one",
       .says = "a charge that is half settled",
       .limit = 2,
       .scripts = {{kGive}, {set_limit(1)}, {request(kHigh, 2)}},
       .before = {{take()}},
       .victim = kA},
      {.name = "death_while_leaving",
       .says = "a seat that is half left",
       .limit = 2,
       .scripts = {{kLeave}, {request()}},
       .before = {{take(), ask(kHigh, 2)}},
       .victim = kA},
      {.name = "death_while_expiring",
       .says = "refused for its time by one who dies",
       .scripts = {{tick(kAfterTheBudget)}, {kGive}, {kPoll}},
       .before = {{}, {take()}, {ask()}},
       .victim = kA},
      {.name = "death_of_a_dispatcher_busy",
       .says = "the same as death_of_a_dispatcher, with the mutex not to be had",
       .scripts = {{kGive}, {kCancel}, {request()}},
       .before = {{take()}, {ask()}},
       .timeouts = 1,
       .victim = kA,
       .in_short_form = false},
      {.name = "death_beside_two_and_a_tick",
       .says = "as death_beside_a_tick, with two survivors",
       .limit = 2,
       .scripts = {{request()}, {request()}, {request()}, {tick(), tick(40)}},
       .victim = kA,
       .in_short_form = false},
  };
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> every = live_ones();
    for (auto part : {busy_ones(), deadly_ones()}) {
      every.insert(every.end(), part.begin(), part.end());
    }
    return every;
  }();
  return all;
}

}  // namespace loadline::explorer
