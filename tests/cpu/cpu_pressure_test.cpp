// What is made of the kernel's files: on copies of them that the test writes.
#include "loadline/cpu_pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace loadline {
namespace {

using testing::HasSubstr;

// As in the kernel's Documentation/accounting/psi.rst, and as a machine shows it.
constexpr const char* kPressure =
    "some avg10=12.35 avg60=4.01 avg300=0.93 total=157656722\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
constexpr const char* kStat =
    "usage_usec 8217359\n"
    "user_usec 6098237\n"
    "system_usec 2119121\n"
    "nr_periods 412\n"
    "nr_throttled 37\n"
    "throttled_usec 2134455\n"
    "nr_bursts 0\n"
    "burst_usec 0\n";

TEST(CpuPressureText, IsAsTheKernelWritesIt) {
  EXPECT_EQ(CpuPressure::stalled_us(kPressure), 157656722U);
  EXPECT_EQ(CpuPressure::stalled_us("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), 0U);
  EXPECT_EQ(CpuPressure::stalled_us("some avg10=0.00 avg60=0.00 avg300=0.00 total=7"), 7U)
      << "without the end of the line";
  const auto periods = CpuPressure::periods_of(kStat);
  ASSERT_TRUE(periods);
  EXPECT_EQ(periods->all, 412U);
  EXPECT_EQ(periods->throttled, 37U);
  EXPECT_EQ(CpuPressure::cgroup_of("0::/system.slice/api.service\n"), "/system.slice/api.service");
  EXPECT_EQ(CpuPressure::cgroup_of("0::/\n"), "/");
  EXPECT_EQ(CpuPressure::cgroup_of("12:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/c d\n"), "/c d")
      << "both versions side by side";
}

TEST(CpuPressureText, WhatIsNotThereIsNone) {
  for (const char* text :
       {"", "\n", "some", "some ", "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00\n", "some total=\n", "some total=-1\n",
        "some total=1e3\n", "some total=99999999999999999999\n", "some total= 1\n", "sometotal=1\n",
        "some\ntotal=1\n"}) {
    EXPECT_EQ(CpuPressure::stalled_us(text), std::nullopt) << text;
  }
  for (const char* text : {"", "usage_usec 8\nuser_usec 6\nsystem_usec 2\n", "nr_periods 4\n",
                           "nr_throttled 4\n", "nr_periods x\nnr_throttled 4\n",
                           "nr_periods 4 \nnr_throttled 4\n", "nr_periods\nnr_throttled\n"}) {
    EXPECT_FALSE(CpuPressure::periods_of(text)) << text;
  }
  for (const char* text : {"", "0::\n", "12:cpu,cpuacct:/a\n1:name=systemd:/b\n", "00::/a\n",
                           " 0::/a\n", "0:cpu:/a\n"}) {
    EXPECT_EQ(CpuPressure::cgroup_of(text), std::nullopt) << text;
  }
}

// Cut off and changed at any place: a number or none, and nothing is read beyond the end.
TEST(CpuPressureText, OfAnyKindIsRead) {
  std::mt19937 random(1);
  const std::string originals[] = {kPressure, kStat, "12:cpu,cpuacct:/a\n0::/c/d\n"};
  for (int i = 0; i < 100'000; ++i) {
    std::string text = originals[random() % 3];
    for (unsigned changes = random() % 4; changes > 0; --changes) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    // Memory of exactly its size.
    const std::vector<char> exact(text.begin(),
                                  text.begin() + static_cast<long>(random() % (text.size() + 1)));
    const std::string_view view(exact.data(), exact.size());
    CpuPressure::stalled_us(view);
    CpuPressure::periods_of(view);
    const auto path = CpuPressure::cgroup_of(view);
    EXPECT_TRUE(!path || path->front() == '/');
  }
}

class CpuPressureFiles : public testing::Test {
 protected:
  CpuPressureFiles() {
    std::filesystem::create_directories(root_ / "proc/self");
    std::filesystem::create_directories(group_);
    write("proc/self/cgroup", "0::/api.service\n");
  }
  ~CpuPressureFiles() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::ofstream(root_ / path) << text;
  }
  void pressure(std::uint64_t total) const {
    write("sys/fs/cgroup/api.service/cpu.pressure",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(total) +
              "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  }
  void stat(int periods, int throttled) const {
    write("sys/fs/cgroup/api.service/cpu.stat",
          "usage_usec 1\nnr_periods " + std::to_string(periods) + "\nnr_throttled " +
              std::to_string(throttled) + "\nthrottled_usec 5\n");
  }
  std::string open(std::initializer_list<std::string_view> signals) {
    Policy policy;
    for (const std::string_view name : signals) {
      add_signal(policy, name, 0.5);
    }
    return cpu_.open(policy, root_.c_str(), now_).text.data();
  }
  CpuPressure::Shares after(Duration time) {
    now_ = now_ + time;
    return cpu_.read(now_);
  }

  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("cpu_pressure." + std::to_string(getpid()));
  const std::filesystem::path group_ = root_ / "sys/fs/cgroup/api.service";
  CpuPressure cpu_;
  Instant now_{1'000'000'000};
};

TEST_F(CpuPressureFiles, GiveTheShareSinceTheLastReading) {
  pressure(1'000'000);
  stat(100, 10);
  ASSERT_EQ(open({"cpu_pressure", "cpu_throttled"}), "");
  pressure(1'250'000);
  stat(110, 13);
  const auto first = after(Duration::seconds(1));
  EXPECT_DOUBLE_EQ(first.pressure, 0.25);
  EXPECT_DOUBLE_EQ(first.throttled, 0.3);
  pressure(1'300'000);
  const auto second = after(Duration::millis(500));
  EXPECT_DOUBLE_EQ(second.pressure, 0.1);
  EXPECT_EQ(second.throttled, 0) << "no period has begun";
  pressure(9'000'000);
  EXPECT_EQ(after(Duration::seconds(1)).pressure, 1) << "more than there can be";
}

TEST_F(CpuPressureFiles, SayNothingOfWhatIsNotKnown) {
  pressure(1000);
  ASSERT_EQ(open({"cpu_pressure"}), "");
  EXPECT_LT(after(Duration{}).pressure, 0) << "no time has passed";
  pressure(500);
  EXPECT_LT(after(Duration::seconds(1)).pressure, 0) << "a counter that goes back is another's";
  pressure(600);
  EXPECT_GE(after(Duration::seconds(1)).pressure, 0);
  std::filesystem::remove(group_ / "cpu.pressure");
  EXPECT_LT(after(Duration::seconds(1)).pressure, 0) << "it has gone";
  pressure(700'000);
  EXPECT_LT(after(Duration::seconds(1)).pressure, 0) << "there is nothing to compare with";
  pressure(800'000);
  EXPECT_DOUBLE_EQ(after(Duration::seconds(1)).pressure, 0.1);
  EXPECT_LT(after(Duration::seconds(1)).throttled, 0) << "nobody has asked for it";
  CpuPressure closed;
  EXPECT_LT(closed.read(now_).pressure, 0);
}

TEST_F(CpuPressureFiles, OfTheRootAreFoundToo) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.pressure", kPressure);
  EXPECT_EQ(open({"cpu_pressure"}), "");
}

TEST_F(CpuPressureFiles, BesideTreesOfVersion1AreFoundToo) {
  write("proc/self/cgroup", "4:cpu:/\n0::/api.service\n");
  pressure(1);
  std::filesystem::create_directories(root_ / "sys/fs/cgroup/unified/api.service");
  EXPECT_THAT(open({"cpu_pressure"}), HasSubstr("No such file or directory: " + root_.string() +
                                                "/sys/fs/cgroup/unified/api.service/cpu.pressure"));
  write("sys/fs/cgroup/unified/api.service/cpu.pressure", kPressure);
  EXPECT_EQ(open({"cpu_pressure"}), "");
}

TEST_F(CpuPressureFiles, ThatAreMissingAreNamed) {
  EXPECT_EQ(open({"cpu_pressure"}), "cpu_pressure cannot be read: No such file or directory: " +
                                        group_.string() + "/cpu.pressure");
  write("sys/fs/cgroup/api.service/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
  EXPECT_EQ(open({"cpu_throttled"}), "cpu_throttled cannot be read: it is not in the file: " +
                                         group_.string() + "/cpu.stat");
  write("sys/fs/cgroup/api.service/cpu.pressure", "");
  EXPECT_THAT(open({"cpu_pressure"}), HasSubstr("it is not in the file: "));
  write("proc/self/cgroup", "4:cpu:/\n");
  EXPECT_THAT(open({"cpu_pressure"}), HasSubstr("names no cgroup of version 2"));
  write("proc/self/cgroup", "0::/" + std::string(1100, 'a') + "\n");
  EXPECT_THAT(open({"cpu_pressure"}), HasSubstr("too long"));
  write("proc/self/cgroup", "0::/" + std::string(600, 'a') + "\n");
  EXPECT_THAT(open({"cpu_pressure"}), testing::EndsWith("aaa..."));
  std::filesystem::remove(root_ / "proc/self/cgroup");
  EXPECT_THAT(open({"cpu_pressure"}),
              HasSubstr("No such file or directory: " + root_.string() + "/proc/self"));
  EXPECT_LT(after(Duration::seconds(1)).pressure, 0);
}

}  // namespace
}  // namespace loadline
