// A gate whose permits get lost, one in 100,000, for ten minutes: with leases of a second next to
// nothing is lost with them, and what is only slow is left alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "../gate/gate_box.h"
#include "loadline/leases.h"

namespace loadline::test {
namespace {

constexpr Duration kLease = Duration::seconds(1);
constexpr Duration kRound = Duration::millis(62);  // as often as a host calls in what is overdue
constexpr Duration kTick = Duration::millis(10);
constexpr std::uint32_t kLimit = 32;
constexpr std::uint64_t kOneIn = 100'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr Duration kLength = Duration::seconds(150);
#else
constexpr Duration kLength = Duration::seconds(600);
#endif

// SplitMix64: what belongs to a request is a function of its number.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// 1 to 19 ms, and one in a thousand almost as long as a lease: 11 ms in the mean.
Duration work_of(std::uint64_t number) {
  return mixed(number) % 1000 == 0
             ? kLease - Duration{1}
             : Duration::millis(1) + Duration{std::int64_t(mixed(~number) % 18'000'000)};
}

struct Losing {
  bool any = true;
  bool leases = true;
};

// Half as many again come as can be worked on. Nothing limits the work but the gate.
class Shop {
 public:
  explicit Shop(Losing losing) : losing_(losing), entries_(2 * kLimit), book_(entries_) {
    me_ = box_.attach();
  }

  void run() {
    Instant tick = box_.now;
    Instant round = box_.now;
    Instant arrival = box_.now;
    while (box_.now < end_) {
      const Instant next =
          std::min({tick, round, arrival, ends_.empty() ? end_ : ends_.top().when});
      box_.now = next;
      if (!ends_.empty() && ends_.top().when == next) {
        finish();
      } else if (next == tick) {
        heed(box_.gate.tick(next));
        tick = tick + kTick;
      } else if (next == round) {
        call_in();
        round = round + kRound;
      } else {
        offer();
        arrival = arrival + Duration::micros(230);
      }
    }
  }

  std::uint64_t served_in_the_last_minute = 0;
  std::uint64_t wrongly_taken = 0;
  std::set<std::string> lost;
  std::multiset<std::string> reported;
  double lost_slot_seconds = 0;

 private:
  using Book = LeaseBook<Permit>;
  struct End {
    Instant when;
    Lease lease;
    bool operator<(const End& other) const { return other.when < when; }
  };

  static std::string name_of(std::uint64_t number) { return "request " + std::to_string(number); }

  void offer() {
    Offer answer = box_.gate.offer(me_, Request{}, box_.now);
    if (answer.kind == Offer::Kind::admit) {
      begin(answer.permit);
    }
    heed(answer.signals);
  }

  void begin(Permit& permit) {
    const std::uint64_t number = started_++;
    // What gets lost has the time to be missed.
    const bool gets_lost =
        losing_.any && number % kOneIn == kOneIn / 2 && box_.now + kLease + kRound < end_;
    if (gets_lost) {
      lost.insert(name_of(number));
    }
    const Instant due = losing_.leases ? box_.now + kLease : Instant::never();
    const Lease lease = book_.lend(permit, LeaseName(name_of(number)), box_.now, due, number);
    ASSERT_TRUE(lease.valid());
    if (!gets_lost) {
      ends_.push({box_.now + work_of(number), lease});
    }
  }

  void finish() {
    const Lease lease = ends_.top().lease;
    ends_.pop();
    std::optional<Permit> permit = book_.take_back(lease);
    if (!permit) {
      ++wrongly_taken;
      return;
    }
    served_in_the_last_minute += box_.now + Duration::seconds(60) > end_ ? 1 : 0;
    heed(box_.gate.release(me_, *permit, Outcome::success, box_.now));
  }

  void call_in() {
    Signals signals;
    book_.call_in(box_.now, [&](Book::Overdue overdue) {
      reported.insert(std::string(overdue.name.view()));
      lost_slot_seconds += double((box_.now - overdue.since).ns) * 1e-9;
      signals |= box_.gate.release(me_, overdue.held, Outcome::ignored, box_.now);
    });
    heed(signals);
  }

  void heed(Signals signals) {
    if (signals.any()) {
      for (Settled& settled : box_.collect(me_)) {
        if (settled.kind == Settled::Kind::admit) {
          begin(settled.permit);
        }
      }
    }
  }

  const Losing losing_;
  GateBox box_{policy_of(kLimit), 1};
  const Instant end_ = box_.now + kLength;
  Participant me_;
  std::vector<Book::Entry> entries_;
  Book book_;
  std::priority_queue<End> ends_;
  std::uint64_t started_ = 0;
};

TEST(LostPermits, CostNextToNothingWithLeases) {
  Shop whole({.any = false});
  whole.run();
  Shop losing({.any = true});
  losing.run();
  // 32 slots of 11 ms, for all but the last minute at least.
  const double per_second = kLimit / 0.011;
  EXPECT_NEAR(double(whole.served_in_the_last_minute) / 60, per_second, per_second * 0.02);
  EXPECT_GE(double(losing.lost.size()), double(kLength.ns) * 1e-9 * per_second / kOneIn * 0.9);
  // Each is reported once by its name, and nobody else, however slow.
  EXPECT_EQ(losing.reported, std::multiset<std::string>(losing.lost.begin(), losing.lost.end()));
  EXPECT_EQ(losing.wrongly_taken, 0U);
  EXPECT_TRUE(whole.reported.empty());
  EXPECT_EQ(whole.wrongly_taken, 0U);
  // A lease and a round each, of what all slots are worth.
  EXPECT_LE(losing.lost_slot_seconds, double(losing.lost.size()) * 1.063);
  EXPECT_LE(losing.lost_slot_seconds, 0.01 * kLimit * double(kLength.ns) * 1e-9);
  EXPECT_GE(double(losing.served_in_the_last_minute),
            0.99 * double(whole.served_in_the_last_minute));
}

// What they are for: each lost slot is gone for good.
TEST(LostPermits, AreLostForGoodWithoutLeases) {
  Shop losing({.any = true, .leases = false});
  losing.run();
  const double left = kLimit - double(losing.lost.size());
  EXPECT_TRUE(losing.reported.empty());
  EXPECT_NEAR(double(losing.served_in_the_last_minute) / 60, left / 0.011, kLimit / 0.011 * 0.04);
}

}  // namespace
}  // namespace loadline::test
