// What the people at the gate do: the acts of a scenario as operations of the gate, and the book of
// what came of them.
#pragma once

#include <algorithm>
#include <utility>

#include "gate_block.h"
#include "line.h"

namespace loadline::explorer {
namespace {

class People {
 public:
  People(const Scenario& scenario, GateBlock& block, Book& book)
      : scenario_(scenario), block_(block), book_(book), gate_(block.gate()) {}

  // Takes a seat and does what is done before the search begins. False: that did not go as the
  // scenario says.
  bool prepare(std::uint32_t who) {
    Person& me = person(who);
    me.seated = gate_.attach(who, gate_made_at()).index == who;
    bool as_said = me.seated;
    if (who == 0 && scenario_.mean_ms != 0) {
      learn_the_mean(who);
    }
    const Script none;
    for (const Act& act : who < scenario_.before.size() ? scenario_.before[who] : none) {
      perform(who, act);
      as_said = as_said && (act.kind == Act::Kind::ask ? me.ticket.valid() : me.permit.held());
    }
    return as_said;
  }

  // A thread's life: its script, and then what others' doings bring it.
  void live(std::uint32_t who) {
    Person& me = person(who);
    for (const Script& script = scenario_.scripts[who]; me.act < script.size(); ++me.act) {
      me.phase = 0;
      perform(who, script[me.act]);
    }
    while (true) {
      me.phase = 0;
      wait_for_signal(who);
      collect(who);
      work(who);
    }
  }

  void die(std::uint32_t who) {
    Person& dead = person(who);
    book_.running -= dead.permit.held() ? dead.permit.cost() : 0;
    dead = Person{};
    dead.alive = false;
    ++book_.deaths;
    book_.tick_needed = true;
  }

  // All rest, so this needs no steps: a tick, and everyone looks what there is to collect.
  void recover() {
    book_.tick_needed = false;
    ++book_.recoveries;
    gate_.tick(time_of(latest_tick() + 10 * book_.recoveries));
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      person(i).signalled = person(i).alive && person(i).seated;
    }
  }

  // Where times are long past the begin, so is the tick that comes with time.
  [[nodiscard]] std::uint32_t latest_tick() const {
    std::uint32_t latest = kLastTick;
    for (const Script& script : scenario_.scripts) {
      for (const Act& act : script) {
        latest = std::max(latest, act.kind == Act::Kind::tick ? act.at_ms : 0);
      }
    }
    return latest;
  }

  // Early enough that a mean can be learnt before the scenario begins.
  [[nodiscard]] Instant gate_made_at() const {
    return scenario_.mean_ms == 0 ? kBegin : kBegin - Duration::seconds(4);
  }

 private:
  [[nodiscard]] Person& person(std::uint32_t who) const { return book_.people[who]; }
  static void fail(const char* what) { engine().fail(what); }

  // An operation of the gate. What its thread knew inside is forgotten after it: the answer goes
  // into the book before the next step.
  template <class Operation>
  auto inside(std::uint32_t who, Operation operation) {
    Person& me = person(who);
    me.inside = true;
    auto answer = operation(Participant{who});
    me.inside = false;
    me.moves_much = false;
    me.leaving = 0;
    me.heavy_leaving = false;
    ++me.phase;
    engine().forget();
    return answer;
  }

  void learn_the_mean(std::uint32_t who) {
    constexpr std::uint32_t kServices = 20;
    const Instant before = kBegin - Duration::seconds(2);
    for (std::uint32_t i = 0; i < kServices; ++i) {
      ++book_.offered;
      Offer answer = gate_.offer({who}, {}, before);
      gate_.release({who}, answer.permit, Outcome::success,
                    before + Duration::millis(scenario_.mean_ms));
    }
    gate_.tick(kBegin - Duration::millis(20));
  }

  void perform(std::uint32_t who, const Act& act) {
    const Instant now = time_of(act.at_ms);
    switch (act.kind) {
      case Act::Kind::request:
        offer(who, act);
        await(who);
        work(who);
        break;
      case Act::Kind::ask: {
        const bool works_already = person(who).permit.held();
        offer(who, act);
        if (!works_already) {
          work(who);
        }
        break;
      }
      case Act::Kind::take:
        offer(who, act);
        await(who);
        break;
      case Act::Kind::turned_away:
        offer(who, act);
        break;
      case Act::Kind::give:
        release(who, Outcome::ignored, kBegin);
        break;
      case Act::Kind::finish:
        release(who, Outcome::success, now);
        break;
      case Act::Kind::cancel:
        cancel(who, now);
        break;
      case Act::Kind::settle:
        settle(who, now);
        work(who);
        break;
      case Act::Kind::await:
        await(who);
        work(who);
        break;
      case Act::Kind::poll:
        collect(who);
        work(who);
        break;
      default:
        administer(who, act, now);
    }
  }

