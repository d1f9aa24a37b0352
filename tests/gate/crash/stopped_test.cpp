// A process that has been stopped, be it in the middle of an operation and with the mutex in hand,
// keeps what it holds and keeps nobody else waiting.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>

#include "aftermath.h"
#include "operations.h"

namespace loadline::crash {
namespace {

std::string wait_for(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  return how_it_ended(status);
}

std::int64_t clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

struct Answers {
  int busy = 0;
  int others = 0;
};

// Everything that somebody else may want meanwhile.
void go_on(Stage& s, Answers& answers) {
  constexpr std::int64_t kBound = 5'000'000'000;  // the locks give up after a few milliseconds
  const std::int64_t begin = clock_ns();
  Person& me = s.survivor();
  const Offer answer = s.offer(me, of(kCritical));
  ++(answer.reason == Reason::busy ? answers.busy : answers.others);
  if (me.permit_count > 1) {
    s.release(me);
  }
  if (answer.kind == Offer::Kind::wait) {
    s.cancel(me, answer.ticket);
  }
  s.tick();
  s.collect(me);
  EXPECT_LT(clock_ns() - begin, kBound);
  EXPECT_LE(s.gate.in_flight(), kLimit);
}

void let_ticks_do_their_work(Stage& s) {
  for (int i = 0; i < 3; ++i) {
    s.tick();
  }
}

// Of an empty seat's account: it must not take what is being changed for what is missing.
void leave_an_audit_to_be_made(Stage& s) {
  s.in_child([&s] { s.attach(s.third()); });
  s.bury(s.third());
}

struct Situation {
  const char* operation;
  bool locks;  // at some of its steps the mutex is held
};

class StoppedAtEveryStore : public testing::TestWithParam<Situation> {};

TEST_P(StoppedAtEveryStore, KeepsNobodyWaiting) {
  const Operation& operation = operation_named(GetParam().operation);
  Stage s;
  Answers answers;
  bool completed = false;
  for (std::uint32_t step = 1; !completed && !HasFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "stopped before step " << step);
    s.begin(operation.policy());
    const pid_t pid = s.child([&] {
      operation.set_up(s);
      leave_an_audit_to_be_made(s);
      s.perform([&] { operation.perform(s); }, step, Fate::stop);
      kill(getpid(), SIGSTOP);  // to be looked at while it holds what it holds
    });
    ASSERT_EQ(wait_for(pid), "stopped");
    completed = s.steps() != 0;
    if (!completed) {
      go_on(s, answers);
      kill(pid, SIGCONT);
      ASSERT_EQ(wait_for(pid), "stopped");
    }
    let_ticks_do_their_work(s);
    EXPECT_EQ(s.what_is_wrong(), "");
    kill(pid, SIGCONT);
    EXPECT_EQ(wait_for(pid), "exit 0");
    let_ticks_do_their_work(s);
    s.bury(s.victim());
    expect_whole(s, 0);
    leave(s);
  }
  EXPECT_EQ(answers.busy > 0, GetParam().locks);
  EXPECT_GT(answers.others, 0);
}

INSTANTIATE_TEST_SUITE_P(
    In, StoppedAtEveryStore,
    testing::Values(Situation{"OfferAtOnce", false}, Situation{"ReleaseWithoutWaiters", false},
                    Situation{"OfferThatDisplaces", true}, Situation{"ReleaseToAll", true},
                    Situation{"CancelOfAGrant", true}, Situation{"SettleOfLate", true},
                    Situation{"Collect", true}, Situation{"TickThatReclaims", true}),
    [](const auto& of) { return std::string(of.param.operation); });

// Two wait, and whoever waits is stopped; then there is room for both.
pid_t stopped_with_grants(Stage& s, const std::function<void()>& afterwards) {
  s.begin();
  for (std::uint32_t i = 0; i < kLimit; ++i) {
    s.start(s.survivor(), of(kCritical));
  }
  const pid_t pid = s.child([&s, afterwards] {
    s.attach(s.victim());
    s.wait(s.victim(), of(kCritical));
    s.wait(s.victim(), of(kCritical));
    kill(getpid(), SIGSTOP);
    afterwards();
  });
  EXPECT_EQ(wait_for(pid), "stopped");
  s.release(s.survivor());
  s.release(s.survivor());
  return pid;
}

void let_time_pass(Stage& s) {
  for (int i = 0; i < 100; ++i) {
    s.tick();
    EXPECT_LE(s.gate.in_flight(), kLimit);
  }
}

TEST(StoppedWithGrants, KeepsOthersAtWorkAndIsToldLater) {
  Stage s;
  const pid_t pid = stopped_with_grants(s, [&s] {
    s.collect(s.victim());
    while (s.victim().permit_count != 0) {
      s.release(s.victim());
    }
  });
  let_time_pass(s);
  s.release(s.survivor());
  s.start(s.survivor(), of(kCritical));
  kill(pid, SIGCONT);
  EXPECT_EQ(wait_for(pid), "exit 0");
  let_ticks_do_their_work(s);
  EXPECT_EQ(s.victim().permit_count, 0U);
  s.bury(s.victim());
  expect_whole(s, 0);
  leave(s);
}

TEST(StoppedWithGrants, AndKilledGivesThemBack) {
  Stage s;
  const pid_t pid = stopped_with_grants(s, [] {});
  let_time_pass(s);
  kill(pid, SIGKILL);
  EXPECT_EQ(wait_for(pid), "killed");
  let_ticks_do_their_work(s);
  s.bury(s.victim());
  EXPECT_EQ(s.gate.in_flight(), 1U);
  expect_whole(s, 0);
  leave(s);
}

}  // namespace
}  // namespace loadline::crash
