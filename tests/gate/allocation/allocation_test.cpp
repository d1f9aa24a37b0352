// Nothing is allocated after a gate has been made, whatever is asked of it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "../../counted_allocations.h"
#include "../gate_box.h"

namespace loadline::test {
namespace {

Policy with_everything() {
  Policy policy = policy_of(8, QueueSize::at_most(20));
  policy.heavy_share = 500;
  policy.tenants = 1024;
  add_group(policy, "group", 3);
  policy.classes[kSheddable].guarantee = 100;
  policy.quota = {.requests = 100, .per = Duration::seconds(1), .burst = 3, .keys = 100};
  return policy;
}

// What callers hold, in arrays of fixed size: they must not allocate either while it is counted.
struct Callers {
  GateBox box{with_everything(), 2, 512};
  Participant who[2] = {box.attach(0), box.attach(1)};
  std::array<Permit, 512> held[2];
  std::array<Ticket, 512> waiting[2];
  std::size_t holding[2] = {0, 0};
  std::array<Settled, 32> settled;
  std::mt19937_64 random{1};

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

  void hold(std::uint32_t i, Permit&& permit) {
    if (holding[i] < held[i].size()) {
      held[i][holding[i]++] = std::move(permit);
    } else {
      box.gate.release(who[i], permit, Outcome::success, box.now);
    }
  }

  void offer(std::uint32_t i) {
    Request request = of_class(static_cast<std::uint8_t>(below(4)), 1 + below(3));
    request.tenant = below(8);
    request.group = below(2) == 0 ? 0 : Request::kNoGroup;
    request.quota = below(3);
    request.exempt = below(20) == 0;
    request.observe = below(20) == 0;
    request.may_wait = below(10) != 0;
    if (below(3) == 0) {
      request.deadline = box.now + Duration::millis(below(50));
    }
    Offer answer = box.gate.offer(who[i], request, box.now);
    if (answer.kind == Offer::Kind::admit) {
      hold(i, std::move(answer.permit));
    } else if (answer.kind == Offer::Kind::wait) {
      waiting[i][answer.ticket.index] = answer.ticket;
    }
  }

  void step() {
    const std::uint32_t i = below(2);
    Signals signals;
    switch (below(12)) {
      case 0:
      case 1:
        if (holding[i] != 0) {
          box.gate.release(who[i], held[i][--holding[i]], static_cast<Outcome>(below(3)), box.now);
        }
        break;
      case 2:
        box.gate.cancel(who[i], waiting[i][below(512)], box.now);
        break;
      case 3: {
        Settled one = box.gate.settle(who[i], waiting[i][below(512)], box.now, signals);
        if (one.kind == Settled::Kind::admit) {
          hold(i, std::move(one.permit));
        }
        break;
      }
      case 4:
      case 5: {
        const std::size_t n = box.gate.collect(who[i], settled, box.now, signals);
        for (std::size_t k = 0; k < n; ++k) {
          if (settled[k].kind == Settled::Kind::admit) {
            hold(i, std::move(settled[k].permit));
          }
        }
        break;
      }
      case 6:
        box.gate.tick(box.now);
        break;
      case 7:
        box.pass(Duration::millis(below(5)));
        break;
      default:
        offer(i);
    }
  }
};

TEST(Allocation, TheCounterCounts) {
  const std::uint64_t before = allocations;
  int* volatile number = new int(1);  // volatile, or a compiler may leave the pair out
  delete number;
  void* volatile memory = std::malloc(8);
  std::free(memory);
  EXPECT_EQ(allocations - before, 2U);
}

TEST(Allocation, NoneOnARequestsWay) {
  Callers callers;
  const std::uint64_t before = allocations;
  for (int i = 0; i < 200'000; ++i) {
    callers.step();
  }
  EXPECT_EQ(allocations - before, 0U);
  EXPECT_GT(sums_of(callers.box.gate.snapshot()).offered(), 50'000U);
}

TEST(Allocation, NoneWhenTheRulesChange) {
  Callers callers;
  const Policy policy = with_everything();
  Gate& gate = callers.box.gate;
  Signals signals;
  const std::uint64_t before = allocations;
  for (int i = 0; i < 1'000; ++i) {
    callers.step();
    gate.set_limit(1 + callers.below(20), callers.box.now, signals);
    gate.set_mode(static_cast<Mode>(callers.below(3)), callers.box.now);
    gate.set_draining(callers.below(2) == 0, callers.box.now);
    gate.reconfigure(policy, callers.box.now, signals);
    EXPECT_EQ(gate.snapshot().corruptions, 0U);
  }
  EXPECT_EQ(allocations - before, 0U);
}

}  // namespace
}  // namespace loadline::test
