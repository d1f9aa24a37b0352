#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "loadline/loadline.h"

namespace {

template <auto Free>
struct With {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using Policy = std::unique_ptr<loadline_policy, With<loadline_policy_free>>;
using Gate = std::unique_ptr<loadline_gate, With<loadline_gate_free>>;
using Caller = std::unique_ptr<loadline_caller, With<loadline_caller_free>>;

template <class Condition>
bool within_ten_seconds(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end && !condition()) {
    std::this_thread::yield();
  }
  return condition();
}

std::string refusal(loadline_policy* policy, const char* key, const char* value) {
  char error[256] = "";
  EXPECT_EQ(loadline_policy_set(policy, key, value, error, sizeof error), 0) << key << value;
  return error;
}

TEST(CPolicy, TakesWhatItSaysItTakes) {
  const Policy policy(loadline_policy_new());
  const char* const good[][2] = {
      {"limit", "auto"},      {"limit_from", "6"},    {"limit_least", "2"},
      {"limit_most", "500"},  {"limit", "1"},         {"limit", "1000000"},
      {"queue", "auto"},      {"queue", "off"},       {"queue", "60000"},
      {"wait", "1ms"},        {"wait", "1h"},         {"wait", "2m"},
      {"retry_after", "1-1"}, {"lease", "off"},       {"lease", "100ms"},
      {"lease", "24h"},       {"class", "a:100%"},    {"class", "b:50%:20%"},
      {"discipline", "fifo"}, {"heavy_share", "1%"},  {"tenants", "off"},
      {"tenants", "100000"},  {"group", "g"},         {"group", "h:1000"},
      {"quota", "off"},       {"quota", "100/1s:20"}, {"quota_keys", "1"},
      {"exempt", "0"},        {"signal", "db:50ms"},  {"signal", "jobs:12"},
      {"class", "c:1%"},      {"default_class", "c"}};
  for (const auto& [key, value] : good) {
    char error[256] = "";
    EXPECT_EQ(loadline_policy_set(policy.get(), key, value, error, sizeof error), 1) << error;
  }
  const Gate gate(loadline_gate_open(policy.get(), nullptr, 0));
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(loadline_gate_class(gate.get(), "c"), 2);
  EXPECT_EQ(loadline_gate_group(gate.get(), "h"), 1);
  EXPECT_EQ(loadline_gate_group(gate.get(), "i"), -1);
}

TEST(CPolicy, RefusesTheRestInWords) {
  const Policy policy(loadline_policy_new());
  const char* const bad[][2] = {
      {"limit", "fixed"},    {"limit_from", "0"},     {"limit_least", "auto"},
      {"limit", "0"},        {"limit", "1000001"},    {"limit", "-1"},
      {"limit", "x"},        {"limit", ""},           {"limit", " 1"},
      {"limit", "1 "},       {"queue", "0"},          {"queue", "60001"},
      {"queue", "on"},       {"wait", "0ms"},         {"wait", "61m"},
      {"wait", "100"},       {"wait", "ms"},          {"wait", "1.5s"},
      {"class", ""},         {"class", "a:0%"},       {"class", "a:50"},
      {"class", "a:50%:"},   {"class", "a:50%:101%"}, {"discipline", "random"},
      {"heavy_share", "50"}, {"tenants", "0"},        {"group", "a:0"},
      {"group", ":1"},       {"quota", "100"},        {"quota", "/1s"},
      {"quota", "1/1s:"},    {"quota", "0/1s"},       {"quota_keys", "0"},
      {"exempt", "1001"},    {"class", ":50%"},       {"default_class", ""},
      {"retry_after", "1"},  {"retry_after", "4-1"},  {"retry_after", "0-1"},
      {"signal", "db"},      {"signal", "db:"},       {"signal", ":5"},
      {"signal", "db:0"},    {"signal", "db:-1"},     {"signal", "db:1h"},
      {"lease", "99ms"},     {"lease", "25h"},        {"wait", "99999999999999999999h"}};
  for (const auto& [key, value] : bad) {
    EXPECT_THAT(refusal(policy.get(), key, value),
                testing::AllOf(testing::HasSubstr(key), testing::HasSubstr(value)));
  }
  EXPECT_THAT(refusal(policy.get(), "limits", "1"), testing::HasSubstr("no key 'limits'"));
  loadline_policy_set(policy.get(), "class", "a", nullptr, 0);
  refusal(policy.get(), "class", "a");
  loadline_policy_set(policy.get(), "signal", "db:1", nullptr, 0);
  EXPECT_EQ(refusal(policy.get(), "signal", "db:2"),
            "signal: 'db:2' is not NAME:VALUE, a new name each time, up to 4 of up to 23 bytes, "
            "with a value above 0 as 20%, 50ms or 12");
}

TEST(CPolicy, AnErrorIsCutToItsBuffer) {
  const Policy policy(loadline_policy_new());
  char error[8];
  std::memset(error, 'x', sizeof error);
  EXPECT_EQ(loadline_policy_set(policy.get(), "limit", "none", error, sizeof error), 0);
  EXPECT_EQ(std::string(error), "limit: ");
  EXPECT_EQ(loadline_policy_set(policy.get(), "limit", "none", nullptr, 100), 0);
  EXPECT_EQ(loadline_policy_set(policy.get(), "limit", "none", error, 0), 0);
}

TEST(CGate, IsRefusedWithFieldAndSentence) {
  const Policy policy(loadline_policy_new());
  char error[256] = "";
  EXPECT_EQ(loadline_gate_open(policy.get(), error, sizeof error), nullptr);
  EXPECT_THAT(error, testing::StartsWith("limit: "));
  loadline_policy_set(policy.get(), "limit", "1", nullptr, 0);
  loadline_policy_set(policy.get(), "default_class", "nobody", nullptr, 0);
  EXPECT_EQ(loadline_gate_open(policy.get(), error, sizeof error), nullptr);
  EXPECT_THAT(error, testing::HasSubstr("'nobody'"));
}

TEST(CGate, HearsWhatIsReported) {
  const Policy policy(loadline_policy_new());
  loadline_policy_set(policy.get(), "limit", "auto", nullptr, 0);
  loadline_policy_set(policy.get(), "limit_from", "100", nullptr, 0);
  loadline_policy_set(policy.get(), "signal", "db_latency:50ms", nullptr, 0);
  const Gate gate(loadline_gate_open(policy.get(), nullptr, 0));
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(loadline_gate_report(gate.get(), "db_latency", 0.075), 1);
  EXPECT_TRUE(within_ten_seconds([&] {
    loadline_numbers numbers = LOADLINE_NUMBERS_INIT;
    loadline_gate_numbers(gate.get(), &numbers);
    return numbers.limit == 75;
  }));
  EXPECT_EQ(loadline_gate_report(gate.get(), "db", 1), 0);
  EXPECT_EQ(loadline_gate_report(gate.get(), "db_latency", -1), 0);
  EXPECT_EQ(loadline_gate_report(gate.get(), nullptr, 1), 0);
  EXPECT_EQ(loadline_gate_report(nullptr, "db_latency", 1), 0);
}

TEST(CGate, FindsItsLimit) {
  const Policy policy(loadline_policy_new());
  loadline_policy_set(policy.get(), "limit", "auto", nullptr, 0);
  loadline_policy_set(policy.get(), "limit_from", "3", nullptr, 0);
  const Gate gate(loadline_gate_open(policy.get(), nullptr, 0));
  ASSERT_NE(gate, nullptr);
  loadline_numbers numbers = LOADLINE_NUMBERS_INIT;
  ASSERT_EQ(loadline_gate_numbers(gate.get(), &numbers), 1);
  EXPECT_STREQ(loadline_law_name(numbers.law), "auto");
  EXPECT_EQ(numbers.limit, 3U);
  EXPECT_EQ(numbers.searching, 1U);
  EXPECT_EQ(numbers.limit_events, 1U);
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  loadline_request request = LOADLINE_REQUEST_INIT;
  ASSERT_EQ(loadline_try_acquire(gate.get(), &request, &answer), LOADLINE_ADMITTED);
  loadline_permit_release(answer.permit, LOADLINE_LATE);
  ASSERT_EQ(loadline_gate_set_limit(gate.get(), 7), 1);
  ASSERT_EQ(loadline_gate_numbers(gate.get(), &numbers), 1);
  EXPECT_STREQ(loadline_law_name(numbers.law), "fixed");
  EXPECT_EQ(numbers.in_flight, 0U);
  EXPECT_EQ(loadline_law_name(UINT32_MAX), nullptr);
}

TEST(CNull, IsHarmlessEverywhere) {
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  loadline_numbers numbers = LOADLINE_NUMBERS_INIT;
  EXPECT_EQ(loadline_policy_set(nullptr, "limit", "1", nullptr, 0), 0);
  loadline_policy_on_expired_lease(nullptr, nullptr, nullptr);
  loadline_policy_free(nullptr);
  EXPECT_EQ(loadline_gate_open(nullptr, nullptr, 0), nullptr);
  loadline_gate_close(nullptr);
  loadline_gate_free(nullptr);
  EXPECT_EQ(loadline_gate_class(nullptr, "critical"), -1);
  EXPECT_EQ(loadline_gate_group(nullptr, "some"), -1);
  EXPECT_EQ(loadline_gate_set_limit(nullptr, 1), 0);
  EXPECT_EQ(loadline_gate_set_mode(nullptr, LOADLINE_ON), 0);
  loadline_gate_set_draining(nullptr, 1);
  loadline_caller_left(nullptr);
  loadline_caller_free(nullptr);
  EXPECT_EQ(loadline_try_acquire(nullptr, nullptr, &answer), LOADLINE_REJECTED);
  EXPECT_EQ(loadline_acquire(nullptr, nullptr, nullptr), LOADLINE_REJECTED);
  EXPECT_EQ(loadline_async_acquire(nullptr, nullptr, nullptr, nullptr), 0);
  loadline_permit_release(nullptr, LOADLINE_SUCCESS);
  EXPECT_EQ(loadline_permit_cancelled(nullptr), 1);
  EXPECT_EQ(loadline_permit_remaining_ns(nullptr), 0);
  EXPECT_EQ(loadline_gate_numbers(nullptr, &numbers), 0);
  EXPECT_EQ(loadline_gate_rejected(nullptr, -1, "limit"), 0U);
}

struct CAsk : testing::Test {
  CAsk() {
    const Policy policy(loadline_policy_new());
    for (const auto& [key, value] : {std::pair{"limit", "1"}, std::pair{"queue", "4"},
                                     std::pair{"wait", "1h"}, std::pair{"lease", "1h"}}) {
      EXPECT_EQ(loadline_policy_set(policy.get(), key, value, nullptr, 0), 1);
    }
    gate.reset(loadline_gate_open(policy.get(), nullptr, 0));
    EXPECT_NE(gate, nullptr);
  }
  ~CAsk() override { loadline_permit_release(holder.permit, LOADLINE_IGNORED); }

