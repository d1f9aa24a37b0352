// Callbacks: each exactly once, and never in somebody else's way.
#include <future>
#include <optional>

#include "door_box.h"

namespace loadline::threads::test {
namespace {

// What a callback was given, and where.
class Heard {
 public:
  auto callback() {
    return [this, once = std::make_unique<int>(0)](Answer answer) {
      answer_ = std::move(answer);
      thread_ = std::this_thread::get_id();
      times_.fetch_add(1);
    };
  }
  [[nodiscard]] bool comes() const {
    return within_ten_seconds([&] { return times() == 1; });
  }
  [[nodiscard]] int times() const { return times_.load(); }
  Answer& answer() { return *answer_; }
  [[nodiscard]] bool here() const { return thread_ == std::this_thread::get_id(); }

 private:
  std::optional<Answer> answer_;
  std::thread::id thread_;
  std::atomic<int> times_{0};
};

struct Async : testing::Test {
  DoorBox box{policy_of(1, QueueSize::at_most(8), kLongBudget)};
  Doorkeeper& door = box.door;
  Heard heard;
};

TEST_F(Async, IsCalledAtOnceByTheCallerWhenItFits) {
  Waiting waiting = door.async_acquire(door.request(), heard.callback());
  ASSERT_EQ(heard.times(), 1);
  EXPECT_TRUE(heard.answer());
  EXPECT_TRUE(heard.here());
  EXPECT_FALSE(waiting.cancel()) << "it does not wait";
  EXPECT_TRUE(heard.answer().permit.held());
}

TEST_F(Async, IsCalledAtOnceByTheCallerWhenItIsTurnedAway) {
  const Answer holder = door.try_acquire(door.request());
  Request request = door.request();
  request.may_wait = false;
  door.async_acquire(request, heard.callback());
  ASSERT_EQ(heard.times(), 1);
  EXPECT_EQ(heard.answer().rejection.reason, Reason::limit);
}

TEST_F(Async, IsCalledByTheBackgroundThreadWhenItWaited) {
  Answer holder = door.try_acquire(door.request());
  Waiting waiting = door.async_acquire(door.request(), heard.callback());
  EXPECT_EQ(heard.times(), 0);
  holder.permit.succeed();
  ASSERT_TRUE(heard.comes());
  EXPECT_TRUE(heard.answer());
  EXPECT_FALSE(heard.here());
  EXPECT_FALSE(waiting.cancel());
  EXPECT_EQ(heard.times(), 1);
}

TEST_F(Async, IsRefusedWhenItsTimeHasPassed) {
  const Answer holder = door.try_acquire(door.request());
  door.async_acquire(door.request(), heard.callback());
  box.clock.pass(kLongBudget);
  ASSERT_TRUE(heard.comes());
  EXPECT_EQ(heard.answer().rejection.reason, Reason::queue_timeout);
}

TEST_F(Async, CancellingFreesThePlaceAtOnceAndIsTold) {
  const Answer holder = door.try_acquire(door.request());
  Waiting waiting = door.async_acquire(door.request(), heard.callback());
  Waiting copy = waiting;
  EXPECT_TRUE(waiting.cancel());
  EXPECT_EQ(door.snapshot().gate.waiting, 0U);
  EXPECT_FALSE(copy.cancel());
  ASSERT_TRUE(heard.comes());
  EXPECT_EQ(heard.answer().kind, Answer::Kind::cancelled);
}

TEST_F(Async, ACallerWhoLeavesCancels) {
  const Answer holder = door.try_acquire(door.request());
  std::stop_source caller;
  door.async_acquire(door.request(), heard.callback(), caller.get_token());
  caller.request_stop();
  EXPECT_EQ(door.snapshot().gate.waiting, 0U);
  ASSERT_TRUE(heard.comes());
  EXPECT_EQ(heard.answer().kind, Answer::Kind::cancelled);
  Heard too_late;
  door.async_acquire(door.request(), too_late.callback(), caller.get_token());
  EXPECT_EQ(too_late.answer().kind, Answer::Kind::cancelled);
}

TEST_F(Async, ACallbackMayAskAgainAndGiveBack) {
  Answer holder = door.try_acquire(door.request());
  std::promise<bool> again;
  door.async_acquire(door.request(), [&](Answer answer) {
    answer.permit.succeed();
    door.async_acquire(door.request(), [&](Answer next) { again.set_value(bool(next)); });
  });
  holder.permit.succeed();
  EXPECT_TRUE(again.get_future().get());
}

TEST_F(Async, TheEndTellsEverybodyWhoWaits) {
  Answer holder = door.try_acquire(door.request());
  Waiting waiting = door.async_acquire(door.request(), heard.callback());
  door = Doorkeeper();
  ASSERT_EQ(heard.times(), 1);
  EXPECT_EQ(heard.answer().rejection.reason, Reason::draining);
  EXPECT_FALSE(waiting.cancel()) << "also when the Doorkeeper is gone";
}

// Leaving, being granted and closing meet at random; every callback is called once, and every
// permit comes back.
TEST(AsyncRace, EveryCallbackIsCalledOnce) {
  constexpr int kRounds = 2'000;
  DoorBox box(policy_of(1, QueueSize::at_most(64), kLongBudget));
  std::atomic<int> called{0};
  for (int round = 0; round < kRounds; ++round) {
    Answer holder = box.door.acquire(box.door.request());
    ASSERT_TRUE(holder);
    std::stop_source caller;
    std::thread leaver([&] { caller.request_stop(); });
    Waiting waiting = box.door.async_acquire(
        box.door.request(), [&](Answer) { called.fetch_add(1); }, caller.get_token());
    std::thread canceller([&] { waiting.cancel(); });
    holder.permit.succeed();
    leaver.join();
    canceller.join();
  }
  EXPECT_TRUE(within_ten_seconds([&] { return called.load() == kRounds; }));
  EXPECT_TRUE(within_ten_seconds([&] { return box.door.snapshot().gate.in_flight == 0; }));
}

}  // namespace
}  // namespace loadline::threads::test
