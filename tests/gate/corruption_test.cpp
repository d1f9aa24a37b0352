// Shared memory may hold anything. A gate whose tickets and lists have been scribbled over may
// answer wrongly, but it touches nothing outside of its block and ends every operation; run under
// AddressSanitizer this shows the first, and by ending at all the second.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gate_box.h"
// Which says where things lie.
#include "gate/lifecycle.h"

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
        static_cast<std::byte*>(box.memory()) +
        detail::tickets_offset<NativeSync>(head.capacity.participants));
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

// Whatever is foretold from a shadow that was scribbled over: it touches nothing else, every
// operation ends, and when the mode is set it begins anew.
TEST(Corruption, OfTheShadowIsContained) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    GateBox box(policy_of(2, QueueSize::at_most(20)), 3);
    const Participant a = box.attach(0);
    const Participant b = box.attach(1);
    std::mt19937 random(seed);
    box.gate.set_mode(Mode::observe, box.now);
    std::vector<Offer> running;
    for (int i = 0; i < 6; ++i) {
      running.push_back(box.gate.offer(a, of_class(random() % 4), box.now));
    }
    const Capacity capacity = box.gate.capacity();
    const std::size_t begin = detail::shadow_offset<NativeSync>(capacity);
    auto* const words =
        reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(box.memory()) + begin);
    const std::size_t count = (detail::end_offset<NativeSync>(capacity) - begin) / sizeof *words;
    // Most of it is slots and times; what all depends on stands in front.
    constexpr std::size_t kFront = (kMaxClasses * kReasons * 8 + 512) / sizeof *words;
    for (int round = 0; round < 20; ++round) {
      words[random() % count] = random();
      words[random() % kFront] = random() % 2 == 0 ? random() : random() % 64;
      words[random() % kFront] = random() % 4 == 0 ? 0xffffffff : random() % 64;
      use(box, a, b, random);
    }
    for (Offer& one : running) {
      box.gate.release(a, one.permit, Outcome::success, box.now);
    }
    EXPECT_EQ(box.gate.in_flight(), 0U);
    box.gate.set_mode(Mode::observe, box.now);
    Request hurried = of_class(kCritical);
    hurried.may_wait = false;
    EXPECT_EQ(box.gate.offer(a, hurried, box.now).reason, Reason::none);
    EXPECT_EQ(box.gate.offer(b, hurried, box.now).reason, Reason::none);
    EXPECT_EQ(box.gate.offer(a, hurried, box.now).reason, Reason::limit);
  }
}

constexpr LimitBounds kLawsBounds{2, 9};

Policy found_by(Law law) {
  Policy policy = policy_of(0, QueueSize::at_most(20));
  policy.law = law;
  policy.limit_least = kLawsBounds.least;
  policy.limit_most = kLawsBounds.most;
  return policy;
}

void expect_within_bounds(const GateBox& box) {
  const std::uint32_t limit = box.gate.snapshot().limit;
  EXPECT_GE(limit, kLawsBounds.least);
  EXPECT_LE(limit, kLawsBounds.most);
}

// Whatever lies where the law was, or where its samples were: the limit stays within its bounds,
// and nothing else is touched.
TEST(Corruption, OfTheLearnerIsContained) {
  std::uint64_t repaired = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    GateBox box(found_by(Law::automatic), 3);
    const Participant a = box.attach(0);
    const Participant b = box.attach(1);
    std::mt19937 random(seed);
    const Capacity capacity = box.gate.capacity();
    // All but the mutex.
    const std::size_t begin =
        detail::learner_offset<NativeSync>(capacity) + offsetof(detail::Learner<NativeSync>, seal);
    auto* const words =
        reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(box.memory()) + begin);
    const std::size_t learner =
        (detail::rings_offset<NativeSync>(capacity) - begin) / sizeof *words;
    const std::size_t all = (detail::end_offset<NativeSync>(capacity) - begin) / sizeof *words;
    for (int round = 0; round < 20; ++round) {
      words[random() % learner] = random() % 2 == 0 ? random() : 0;
      words[random() % all] = random() % 4 == 0 ? 0xffffffff : random() % 64;
      use(box, a, b, random);
      expect_within_bounds(box);
      std::array<LimitEvent, LimitEvents::kKept> events;
      std::uint64_t next = 0;
      const std::size_t n = box.gate.limit_events(next, events);
      ASSERT_LE(n, events.size());
      for (std::size_t i = 0; i < n; ++i) {
        repaired += events[i].reason.cause == LimitCause::repaired ? 1 : 0;
      }
    }
  }
  EXPECT_GT(repaired, 0U);
}