  void administer(std::uint32_t who, const Act& act, Instant now) {
    Person& me = person(who);
    me.moves_much = true;
    switch (act.kind) {
      case Act::Kind::set_limit:
      case Act::Kind::reconfigure:
        change_rules(who, act, now);
        break;
      case Act::Kind::observe:
        book_.allowed = book_.highest = kMaxLimit;
        deliver(inside(who, [&](Participant) { return gate_.set_mode(Mode::observe, now); }));
        break;
      case Act::Kind::enforce: {
        const Signals signals =
            inside(who, [&](Participant) { return gate_.set_mode(Mode::on, now); });
        book_.allowed = scenario_.limit;
        deliver(signals);
        break;
      }
      case Act::Kind::drain: {
        const Signals signals =
            inside(who, [&](Participant) { return gate_.set_draining(true, now); });
        book_.drains = true;
        deliver(signals);
        break;
      }
      case Act::Kind::tick:
        deliver(inside(who, [&](Participant) { return gate_.tick(now); }));
        break;
      case Act::Kind::leave:
        leave(who, now);
        break;
      case Act::Kind::sit:
        me.seated = inside(who, [&](Participant) { return gate_.attach(who, now); }).index == who;
        if (!me.seated) {
          fail("a seat that was left is not to be had");
        }
        break;
      default:
        fail("explorer: an act that nobody knows");
    }
  }

  void offer(std::uint32_t who, const Act& act) {
    Person& me = person(who);
    Request request;
    request.importance = act.importance;
    request.cost = act.units;
    request.may_wait = act.may_wait;
    request.exempt = act.exempt;
    request.tenant = tenant_name(act.tenant);
    request.quota = quota_key(act.quota);
    me.importance = act.importance;
    me.tenant = act.tenant;
    ++book_.offered;
    book_.quota_asked[act.quota] += 1;
    const bool drains = book_.drains;
    Offer answer = inside(
        who, [&](Participant self) { return gate_.offer(self, request, time_of(act.at_ms)); });
    const bool must_go = act.kind == Act::Kind::turned_away || (drains && !act.exempt);
    if (must_go && answer.kind != Offer::Kind::reject) {
      fail("one who is to be turned away is not");
    }
    note_quota(act, answer);
    if (answer.kind == Offer::Kind::admit) {
      me.exempt_permit = act.exempt;
      me.charged = 0;
      start_work(who, answer.permit, answer.permit.cost() > 1);
    } else if (answer.kind == Offer::Kind::wait) {
      me.ticket = answer.ticket;
      me.heavy_ticket = block_.tickets()[me.ticket.index].heavy;
      me.charged = block_.has_tenants() ? block_.places()[me.ticket.index].charged : 0;
    }
    deliver(answer.signals);
  }

  void note_quota(const Act& act, const Offer& answer) {
    if (answer.kind != Offer::Kind::reject) {
      book_.quota_used[act.quota] += 1;
    } else if (answer.reason != Reason::quota) {
      book_.quota_returned += act.quota != 0 ? 1 : 0;
    }
  }

  void await(std::uint32_t who) {
    while (person(who).ticket.valid()) {
      wait_for_signal(who);
      collect(who);
    }
  }

  void collect(std::uint32_t who) {
    std::array<Settled, 2> some;
    Signals signals;
    const std::size_t n =
        inside(who, [&](Participant self) { return gate_.collect(self, some, kBegin, signals); });
    for (std::size_t i = 0; i < n; ++i) {
      absorb(who, some[i]);
    }
    deliver(signals);
  }

  void absorb(std::uint32_t who, Settled& settled) {
    Person& me = person(who);
    if (!me.ticket.valid() || settled.ticket != me.ticket) {
      fail("somebody is told about a ticket that it does not wait with");
      return;
    }
    me.ticket = {};
    if (settled.kind == Settled::Kind::admit) {
      start_work(who, settled.permit, me.heavy_ticket);
    }
  }

  void cancel(std::uint32_t who, Instant now) {
    Person& me = person(who);
    if (!me.ticket.valid()) {
      return;
    }
    const Ticket ticket = me.ticket;
    const Signals signals =
        inside(who, [&](Participant self) { return gate_.cancel(self, ticket, now); });
    me.ticket = {};
    deliver(signals);
  }