  loadline_numbers numbers() const {
    loadline_numbers numbers = LOADLINE_NUMBERS_INIT;
    EXPECT_EQ(loadline_gate_numbers(gate.get(), &numbers), 1);
    return numbers;
  }
  void hold() { ASSERT_EQ(loadline_try_acquire(gate.get(), nullptr, &holder), LOADLINE_ADMITTED); }

  Gate gate;
  loadline_answer holder = LOADLINE_ANSWER_INIT;
};

TEST_F(CAsk, AdmitsAndTurnsAway) {
  hold();
  EXPECT_STREQ(holder.reason, "none");
  EXPECT_EQ(holder.http_status, 0U);
  EXPECT_EQ(loadline_permit_cancelled(holder.permit), 0);
  EXPECT_EQ(loadline_permit_remaining_ns(holder.permit), INT64_MAX);
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  EXPECT_EQ(loadline_try_acquire(gate.get(), nullptr, &answer), LOADLINE_REJECTED);
  EXPECT_EQ(answer.permit, nullptr);
  EXPECT_STREQ(answer.reason, "limit");
  EXPECT_EQ(answer.http_status, 503U);
  EXPECT_GE(answer.retry_after_s, 1U);
  EXPECT_NE(std::strlen(answer.words), 0U);
  EXPECT_EQ(loadline_gate_rejected(gate.get(), -1, "limit"), 1U);
  EXPECT_EQ(loadline_gate_rejected(gate.get(), 1, "limit"), 1U);
  EXPECT_EQ(loadline_gate_rejected(gate.get(), 0, "limit"), 0U);
  EXPECT_EQ(numbers().admitted, 1U);
  EXPECT_EQ(numbers().rejected, 1U);
  EXPECT_EQ(numbers().in_flight, 1U);
}

TEST_F(CAsk, TheRequestIsRead) {
  loadline_request request = LOADLINE_REQUEST_INIT;
  request.patience_ns = 0;
  request.importance = 9999;
  EXPECT_EQ(loadline_acquire(gate.get(), &request, &holder), LOADLINE_REJECTED);
  EXPECT_STREQ(holder.reason, "deadline_expired");
  EXPECT_EQ(holder.http_status, 504U);
  EXPECT_EQ(holder.retry_after_s, 0U);
  EXPECT_EQ(loadline_gate_rejected(gate.get(), 3, "deadline_expired"), 1U);
  request.patience_ns = 3'600'000'000'000;
  ASSERT_EQ(loadline_acquire(gate.get(), &request, &holder), LOADLINE_ADMITTED);
  EXPECT_GT(loadline_permit_remaining_ns(holder.permit), 0);
  EXPECT_LE(loadline_permit_remaining_ns(holder.permit), 3'600'000'000'000);
}

// A program that was built when the structs were shorter, or that forgot to say their size.
TEST_F(CAsk, KnowsNoMoreThanTheProgram) {
  loadline_request request = LOADLINE_REQUEST_INIT;
  request.patience_ns = 0;
  request.size = offsetof(loadline_request, patience_ns);
  ASSERT_EQ(loadline_try_acquire(gate.get(), &request, &holder), LOADLINE_ADMITTED)
      << "a patience that it does not know of is not read";
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  answer.size = offsetof(loadline_answer, http_status);
  answer.http_status = 7;
  EXPECT_EQ(loadline_try_acquire(gate.get(), nullptr, &answer), LOADLINE_REJECTED);
  EXPECT_EQ(answer.http_status, 7U);
  EXPECT_STREQ(answer.reason, "limit");
  EXPECT_EQ(answer.size, offsetof(loadline_answer, http_status));
  loadline_permit_release(std::exchange(holder.permit, nullptr), LOADLINE_SUCCESS);
  answer.size = 0;
  EXPECT_EQ(loadline_try_acquire(gate.get(), nullptr, &answer), LOADLINE_REJECTED);
  EXPECT_EQ(numbers().in_flight, 0U) << "no permit is made that nobody could give back";
}

TEST_F(CAsk, ABlockedThreadStartsOrHearsThatItsCallerLeft) {
  hold();
  const Caller caller(loadline_caller_new());
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  const auto ask = [&] {
    return std::thread([&] {
      loadline_request request = LOADLINE_REQUEST_INIT;
      request.caller = caller.get();
      loadline_acquire(gate.get(), &request, &answer);
    });
  };
  std::thread starts = ask();
  ASSERT_TRUE(within_ten_seconds([&] { return numbers().waiting == 1; }));
  loadline_permit_release(std::exchange(holder.permit, nullptr), LOADLINE_SUCCESS);
  starts.join();
  ASSERT_EQ(answer.kind, LOADLINE_ADMITTED);
  std::swap(holder.permit, answer.permit);
  std::thread leaves = ask();
  ASSERT_TRUE(within_ten_seconds([&] { return numbers().waiting == 1; }));
  loadline_caller_left(caller.get());
  leaves.join();
  EXPECT_EQ(answer.kind, LOADLINE_CANCELLED);
  EXPECT_EQ(loadline_permit_cancelled(holder.permit), 1);
}

struct Heard {
  static void callback(const loadline_answer* answer, void* user) {
    auto* const heard = static_cast<Heard*>(user);
    heard->answer = *answer;
    heard->times.fetch_add(1);
  }
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  std::atomic<int> times{0};
};

TEST_F(CAsk, CallsBackOnce) {
  Heard at_once;
  Heard granted;
  Heard left;
  const Caller caller(loadline_caller_new());
  loadline_request request = LOADLINE_REQUEST_INIT;
  EXPECT_EQ(loadline_async_acquire(gate.get(), nullptr, Heard::callback, &at_once), 1);
  ASSERT_EQ(at_once.times, 1);
  EXPECT_EQ(loadline_async_acquire(gate.get(), nullptr, Heard::callback, &granted), 1);
  request.caller = caller.get();
  EXPECT_EQ(loadline_async_acquire(gate.get(), &request, Heard::callback, &left), 1);
  EXPECT_EQ(numbers().waiting, 2U);
  loadline_caller_left(caller.get());
  EXPECT_EQ(numbers().waiting, 1U);
  ASSERT_TRUE(within_ten_seconds([&] { return left.times == 1; }));
  EXPECT_EQ(left.answer.kind, LOADLINE_CANCELLED);
  EXPECT_STREQ(left.answer.reason, "none");
  loadline_permit_release(at_once.answer.permit, LOADLINE_FAILURE);
  ASSERT_TRUE(within_ten_seconds([&] { return granted.times == 1; }));
  EXPECT_EQ(granted.answer.kind, LOADLINE_ADMITTED);
  gate.reset();
  loadline_permit_release(granted.answer.permit, 99);
}

TEST_F(CAsk, ClosingTellsWhoWaits) {
  hold();
  Heard heard;
  loadline_async_acquire(gate.get(), nullptr, Heard::callback, &heard);
  loadline_gate_close(gate.get());
  ASSERT_TRUE(within_ten_seconds([&] { return heard.times == 1; }));
  EXPECT_STREQ(heard.answer.reason, "draining");
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  loadline_acquire(gate.get(), nullptr, &answer);
  EXPECT_EQ(loadline_gate_rejected(gate.get(), -1, "draining"), 1U);
  EXPECT_EQ(numbers().rejected, 1U);
}

TEST_F(CAsk, IsSteered) {
  hold();
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  EXPECT_EQ(loadline_gate_set_limit(gate.get(), 0), 0);
  EXPECT_EQ(loadline_gate_set_limit(gate.get(), 2), 1);
  EXPECT_EQ(numbers().limit, 2U);
  EXPECT_EQ(loadline_gate_set_mode(gate.get(), 3), 0);
  EXPECT_EQ(loadline_gate_set_limit(gate.get(), 1), 1);
  EXPECT_EQ(loadline_gate_set_mode(gate.get(), LOADLINE_OBSERVE), 1);
  ASSERT_EQ(loadline_try_acquire(gate.get(), nullptr, &answer), LOADLINE_ADMITTED);
  loadline_permit_release(answer.permit, LOADLINE_SUCCESS);
  EXPECT_EQ(loadline_gate_set_mode(gate.get(), LOADLINE_ON), 1);
  loadline_gate_set_draining(gate.get(), 1);
  loadline_try_acquire(gate.get(), nullptr, &answer);
  EXPECT_STREQ(answer.reason, "draining");
}

TEST(CQuota, CountsByKeyAndLetsTheExemptPass) {
  const Policy policy(loadline_policy_new());
  loadline_policy_set(policy.get(), "limit", "9", nullptr, 0);
  loadline_policy_set(policy.get(), "quota", "1/1h", nullptr, 0);
  const Gate gate(loadline_gate_open(policy.get(), nullptr, 0));
  const auto ask = [&](const char* key, std::uint32_t exempt) {
    loadline_request request = LOADLINE_REQUEST_INIT;
    request.quota = key;
    request.exempt = exempt;
    loadline_answer answer = LOADLINE_ANSWER_INIT;
    loadline_acquire(gate.get(), &request, &answer);
    loadline_permit_release(answer.permit, LOADLINE_SUCCESS);
    return answer.kind == LOADLINE_ADMITTED ? 200U : answer.http_status;
  };
  EXPECT_EQ(ask("somebody", 0), 200U);
  EXPECT_EQ(ask("somebody", 0), 429U);
  EXPECT_EQ(ask("somebody", 1), 200U);
  EXPECT_EQ(ask("somebody else", 0), 200U);
  EXPECT_EQ(ask("", 0), 200U);
  EXPECT_EQ(ask(nullptr, 0), 200U);
}

TEST(CLease, IsReportedByName) {
  struct Report {
    std::string name;
    std::uint32_t importance = 0;
    std::int64_t held_ns = 0;
    std::atomic<bool> came{false};
  } report;
  const Policy policy(loadline_policy_new());
  loadline_policy_set(policy.get(), "limit", "1", nullptr, 0);
  loadline_policy_set(policy.get(), "lease", "100ms", nullptr, 0);
  loadline_policy_on_expired_lease(
      policy.get(),
      [](const char* name, std::uint32_t importance, std::int64_t held_ns, void* user) {
        auto* const out = static_cast<Report*>(user);
        out->name = name;
        out->importance = importance;
        out->held_ns = held_ns;
        out->came.store(true);
      },
      &report);
  const Gate gate(loadline_gate_open(policy.get(), nullptr, 0));
  loadline_request request = LOADLINE_REQUEST_INIT;
  request.name = "GET /report";
  loadline_answer answer = LOADLINE_ANSWER_INIT;
  ASSERT_EQ(loadline_try_acquire(gate.get(), &request, &answer), LOADLINE_ADMITTED);
  ASSERT_TRUE(within_ten_seconds([&] { return report.came.load(); }));
  EXPECT_EQ(report.name, "GET /report");
  EXPECT_EQ(report.importance, 1U);
  EXPECT_GE(report.held_ns, 100'000'000);
  EXPECT_EQ(loadline_permit_cancelled(answer.permit), 1);
  loadline_permit_release(answer.permit, LOADLINE_SUCCESS);
  loadline_numbers numbers = LOADLINE_NUMBERS_INIT;
  loadline_gate_numbers(gate.get(), &numbers);
  EXPECT_EQ(numbers.leases_expired, 1U);
  EXPECT_EQ(numbers.returned_late, 1U);
}

TEST(CNames, EndWithNull) {
  EXPECT_STREQ(loadline_reason_name(0), "none");
  std::uint32_t count = 0;
  while (loadline_reason_name(count) != nullptr) {
    ++count;
  }
  EXPECT_GE(count, 10U);
  EXPECT_EQ(loadline_reason_name(UINT32_MAX), nullptr);
}

TEST(CVersion, IsOneAndTheSame) {
  const std::uint32_t version = loadline_version();
  EXPECT_EQ(std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                std::to_string(version % 100),
            loadline_version_string());
}

}  // namespace