// Between two ticks there is no sum over what the law knows: it bears whatever is written there
// then. Each byte is one that is no `bool`.
TEST(Corruption, OfALawWithoutASumIsContained) {
  for (std::uint32_t law = 0; law < kLaws; ++law) {
    if (static_cast<Law>(law) == Law::fixed) {
      continue;  // has no learner
    }
    for (const unsigned char byte : {0x02, 0x88, 0xff}) {
      GateBox box(found_by(static_cast<Law>(law)), 3);
      const Participant a = box.attach(0);
      const Participant b = box.attach(1);
      std::mt19937 random(law);
      use(box, a, b, random);
      auto& learner = *reinterpret_cast<detail::Learner<NativeSync>*>(
          static_cast<std::byte*>(box.memory()) +
          detail::learner_offset<NativeSync>(box.gate.capacity()));
      for (int round = 0; round < 10; ++round) {
        // Behind its rules, by which it is told which law it is.
        auto* const limiter = reinterpret_cast<unsigned char*>(&learner.knowledge.limiter);
        std::memset(limiter + sizeof(LimitRules), byte, sizeof(Limiter) - sizeof(LimitRules));
        learner.seal = detail::Knowledge::kOpen;
        use(box, a, b, random);
        expect_within_bounds(box);
      }
    }
  }
}

// Numbers that are divided by, multiplied or used as an index. Half of these once ended in a trap,
// an overflow or a read outside of its array, as fuzzing found (tests/fuzz).
using Head = detail::BlockHead<NativeSync>;

struct Scribble {
  const char* what;
  void (*scribble)(Head& head);
};

class NumberOfTheBlock : public testing::TestWithParam<Scribble> {};

Policy policy_with_all() {
  Policy policy = policy_of(2, QueueSize::at_most(20));
  policy.tenants = 10;
  policy.classes[3].guarantee = 100;
  return policy;
}

// Long enough for windows and seconds to close, with work, waits and all kinds of requests.
void live(GateBox& box, Participant who) {
  std::vector<Permit> held;
  Signals signals;
  for (std::uint32_t i = 0; i < 200; ++i) {
    Request request = of_class(static_cast<std::uint8_t>(i % 4), i % 7 == 0 ? 2 : 1);
    request.tenant = i % 5;
    Offer answer = box.gate.offer(who, request, box.now);
    if (answer.permit.held()) {
      held.push_back(std::move(answer.permit));
    }
    if (i % 3 == 0 && !held.empty()) {
      box.gate.release(who, held.back(), Outcome::success, box.now);
      held.pop_back();
    }
    std::array<Settled, 4> out;
    const std::size_t n = box.gate.collect(who, out, box.now, signals);
    for (std::size_t k = 0; k < n; ++k) {
      if (out[k].kind == Settled::Kind::admit) {
        held.push_back(std::move(out[k].permit));
      }
    }
    box.pass(Duration::millis(7));
    signals |= box.gate.tick(box.now);
    EXPECT_EQ(signals.participants >> 3, 0U);
  }
  for (Permit& permit : held) {
    box.gate.release(who, permit, Outcome::success, box.now);
  }
}

TEST_P(NumberOfTheBlock, MayBeAnything) {
  GateBox box(policy_with_all(), 3);
  const Participant me = box.attach();
  live(box, me);
  for (int i = 0; i < 3; ++i) {
    GetParam().scribble(*static_cast<Head*>(box.memory()));
    live(box, me);
  }
}

template <class Law>
void zero(Law& law) {
  std::memset(static_cast<void*>(&law), 0, sizeof law);
}