  void settle(std::uint32_t who, Instant now) {
    Person& me = person(who);
    if (!me.ticket.valid()) {
      return;
    }
    Signals signals;
    Settled settled =
        inside(who, [&](Participant self) { return gate_.settle(self, me.ticket, now, signals); });
    if (settled.kind == Settled::Kind::unknown) {
      fail("a ticket that waits is unknown");
    } else if (settled.kind != Settled::Kind::waiting) {
      absorb(who, settled);
    }
    deliver(signals);
  }

  void change_rules(std::uint32_t who, const Act& act, Instant now) {
    book_.allowed = std::max(book_.allowed, act.units);
    book_.highest = std::max(book_.highest, act.units);
    Signals signals;
    const bool set = inside(who, [&](Participant) {
      if (act.kind == Act::Kind::set_limit) {
        return gate_.set_limit(act.units, now, signals);
      }
      Policy policy = policy_of(scenario_);
      policy.limit = act.units;
      policy.discipline = act.discipline;
      return gate_.reconfigure(policy, now, signals);
    });
    book_.allowed = act.units;
    if (!set) {
      fail("the rules could not be changed");
    }
    deliver(signals);
  }

  // What it holds goes back with the seat.
  void leave(std::uint32_t who, Instant now) {
    Person& me = person(who);
    book_.running -= me.permit.held() ? me.permit.cost() : 0;
    me.permit = Permit();
    me.ticket = {};
    me.heavy_permit = me.heavy_ticket = me.exempt_permit = false;
    me.seated = false;
    deliver(inside(who, [&](Participant self) { return gate_.detach(self, now); }));
  }

  void start_work(std::uint32_t who, Permit& permit, bool heavy) {
    Person& me = person(who);
    if (me.permit.held()) {
      fail("explorer: two permits");
    }
    book_.running += permit.cost();
    me.permit = std::move(permit);
    me.heavy_permit = heavy;
    if (me.permit.cost() == 0 && !me.exempt_permit) {
      fail("one runs who is not counted");
    }
    if (book_.running > book_.highest) {
      fail("more is running than the limit");
    }
    std::uint32_t weight = 0;
    for (const Person& one : book_.people) {
      weight += one.permit.held() && one.heavy_permit ? one.permit.cost() : 0;
    }
    const std::uint32_t share =
        std::max<std::uint32_t>(book_.highest * scenario_.heavy_share / 1000, 1);
    if (weight > share) {
      fail("weights above 1 hold more than their share");
    }
  }

  // A step apart, so that others can see it running.
  void work(std::uint32_t who) {
    if (person(who).permit.held()) {
      engine().before(Step::work, nullptr);
      release(who, Outcome::ignored, kBegin);
    }
  }

  void release(std::uint32_t who, Outcome outcome, Instant now) {
    Person& me = person(who);
    if (!me.permit.held()) {
      return;
    }
    Permit permit = std::move(me.permit);
    me.permit = Permit();
    me.leaving = permit.cost();
    me.heavy_leaving = me.heavy_permit;
    me.heavy_permit = me.exempt_permit = false;
    book_.running -= permit.cost();
    if (outcome == Outcome::success && me.charged != 0) {
      settle_account(me, now - permit.started());
    }
    deliver(
        inside(who, [&](Participant self) { return gate_.release(self, permit, outcome, now); }));
  }

  // What it has cost, instead of what it was charged for before that was known.
  void settle_account(const Person& me, Duration service) {
    const std::uint64_t cost = static_cast<std::uint64_t>(service.ns) * kRound /
                               (std::uint64_t{scenario_.mean_ms} * 1'000'000);
    book_.finish[me.importance][me.tenant] += cost - me.charged;
  }

  // One with the operation that ended, unless its caller may die before the signals are sent.
  void deliver(Signals signals) {
    if (!signals.any()) {
      return;
    }
    engine().learn(signals.participants);
    engine().before(Step::signal, nullptr);
    engine().forget();
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      person(i).signalled = person(i).signalled || (signals.participants >> i & 1) != 0;
    }
  }

  void wait_for_signal(std::uint32_t who) {
    engine().before(Step::wait, nullptr);
    person(who).signalled = false;
  }

  const Scenario& scenario_;
  GateBlock& block_;
  Book& book_;
  SteppedGate& gate_;
};

}  // namespace
}  // namespace loadline::explorer
