// What must hold after every operation, whatever the operations are.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>
#include <map>

#include "gate_box.h"

namespace loadline::test {
namespace {

struct Step {
  int what;  // 0-3 offer, 4-5 release, 6 cancel, 7 pass time, 8 set the limit, 9 tick
  std::uint32_t a;
  std::uint32_t b;
};

Policy first_come(Policy policy) {
  policy.discipline = Discipline::fifo;
  return policy;
}

// A gate beside a book that is kept by hand: who holds what, who waits in which order.
class Book {
 public:
  explicit Book(std::uint32_t limit, std::uint32_t queue)
      : limit_(limit), box_(first_come(policy_of(limit, QueueSize::at_most(queue)))) {
    for (std::uint32_t i = 0; i < kParticipants; ++i) {
      who_.push_back(box_.attach(i));
    }
  }

  void take(const Step& step) {
    switch (step.what) {
      case 4:
      case 5:
        release(step.a);
        break;
      case 6:
        cancel(step.a);
        break;
      case 7:
        box_.pass(Duration::millis(step.a % 60));
        break;
      case 8:
        set_limit(1 + step.a % 6);
        break;
      case 9:
        box_.gate.tick(box_.now);
        break;
      default:
        offer(step);
    }
    collect();
    check();
  }

  void finish() {
    while (!held_.empty()) {
      release(0);
      collect();
    }
    box_.pass(Duration::seconds(1));
    box_.gate.tick(box_.now);
    collect();
    check();
    RC_ASSERT(box_.gate.in_flight() == 0U);
    RC_ASSERT(box_.gate.snapshot().waiting == 0U);
  }

 private:
  static constexpr std::uint32_t kParticipants = 3;
  struct Held {
    std::uint32_t who;
    Permit permit;
  };
  struct Waiting {
    std::uint32_t who;
    Ticket ticket;
    std::uint32_t cost;
    Instant start_by;
  };

  void offer(const Step& step) {
    const std::uint32_t who = step.a % kParticipants;
    const Request request = of_class(step.b % 4, 1 + step.b / 4 % 3);
    const std::uint32_t before = box_.gate.in_flight();
    Offer answer = box_.gate.offer(who_[who], request, box_.now);
    ++offered_;
    if (answer.kind == Offer::Kind::admit) {
      RC_ASSERT(before + answer.permit.cost() <= limit_);
      held_.push_back({who, std::move(answer.permit)});
    } else if (answer.kind == Offer::Kind::wait) {
      const std::uint32_t cost = std::min(request.cost, limit_);
      waiting_[request.importance].push_back({who, answer.ticket, cost, answer.start_by});
    } else {
      RC_ASSERT(answer.reason != Reason::none);
      RC_ASSERT(answer.retry_after >= 1);
    }
  }

  void release(std::uint32_t which) {
    if (held_.empty()) {
      return;
    }
    const auto it = held_.begin() + which % held_.size();
    box_.gate.release(who_[it->who], it->permit, Outcome::success, box_.now);
    held_.erase(it);
  }

  void cancel(std::uint32_t which) {
    for (auto& [importance, line] : waiting_) {
      if (!line.empty()) {
        const auto it = line.begin() + which % line.size();
        box_.gate.cancel(who_[it->who], it->ticket, box_.now);
        line.erase(it);
        return;
      }
    }
  }

  void set_limit(std::uint32_t limit) {
    Signals signals;
    RC_ASSERT(box_.gate.set_limit(limit, box_.now, signals));
    limit_ = limit;
  }

  void collect() {
    for (std::uint32_t who = 0; who < kParticipants; ++who) {
      for (Settled& settled : box_.collect(who_[who])) {
        strike(settled.ticket);
        if (settled.kind == Settled::Kind::admit) {
          held_.push_back({who, std::move(settled.permit)});
        }
      }
    }
  }

  void strike(Ticket ticket) {
    for (auto& [importance, line] : waiting_) {
      const auto it = std::find_if(line.begin(), line.end(),
                                   [&](const Waiting& w) { return w.ticket == ticket; });
      if (it != line.end()) {
        line.erase(it);
        return;
      }
    }
    RC_FAIL("a ticket came back that nobody was waiting with");
  }

  void check() {
    std::uint32_t units = 0;
    for (const Held& held : held_) {
      units += held.permit.cost();
    }
    RC_ASSERT(box_.gate.in_flight() == units);
    const Snapshot all = box_.gate.snapshot();
    RC_ASSERT(sums_of(all).offered() == offered_);
    std::size_t waiting = 0;
    for (const auto& [importance, line] : waiting_) {
      RC_ASSERT(all.classes[importance].waiting == line.size());
      waiting += line.size();
    }
    RC_ASSERT(all.waiting == waiting);
    RC_ASSERT(all.corruptions == 0U);
    RC_ASSERT(all.repairs == 0U);
    no_idle_slot();
  }

  // A slot is never idle while the first in line would fit in it.
  void no_idle_slot() {
    for (const auto& [importance, line] : waiting_) {
      if (!line.empty()) {
        RC_ASSERT(box_.gate.in_flight() + std::min(line.front().cost, limit_) > limit_);
        return;
      }
    }
  }

  std::uint32_t limit_;
  GateBox box_;
  std::vector<Participant> who_;
  std::vector<Held> held_;
  std::map<std::uint8_t, std::deque<Waiting>> waiting_;  // by importance, first in line first
  std::uint64_t offered_ = 0;
};

TEST(Properties, TheAccountsAddUpAfterEveryOperation) {
  const bool held = rc::check("accounts", [] {
    const auto limit = *rc::gen::inRange<std::uint32_t>(1, 7);
    const auto queue = *rc::gen::inRange<std::uint32_t>(1, 12);
    const auto steps = *rc::gen::container<std::vector<Step>>(
        rc::gen::construct<Step>(rc::gen::inRange(0, 10), rc::gen::inRange<std::uint32_t>(0, 1000),
                                 rc::gen::inRange<std::uint32_t>(0, 1000)));
    Book book(limit, queue);
    for (const Step& step : steps) {
      book.take(step);
    }
    book.finish();
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace loadline::test