INSTANTIATE_TEST_SUITE_P(
    Of, NumberOfTheBlock,
    testing::Values(
        Scribble{"NoLimit", [](Head& h) { zero(h.guarded.limit); }},
        Scribble{"MoreServicesSeenThanThereWere",
                 [](Head& h) { h.guarded.seen_services += 20 + 1; }},
        Scribble{"ServicesSeenAtTheEnd", [](Head& h) { h.guarded.seen_services = INT64_MAX; }},
        Scribble{"ServiceTimeSeenAtTheEnd",
                 [](Head& h) { h.guarded.seen_service_ns = std::uint64_t{1} << 63; }},
        Scribble{"AnEndlessMean",
                 [](Head& h) {
                   h.published.service_mean_ns.store(INT64_MAX);
                   h.published.service_mean_until.store(INT64_MAX);
                   h.published.drain_ns.store(INT64_MAX);
                 }},
        Scribble{"ANegativeMean", [](Head& h) { h.published.service_mean_ns.store(INT64_MIN); }},
        Scribble{"GuaranteesOfClassesThatAreNone", [](Head& h) { h.guarded.guaranteed = ~0U; }},
        Scribble{"EndlessCredit", [](Head& h) { std::fill_n(h.guarded.credits, 8, INT32_MAX); }},
        Scribble{"EndlessDebt", [](Head& h) { std::fill_n(h.guarded.credits, 8, INT32_MIN); }},
        Scribble{"QueuesThatAreNone",
                 [](Head& h) {
                   h.guarded.occupied.store(~0U);
                   for (detail::TicketList& queue : h.guarded.queues) {
                     queue = {.head = 0, .tail = 0, .count = 1};
                   }
                 }},
        Scribble{"ATickInThePast", [](Head& h) { h.next_tick.store(INT64_MIN); }},
        Scribble{"NoRetryAfter", [](Head& h) { h.published.retry_after.store(1); }},
        Scribble{"FlagsThatAreNotOne",
                 [](Head& h) {
                   std::memset(static_cast<void*>(&h.guarded.spare), 0x66, sizeof h.guarded.spare);
                   h.guarded.audit_due = 0x66;
                 }},
        Scribble{"TurnsLongAgo",
                 [](Head& h) {
                   for (auto& tag : h.published.farthest_tag) {
                     tag.store(~std::uint64_t{0});
                   }
                 }}),
    [](const auto& of) { return std::string(of.param.what); });

TEST(Corruption, OfAHeavyTicketsClassIsSeenBeforeItIsUsed) {
  GateBox box(policy_of(4, QueueSize::at_most(20)), 3);
  const Participant me = box.attach();
  Offer all = box.gate.offer(me, of_class(kCritical, 4), box.now);
  const Ticket waiting = box.gate.offer(me, of_class(kCritical, 2), box.now).ticket;
  ASSERT_TRUE(waiting.valid());
  auto* const tickets = reinterpret_cast<detail::TicketSlot<NativeSync>*>(
      static_cast<std::byte*>(box.memory()) +
      detail::tickets_offset<NativeSync>(box.gate.capacity().participants));
  tickets[waiting.index].importance = 200;
  tickets[waiting.index].heavy = 0x66;
  box.gate.release(me, all.permit, Outcome::success, box.now);
  live(box, me);
  EXPECT_GT(box.gate.snapshot().corruptions, 0U);
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

// Tickets that were used before come in no order; those who wait start in theirs all the same.
TEST(Corruption, OfALongQueueIsPutRightInItsOrder) {
  constexpr std::uint32_t kLong = 3'000;
  Policy policy = policy_of(1, QueueSize::at_most(kLong), Duration::seconds(3600));
  policy.discipline = Discipline::fifo;
  GateBox box(policy, 2, kLong + Capacity::kSpareTickets);
  const Participant me = box.attach();
  const auto wait = [&] { return box.gate.offer(me, of_class(kCritical), box.now).ticket; };
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  std::vector<Ticket> order(kLong);
  std::generate(order.begin(), order.end(), wait);
  std::mt19937 random(7);
  std::shuffle(order.begin(), order.end(), random);
  for (const Ticket ticket : order) {
    box.gate.cancel(me, ticket, box.now);
  }
  std::generate(order.begin(), order.end(), wait);
  auto& head = *static_cast<Head*>(box.memory());
  head.guarded.queues[kCritical].head = 1'000'000;
  box.gate.release(me, running.permit, Outcome::success, box.now);
  box.gate.tick(box.now + Duration::millis(20));
  ASSERT_EQ(box.gate.snapshot().repairs, 1U);
  for (const Ticket ticket : order) {
    auto started = box.collect(me);
    ASSERT_EQ(started.size(), 1U);
    ASSERT_EQ(started[0].ticket, ticket);
    box.gate.release(me, started[0].permit, Outcome::success, box.now);
  }
  EXPECT_EQ(box.gate.snapshot().waiting, 0U);
}

}  // namespace
}  // namespace loadline::test
