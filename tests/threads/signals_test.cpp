// Signals from outside at a Doorkeeper: what a program reports, and what the kernel tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "door_box.h"

namespace loadline::threads::test {
namespace {

using testing::HasSubstr;

Policy with_signal(std::string_view name, double at_most) {
  Policy policy = policy_of(100);
  policy.law = Law::automatic;
  policy.limit_most = 1000;
  EXPECT_TRUE(add_signal(policy, name, at_most));
  return policy;
}

// A clock by which one can tell that the background thread has been round: it asks for the time at
// each of its lanes.
class CountingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    asked_.fetch_add(1);
    return {ns_.load()};
  }
  // And the background thread has seen it, and ticked.
  void pass(Duration time) {
    ns_.fetch_add(time.ns);
    const std::uint64_t twice_round = asked_.load() + 2 * lanes();
    EXPECT_TRUE(within_ten_seconds([&] { return asked_.load() >= twice_round; }));
  }
  // A step of the limit, a look at whether it is in effect, and the rest.
  void pass_a_second() {
    pass(Duration::millis(10));
    pass(Duration::millis(10));
    pass(Duration::millis(980));
  }

 private:
  static std::uint64_t lanes() { return std::max(2 * std::thread::hardware_concurrency(), 8U) + 1; }

  std::atomic<std::int64_t> ns_{1'000'000'000'000};
  mutable std::atomic<std::uint64_t> asked_{0};
};

struct Door {
  explicit Door(const Policy& policy, Options options = {}) {
    options.clock = &clock;
    Opened opened = Doorkeeper::open(policy, options);
    EXPECT_TRUE(opened.door) << opened.error.text.data();
    door = std::move(opened.door);
  }
  [[nodiscard]] std::uint32_t limit() const { return door.snapshot().gate.limit; }

  CountingClock clock;
  Doorkeeper door;
};

// By hand: half above takes a quarter, and twice below gives half as much again.
TEST(Reports, LowerTheLimitAndLetItGo) {
  Door box(with_signal("db_latency", 0.5));
  for (const std::uint32_t expected : {75U, 56U, 42U}) {
    ASSERT_TRUE(box.door.report("db_latency", 0.75));
    box.clock.pass_a_second();
    EXPECT_EQ(box.limit(), expected);
  }
  for (const std::uint32_t expected : {63U, 95U, 100U}) {
    ASSERT_TRUE(box.door.report("db_latency", 0));
    box.clock.pass_a_second();
    EXPECT_EQ(box.limit(), expected);
  }
  EXPECT_FALSE(box.door.report("db", 1));
  EXPECT_FALSE(box.door.report("db_latency", -1));
}

class Kernel : public testing::Test {
 protected:
  Kernel() {
    std::filesystem::create_directories(root_ / "proc/self");
    std::filesystem::create_directories(root_ / "sys/fs/cgroup/api");
    std::ofstream(root_ / "proc/self/cgroup") << "0::/api\n";
    set_stalled(0);
  }
  ~Kernel() override { std::filesystem::remove_all(root_); }

  // In one go, since the background thread may read it at any moment.
  void set_stalled(std::uint64_t us) const {
    const auto path = root_ / "sys/fs/cgroup/api/cpu.pressure";
    std::ofstream(root_ / "next") << "some avg10=0.00 avg60=0.00 avg300=0.00 total=" << us << "\n";
    std::filesystem::rename(root_ / "next", path);
  }
  [[nodiscard]] Options options() const { return {.root = root_text_.c_str()}; }

  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("kernel_of_door." + std::to_string(getpid()));
  const std::string root_text_ = root_.string();
};

// Three quarters of the time, where half of it is right at most: a quarter less each second.
TEST_F(Kernel, TellsOfTheCpu) {
  Door box(with_signal("cpu_pressure", 0.5), options());
  std::uint64_t us = 0;
  const auto pass_a_second = [&](std::uint64_t stalled) {
    us += stalled;
    set_stalled(us);
    box.clock.pass_a_second();
  };
  for (const std::uint32_t expected : {75U, 56U, 42U}) {
    pass_a_second(750'000);
    EXPECT_EQ(box.limit(), expected) << "as soon as it is read";
  }
  std::array<LimitEvent, LimitEvents::kKept> events;
  std::uint64_t next = 0;
  ASSERT_EQ(box.door.limit_events(next, events), 4U);
  EXPECT_EQ(events[1].reason.cause, LimitCause::pressed);
  EXPECT_EQ(events[1].reason.inputs.signal.name_view(), "cpu_pressure");
  EXPECT_NEAR(events[1].reason.inputs.signal.value, 0.75, 1e-4);
  for (const std::uint32_t expected : {63U, 95U, 100U}) {
    pass_a_second(0);
    EXPECT_EQ(box.limit(), expected);
  }
}

TEST_F(Kernel, ThatDoesNotTellIsSaid) {
  std::filesystem::remove(root_ / "sys/fs/cgroup/api/cpu.pressure");
  Opened opened = Doorkeeper::open(with_signal("cpu_pressure", 0.5), options());
  EXPECT_FALSE(opened.door);
  EXPECT_STREQ(opened.error.field, "signals");
  EXPECT_THAT(opened.error.text.data(), HasSubstr("cpu_pressure cannot be read: "));
  Policy fixed = with_signal("cpu_pressure", 0.5);
  fixed.law = Law::fixed;
  EXPECT_TRUE(Doorkeeper::open(fixed, options()).door) << "it is not asked for";
  EXPECT_TRUE(Doorkeeper::open(with_signal("db_latency", 1), options()).door);
}

TEST_F(Kernel, IsAskedFromTheBeginningOrNever) {
  DoorBox box(with_signal("db_latency", 0.5), options());
  const PolicyError error = box.door.reconfigure(with_signal("cpu_pressure", 0.5));
  EXPECT_STREQ(error.field, "signals");
  EXPECT_STREQ(error.text.data(), "an open gate reads cpu_pressure from the beginning or never");
  EXPECT_FALSE(box.door.reconfigure(with_signal("db_latency", 2)).refused());
}

}  // namespace
}  // namespace loadline::threads::test
