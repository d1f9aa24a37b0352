// Who is charged what: tenants, quotas, the exempt. And rules that change under load.
#include "acts.h"

namespace loadline::explorer {
namespace {

constexpr std::uint8_t kGreedy = 1;
constexpr std::uint8_t kModest = 2;
constexpr std::uint8_t kOther = 3;
constexpr std::uint32_t kStands = 100;  // ms; longer than a queue may stand, or a grant lie about

Act greedy(Act act) {
  return of_tenant(kGreedy, act);
}
Act modest(Act act) {
  return of_tenant(kModest, act);
}

std::vector<Scenario> tenants() {
  return {
      {.name = "tenants_in_turn",
       .says = "one who has asked little waits behind all of one who has asked much",
       .tenants = true,
       .scripts = {{kGive}, {}, {}, {modest(request())}},
       .before = {{take()}, {greedy(ask())}, {greedy(ask())}}},
      {.name = "tenants_two",
       .says = "two of one and one of another come at once",
       .tenants = true,
       .scripts = {{kGive}, {greedy(request()), greedy(request())}, {modest(request())}},
       .before = {{take()}}},
      {.name = "greediest_gives_way",
       .says = "the wrong one gives way, or is never told",
       .queue = 2,
       .tenants = true,
       .scripts = {{kGive}, {}, {}, {modest(request())}},
       .before = {{take()}, {greedy(ask())}, {greedy(ask())}}},
      {.name = "greediest_gives_way_twice",
       .says = "two come for the one place that is too many",
       .queue = 2,
       .tenants = true,
       .scripts = {{modest(ask()), kGive, kAwait}, {}, {}, {of_tenant(kOther, request())}},
       .before = {{take()}, {greedy(ask())}, {greedy(ask())}}},
      {.name = "tenant_cancels",
       .says = "who leaves has paid for nothing",
       .tenants = true,
       .scripts = {{kGive}, {kCancel, greedy(request())}, {modest(request())}},
       .before = {{take()}, {greedy(ask())}}},
      {.name = "tenant_expires",
       .says = "who waited in vain has paid for it",
       .tenants = true,
       .scripts = {{tick(kAfterTheBudget), kGive}, {}, {greedy(request())}},
       .before = {{take()}, {greedy(ask())}}},
      {.name = "tenant_taken_back",
       .says = "whose grant is taken back has paid for it",
       .tenants = true,
       .scripts = {{kGive, tick(kStands)}, {}, {}},
       .before = {{take()}, {greedy(ask())}, {modest(ask())}}},
      {.name = "heavy_tenant_behind_the_round",
       .says = "a heavy one that waits for others of its kind while rounds pass is passed",
       .limit = 3,
       .heavy_share = 667,
       .tenants = true,
       .scripts = {{kGive}, {}, {kGive}, {kAwait, modest(request(kHigh, 2))}},
       .before = {{take(2)},
                  {of_tenant(kOther, ask(kHigh, 2))},
                  {take(), greedy(ask())},
                  {greedy(ask())}}},
      {.name = "tenant_leaves_its_seat",
       .says = "who leaves with its seat has paid for it",
       .tenants = true,
       .scripts = {{kGive}, {kLeave}, {}, {greedy(request())}},
       .before = {{take()}, {greedy(ask())}, {modest(ask())}}},
      {.name = "busy_tenants",
       .says = "the mutex is not to be had",
       .tenants = true,
       .scripts = {{kGive}, {kCancel}, {}, {modest(request())}},
       .before = {{take()}, {greedy(ask())}, {greedy(ask())}},
       .timeouts = 1},
      {.name = "death_of_a_tenant",
       .says = "half a turn is taken",
       .tenants = true,
       .scripts = {{modest(request())}, {kGive}, {}},
       .before = {{}, {take()}, {greedy(ask())}},
       .victim = kA},
      {.name = "death_beside_tenants",
       .says = "who lets one start, or drops one, dies with the calendar half told",
       .tenants = true,
       .scripts = {{kGive}, {}, {greedy(request())}, {}},
       .before = {{take()}, {greedy(ask())}, {}, {modest(ask())}},
       .victim = kA},
      {.name = "death_of_a_tenant_who_cancels",
       .says = "half a turn is left",
       .tenants = true,
       .scripts = {{kGive}, {kCancel}, {}, {}},
       .before = {{take()}, {greedy(ask())}, {greedy(ask())}, {modest(ask())}},
       .victim = kB},
      {.name = "death_beside_a_heavy_tenant",
       .says = "one who is behind the round is not to be found after a death",
       .limit = 3,
       .heavy_share = 667,
       .tenants = true,
       .scripts = {{kGive}, {}, {kGive}, {kAwait, modest(request(kHigh, 2))}},
       .before = {{take(2)},
                  {of_tenant(kOther, ask(kHigh, 2))},
                  {take(), greedy(ask())},
                  {greedy(ask())}},
       .victim = kD,
       .in_short_form = false},
      {.name = "tenants_three",
       .says = "as tenants_two, with a third",
       .queue = 2,
       .tenants = true,
       .scripts = {{kGive},
                   {greedy(request()), greedy(request())},
                   {greedy(request())},
                   {modest(request())}},
       .before = {{take()}},
       .in_short_form = false},
  };
}

std::vector<Scenario> quotas() {
  return {
      {.name = "quota_of_one",
       .says = "two use the same allowance, or one that is free is refused",
       .limit = 2,
       .quota = 1,
       .scripts = {{with_key(1, request())}, {with_key(1, request())}}},
      {.name = "quota_of_two_keys",
       .says = "two keys take the same place of the table",
       .limit = 2,
       .quota = 1,
       .scripts = {{with_key(1, request())}, {with_key(2, request())}}},
      {.name = "quota_given_back",
       .says = "what was not used is lost, or given back twice",
       .quota = 1,
       .scripts = {{with_key(1, not_waiting(request()))},
                   {with_key(1, not_waiting(request()))},
                   {kGive}},
       .before = {{}, {}, {take()}}},
      {.name = "quota_given_back_by_two",
       .says = "of what two did not use only one gets back",
       .quota = 2,
       .scripts = {{with_key(1, not_waiting(request()))},
                   {with_key(1, not_waiting(request()))},
                   {kGive}},
       .before = {{}, {}, {take()}}},
      {.name = "quota_of_two",
       .says = "a third is let through",
       .quota = 2,
       .scripts = {{with_key(1, request()), with_key(1, request())}, {with_key(1, request())}}},
      {.name = "quota_of_three",
       .says = "as quota_of_one, with three and another key",
       .limit = 2,
       .quota = 1,
       .scripts = {{with_key(1, request())},
                   {with_key(1, request())},
                   {with_key(2, request()), with_key(1, request())}},
       .in_short_form = false},
  };
}

std::vector<Scenario> exempts() {
  const Act take_exempt = exempt(take());
  return {
      {.name = "exempt",
       .says = "the exempt wait, take a slot, or are more than they may be",
       .scripts = {{take_exempt, exempt(turned_away()), kGive, exempt(request())},
                   {request()},
                   {take_exempt, kGive, request()}},
       .before = {}},
      {.name = "exempt_leaves_its_seat",
       .says = "an exempt one that leaves with its seat is counted for ever",
       .scripts = {{kLeave, kSit, take_exempt, kGive}, {request()}},
       .before = {{take_exempt}}},
      {.name = "death_of_an_exempt_one",
       .says = "an exempt one that is dead is counted for ever",
       .scripts = {{take_exempt, kGive}, {request()}},
       .victim = kA},
  };
}

std::vector<Scenario> rules() {
  return {
      {.name = "drain",
       .says = "who comes after it is let in, or who waited before is forgotten",
       .scripts = {{kDrain, turned_away()}, {kGive, request()}, {}},
       .before = {{}, {take()}, {ask()}}},
      {.name = "drain_beside_a_comer",
       .says = "who is judged just then waits for ever",
       .scripts = {{kDrain, exempt(request())}, {kGive}, {request()}},
       .before = {{}, {take()}}},
      {.name = "reconfigure",
       .says = "waiters beside the slots of a raised limit, in the old order",
       .queue = 0,
       .scripts = {{reconfigure(2, Discipline::lifo)}, {kGive}, {}, {}},
       .before = {{}, {take()}, {ask()}, {ask()}}},
      {.name = "reconfigure_lower",
       .says = "admitted above a limit that was lowered",
       .limit = 2,
       .queue = 0,
       .scripts = {{reconfigure(1, Discipline::lifo)}, {request()}, {request()}}},
      {.name = "reconfigure_a_standing_queue",
       .says = "a queue is found to stand as that stops mattering",
       .queue = 0,
       .discipline = Discipline::adaptive,
       .mean_ms = 500,
       .scripts = {{reconfigure(1, Discipline::fifo), kGive}, {}, {}, {at(kStands, request())}},
       .before = {{take()}, {ask()}, {ask()}}},
      {.name = "reconfigure_to_adapt",
       .says = "a queue begins to stand in the middle of the change",
       .queue = 0,
       .discipline = Discipline::lifo,
       .mean_ms = 1000,
       .scripts = {{reconfigure(1, Discipline::adaptive), kGive}, {}, {at(kStands, request())}},
       .before = {{take()}, {ask()}}},
      {.name = "death_while_reconfiguring",
       .says = "half of the new rules",
       .queue = 0,
       .scripts = {{reconfigure(2, Discipline::lifo)}, {kGive}, {request()}},
       .before = {{}, {take()}},
       .victim = kA},
      {.name = "death_while_turning_the_order",
       .says = "the rules say one order and those who wait are served in the other",
       .queue = 0,
       .scripts = {{reconfigure(1, Discipline::lifo)}, {kGive}, {}, {}},
       .before = {{}, {take()}, {ask()}, {ask()}},
       .victim = kA},
      {.name = "predicted_wait",
       .says = "more wait than can start in time",
       .mean_ms = 600,
       .scripts = {{kGive}, {request()}, {request()}},
       .before = {{take()}}},
      {.name = "predicted_wait_of_a_lower_class",
       .says = "who would start behind those above is let wait, or is refused for who has left",
       .mean_ms = 600,
       .scripts = {{kGive}, {kCancel}, {request(kLow)}},
       .before = {{take()}, {ask(kHigh)}}},
  };
}

}  // namespace

std::vector<Scenario> account_scenarios() {
  std::vector<Scenario> every = tenants();
  for (const auto& part : {quotas(), exempts(), rules()}) {
    every.insert(every.end(), part.begin(), part.end());
  }
  return every;
}

}  // namespace loadline::explorer
