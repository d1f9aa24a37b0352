// Shared memory may hold anything. A gate whose tickets and lists have been scribbled over may
// answer wrongly, but it touches nothing outside of its block and ends every operation; run under
// AddressSanitizer this shows the first, and by ending at all the second.
#include <gtest/gtest.h>

#include <random>

#include "gate_box.h"

namespace loadline::test {
namespace {

class Scribbler {
 public:
  explicit Scribbler(std::uint32_t seed) : random_(seed) {}

  // A few values in a few places, some of them just outside of what is allowed. The mutexes are
  // left alone: what is in them is the system's affair.
  void scribble(GateBox& box) {
    auto& head = *static_cast<detail::BlockHead<NativeSync>*>(box.memory());
    const std::uint32_t tickets = head.capacity.tickets;
    auto* const first = reinterpret_cast<detail::TicketSlot<NativeSync>*>(
        static_cast<std::byte*>(box.memory()) + head.bytes -
        tickets * sizeof(detail::TicketSlot<NativeSync>));
    for (int i = 0; i < 6; ++i) {
      scribble_ticket(first[random_() % tickets]);
    }
    scribble_ticket(first[tickets - 1 - random_() % 8]);  // those that are used first
    detail::TicketList& list = head.guarded.queues[random_() % kMaxClasses];
    (random_() % 2 == 0 ? list.head : list.tail) = odd_value();
    list.count = random_() % 2 == 0 ? list.count : odd_value();
    head.guarded.free_head = random_() % 4 == 0 ? odd_value() : head.guarded.free_head;
  }

 private:
  std::uint32_t odd_value() {
    constexpr std::uint32_t kOdd[] = {0,   1,   7,          8,          255,        256,
                                      511, 512, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    return random_() % 3 == 0 ? static_cast<std::uint32_t>(random_())
                              : kOdd[random_() % std::size(kOdd)];
  }

  void scribble_ticket(detail::TicketSlot<NativeSync>& ticket) {
    switch (random_() % 8) {
      case 0:
        ticket.state.store(static_cast<detail::TicketState>(odd_value()));
        break;
      case 1:
        ticket.owner = odd_value();
        break;
      case 2:
        ticket.importance = static_cast<std::uint8_t>(odd_value());
        break;
      case 3:
        ticket.next = odd_value();
        break;
      case 4:
        ticket.previous = odd_value();
        break;
      case 5:
        ticket.reason = static_cast<Reason>(odd_value());
        break;
      case 6:
        ticket.late_reason = static_cast<Reason>(odd_value());
        break;
      default:
        ticket.cost = odd_value();
    }
  }

  std::mt19937 random_;
};

void use(GateBox& box, Participant a, Participant b, std::mt19937& random) {
  Signals signals;
  for (int i = 0; i < 12; ++i) {
    const Participant who = random() % 2 == 0 ? a : b;
    Offer answer = box.gate.offer(who, of_class(random() % 4), box.now);
    if (answer.permit.held()) {
      box.gate.release(who, answer.permit, Outcome::success, box.now);
    }
    if (answer.ticket.valid() && random() % 3 == 0) {
      box.gate.cancel(who, answer.ticket, box.now);
    } else if (answer.ticket.valid() && random() % 3 == 0) {
      box.gate.settle(who, answer.ticket, box.now, signals);
    }
    box.pass(Duration::millis(random() % 30));
    box.gate.tick(box.now);
    std::array<Settled, 8> out;
    box.gate.collect(a, out, box.now, signals);
  }
}

TEST(Corruption, OfTicketsAndListsIsContained) {
  std::uint64_t noticed = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    GateBox box(policy_of(2, QueueSize::at_most(20)), 3);
    const Participant a = box.attach(0);
    const Participant b = box.attach(1);
    std::mt19937 random(seed);
    Scribbler scribbler(seed);
    for (int i = 0; i < 6; ++i) {
      box.gate.offer(a, of_class(random() % 4), box.now);
    }
    for (int round = 0; round < 4; ++round) {
      scribbler.scribble(box);
      use(box, a, b, random);
    }
    noticed += box.gate.snapshot().corruptions;
  }
  EXPECT_GT(noticed, 0U);
}

// The mutex's owner dies; the next one rebuilds from the states. Here the states are sound and all
// else is not.
TEST(Corruption, OfEverythingButTheStatesIsPutRight) {
  GateBox box(policy_of(1, QueueSize::at_most(20)));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  std::vector<Ticket> order;
  for (int i = 0; i < 4; ++i) {
    order.push_back(box.gate.offer(me, of_class(kCritical), box.now).ticket);
  }
  auto& head = *static_cast<detail::BlockHead<NativeSync>*>(box.memory());
  head.guarded.queues[kCritical] = {.head = 600, .tail = 77, .count = 3};
  head.guarded.free_head = order[0].index;
  box.gate.release(me, running.permit, Outcome::success, box.now);  // meets the bad head
  box.gate.tick(box.now + Duration::millis(20));
  EXPECT_EQ(box.gate.snapshot().repairs, 1U);
  auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, order[0]);
  EXPECT_EQ(box.gate.snapshot().waiting, 3U);
  EXPECT_EQ(box.gate.in_flight(), 1U);
}

}  // namespace
}  // namespace loadline::test
