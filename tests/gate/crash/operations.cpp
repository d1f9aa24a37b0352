#include "operations.h"

#include <algorithm>
#include <iterator>

namespace loadline::crash {
namespace {

constexpr std::uint32_t kNewLimit = 5;
constexpr std::uint64_t kGreedy = hash_key("greedy");
constexpr std::uint64_t kModest = hash_key("modest");

void nothing(Stage&) {}

void sit(Stage& s) {
  s.attach(s.victim());
}

// Somebody else's work fills the gate.
void fill(Stage& s) {
  sit(s);
  s.start(s.survivor(), of(kCritical));
  s.start(s.survivor(), of(kCritical, 2));
}

void fill_and_queue(Stage& s, std::uint8_t importance) {
  fill(s);
  for (std::uint32_t i = 0; i < kQueue; ++i) {
    s.wait(s.survivor(), of(importance));
  }
}

void full_of_the_less_important(Stage& s) {
  fill_and_queue(s, kSheddable);
}

void full_of_the_same(Stage& s) {
  fill_and_queue(s, kCritical);
}

void let_others_wait(Stage& s) {
  sit(s);
  s.start(s.victim(), of(kCritical));
  s.start(s.victim(), of(kCritical));
  s.start(s.survivor(), of(kCritical));
  s.wait(s.survivor(), of(kSheddable));
  s.wait(s.survivor(), of(kCriticalPlus));
}

void let_all_wait(Stage& s) {
  let_others_wait(s);
  s.wait(s.victim(), of(kCritical));
}

void heavy_head(Stage& s) {
  sit(s);
  s.start(s.survivor(), of(kCritical));
  s.start(s.survivor(), of(kCritical));
  s.wait(s.victim(), of(kCritical, 2));
  s.wait(s.survivor(), of(kCritical));
}

// What the victim holds is enough for two.
void one_for_two(Stage& s) {
  sit(s);
  s.start(s.victim(), of(kCritical, 2));
  s.start(s.survivor(), of(kCritical));
  s.wait(s.survivor(), of(kCritical));
  s.wait(s.survivor(), of(kSheddable));
  s.wait(s.victim(), of(kCritical));
}

// Who is next has waited too long, who comes after has not.
void wait_beside_the_late(Stage& s) {
  sit(s);
  s.start(s.victim(), of(kCritical));
  s.start(s.survivor(), of(kCritical));
  s.start(s.survivor(), of(kCritical));
  s.wait(s.survivor(), of(kCriticalPlus));
  s.pass(kWaitBudget - Duration::seconds(1));
  s.wait(s.survivor(), of(kCritical));
  s.pass(Duration::seconds(2));
}

// The victim has a grant and a refusal to collect, and one more waits; others wait behind.
void decided(Stage& s) {
  sit(s);
  s.start(s.survivor(), of(kCritical, 2));
  s.start(s.survivor(), of(kCritical));
  s.wait(s.victim(), of(kCritical));
  s.wait(s.victim(), of(kSheddable));
  s.wait(s.survivor(), of(kSheddable, 2));
  s.wait(s.survivor(), of(kCritical));
  s.offer(s.survivor(), of(kCriticalPlus));  // displaces the newest sheddable
  s.offer(s.survivor(), of(kCriticalPlus));  // and the victim's
  s.pass(Duration::millis(3));
  s.release(s.survivor());  // one unit: to a critical_plus
  s.release(s.survivor());  // two: the other, and the victim's
}

// Both people's waits are past their time.
void late(Stage& s) {
  fill(s);
  s.wait(s.victim(), of(kCritical));
  s.wait(s.survivor(), of(kCritical));
  s.wait(s.survivor(), of(kSheddable));
  s.pass(kWaitBudget + Duration::seconds(1));
}

void beside_a_dead_one(Stage& s) {
  s.in_child([&s] {
    s.attach(s.third());
    s.start(s.third(), of(kCritical, 2));
    s.start(s.third(), of(kCritical));
    s.wait(s.third(), of(kCritical));
    s.wait(s.third(), of(kSheddable));
  });
  s.bury(s.third());
  s.wait(s.survivor(), of(kCritical));
  s.wait(s.survivor(), of(kSheddable));
}

void sit_beside_a_dead_one(Stage& s) {
  sit(s);
  beside_a_dead_one(s);
}

void with_services(Stage& s) {
  sit(s);
  for (int i = 0; i < 25; ++i) {
    s.start(s.victim(), of(kCritical));
    s.pass(Duration::millis(5));
    s.release(s.victim());
  }
  fill(s);
  s.wait(s.survivor(), of(kCritical));
}

// One tenant has filled the queue; the other's turn comes before most of that.
void greedy_tenant(Stage& s) {
  sit(s);
  for (std::uint32_t i = 0; i < kLimit; ++i) {
    s.start(i == 0 ? s.victim() : s.survivor(), of_tenant(kGreedy));
  }
  for (std::uint32_t i = 0; i + 1 < kQueue; ++i) {
    s.wait(i == 0 ? s.victim() : s.survivor(), of_tenant(kGreedy));
  }
}

void full_of_a_greedy_tenant(Stage& s) {
  greedy_tenant(s);
  s.wait(s.survivor(), of_tenant(kGreedy));
}

void offer_of_a_modest_tenant(Stage& s) {
  s.offer(s.victim(), of_tenant(kModest));
}

// The law is about to hear that all came too late; some are in flight, and one waits.
void late_answers(Stage& s) {
  sit(s);
  for (std::uint32_t i = 0; i < kLimit; ++i) {
    s.start(i == 0 ? s.victim() : s.survivor(), of(kCritical));
  }
  s.pass(Duration::millis(20));
  s.release(s.victim(), Outcome::late);
  for (std::uint32_t i = 1; i < kLimit; ++i) {
    s.release(s.survivor(), Outcome::late);
  }
  s.start(s.survivor(), of(kCritical));  // the fourth: by so many a law judges at least
  s.pass(Duration::millis(20));
  s.release(s.survivor(), Outcome::late);
  s.start(s.victim(), of(kCritical));
  s.start(s.survivor(), of(kCritical, 2));
  s.wait(s.survivor(), of(kCritical));
}

void observing(Stage& s) {
  fill(s);
  s.gate.set_mode(Mode::observe, s.now());
}

// Of more than the limit; one of them is the victim's, and two would be waiting.
void all_let_in(Stage& s) {
  sit(s);
  s.gate.set_mode(Mode::observe, s.now());
  s.start(s.victim(), of(kCritical));
  for (std::uint32_t i = 0; i < kLimit + 1; ++i) {
    s.start(s.survivor(), of(kCritical));
  }
}

void offer_without_waiting(Stage& s) {
  Request request = of(kCritical);
  request.may_wait = false;
  s.offer(s.victim(), request);
}

// The victim's second would have been turned away.
void let_through(Stage& s) {
  all_let_in(s);
  offer_without_waiting(s);
}

void enforce(Stage& s) {
  s.gate.set_mode(Mode::on, s.now());
}

void enforced_again(Stage& s) {
  let_through(s);
  enforce(s);
}

void off(Stage& s) {
  fill(s);
  s.gate.set_mode(Mode::off, s.now());
}

void draining(Stage& s) {
  fill(s);
  s.gate.set_draining(true, s.now());
}

void offer_critical(Stage& s) {
  s.offer(s.victim(), of(kCritical));
}

void offer_with_a_deadline(Stage& s) {
  Request request = of(kCritical);
  request.deadline = s.now() + Duration::seconds(1);
  s.offer(s.victim(), request);
}

void offer_exempt(Stage& s) {
  Request request = of(kCritical);
  request.exempt = true;
  s.offer(s.victim(), request);
  s.release(s.victim());
}

void release_both(Stage& s) {
  s.release(s.victim());
  s.release(s.victim());
}

void cancel_first(Stage& s) {
  s.cancel(s.victim(), s.victim().tickets[0]);
}

void settle_all(Stage& s) {
  Signals signals;
  while (s.victim().ticket_count != 0) {
    Settled settled = s.gate.settle(s.victim().seat, s.victim().tickets[0], s.now(), signals);
    s.take(s.victim(), settled);
  }
}

void collect_all(Stage& s) {
  s.collect(s.victim());
}

void tick(Stage& s) {
  s.tick();
}

void change_rules(Stage& s, std::uint32_t limit) {
  Policy policy;
  policy.limit = limit;
  policy.queue = QueueSize::sized_by_budget();
  policy.wait_budget = Duration::seconds(7);
  policy.retry_after_min = 5;
  policy.retry_after_max = 9;
  add_class(policy, "one");
  add_class(policy, "two", 900);
  add_class(policy, "three", 500);
  add_class(policy, "four", 300);
  policy.classes[3].guarantee = 100;
  policy.discipline = Discipline::fifo;
  policy.exempt = 7;
  Signals signals;
  s.gate.reconfigure(policy, s.now(), signals);
}

void set_limit(Stage& s, std::uint32_t limit) {
  Signals signals;
  s.gate.set_limit(limit, s.now(), signals);
}

constexpr Operation kOperations[] = {
    {"OfferAtOnce", sit, offer_critical},
    {"OfferWithADeadline", sit, offer_with_a_deadline},
    {"OfferThatWaits", fill, offer_critical},
    {"OfferThatMayNotWait", fill, offer_without_waiting},
    {"OfferToAFullQueue", full_of_the_same, offer_critical},
    {"OfferThatDisplaces", full_of_the_less_important, offer_critical},
    {"OfferOfAHeavyOne", sit, [](Stage& s) { s.offer(s.victim(), of(kCritical, 2)); }},
    {"OfferOfAnExemptOne", fill, offer_exempt},
    {"OfferOfATenantThatWaits", greedy_tenant, offer_of_a_modest_tenant, policy_with_tenants},
    {"OfferOfATenantThatDisplaces", full_of_a_greedy_tenant, offer_of_a_modest_tenant,
     policy_with_tenants},
    {"OfferOfATenantWithTooMuch", full_of_a_greedy_tenant,
     [](Stage& s) { s.offer(s.victim(), of_tenant(kGreedy)); }, policy_with_tenants},
    {"ReleaseToTenants", full_of_a_greedy_tenant, [](Stage& s) { s.release(s.victim()); },
     policy_with_tenants},
    {"CancelOfATenant", greedy_tenant, cancel_first, policy_with_tenants},
    {"OfferWhileObserving", observing, offer_critical},
    {"OfferThatWouldWait", all_let_in, offer_critical},
    {"OfferThatIsLetThrough", all_let_in, offer_without_waiting},
    {"ReleaseOfOneLetThrough", let_through, release_both},
    {"ReleaseOnceEnforced", enforced_again, release_both},
    {"ReleaseWhileObserving", all_let_in, [](Stage& s) { s.release(s.victim()); }},
    {"TickWhileObserving", all_let_in, tick},
    {"OfferWhileOff", off, offer_critical},
    {"OfferWhileDraining", draining, offer_critical},
    {"ReleaseWithoutWaiters",
     [](Stage& s) {
       sit(s);
       s.start(s.victim(), of(kCritical));
     },
     [](Stage& s) { s.release(s.victim()); }},
    {"ReleaseToOthers", let_others_wait, release_both},
    {"ReleaseToAll", let_all_wait, release_both},
    {"ReleaseOfOneForTwo", one_for_two, [](Stage& s) { s.release(s.victim()); }},
    {"ReleaseToOneWhoIsLate", wait_beside_the_late, [](Stage& s) { s.release(s.victim()); }},
    {"CancelOfAHeavyHead", heavy_head, cancel_first},
    {"CancelOfAGrant", decided, cancel_first},
    {"SettleOfDecided", decided, settle_all},
    {"SettleOfLate", late, settle_all},
    {"Collect", decided, collect_all},
    {"TickWithNothingToDo", sit, tick},
    {"TickThatExpires", late, tick},
    {"TickThatReclaims", sit_beside_a_dead_one, tick},
    {"TickThatEstimates", with_services, tick},
    {"ReconfigureUp", full_of_the_same, [](Stage& s) { change_rules(s, kNewLimit); }},
    {"ReconfigureDown", fill, [](Stage& s) { change_rules(s, 1); }},
    {"SetLimitUp", full_of_the_same, [](Stage& s) { set_limit(s, kNewLimit); }},
    {"SetLimitDown", full_of_the_same, [](Stage& s) { set_limit(s, 1); }},
    {"TickThatLearns", late_answers, tick, policy_that_learns},
    {"ReleaseToALaw", let_others_wait, [](Stage& s) { s.release(s.victim()); }, policy_that_learns},
    {"SetLimitOfALaw", let_others_wait,
     [](Stage& s) {
       set_limit(s, kNewLimit);
       s.tick();
     },
     policy_that_learns},
    {"SetModeOff", full_of_the_same, [](Stage& s) { s.gate.set_mode(Mode::off, s.now()); }},
    {"SetModeOn", observing, enforce},
    {"SetModeOnBesideOnesLetThrough", let_through, enforce},
    {"SetDraining", full_of_the_same, [](Stage& s) { s.gate.set_draining(true, s.now()); }},
    {"SetNotDraining", draining, [](Stage& s) { s.gate.set_draining(false, s.now()); }},
    {"Attach", nothing, sit},
    {"AttachBesideADeadOne", beside_a_dead_one, sit},
    {"DetachHoldingNothing", sit, [](Stage& s) { s.gate.detach(s.victim().seat, s.now()); }},
    {"DetachHoldingAll", decided, [](Stage& s) { s.gate.detach(s.victim().seat, s.now()); }},
};

}  // namespace

std::span<const Operation> operations() {
  return kOperations;
}

const Operation& operation_named(std::string_view name) {
  return *std::find_if(std::begin(kOperations), std::end(kOperations),
                       [name](const Operation& one) { return one.name == name; });
}

}  // namespace loadline::crash
