// `retries: loadline` in a scenario file, and the settings of the client half as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client_settings.h"
#include "sim_file.h"

namespace loadline::tools {
namespace {

SimFile with_callers(const std::string& keys) {
  return read_sim_text(
      "version: 1\nduration: 60s\nservice: {workers: 1, work: 10ms}\n"
      "callers: {all: {arrivals: {even: 9/s}, " +
          keys + "}}\npolicies: {a: {limit: 1}}\n",
      "");
}

std::string faults_of(const SimFile& file) {
  return file.faults.empty() ? "" : file.faults.front().text;
}

TEST(SimClientHalf, AWordMeansItsDefaults) {
  for (const char* const keys : {"retries: loadline", "retries: {loadline: on}"}) {
    const SimFile file = with_callers(keys);
    ASSERT_EQ(faults_of(file), "");
    const auto& client = file.policies[0].scenario.populations[0].retry.client;
    ASSERT_TRUE(client);
    EXPECT_EQ(client->processes, 20U);
    EXPECT_TRUE(client->idempotent);
    EXPECT_EQ(client->policy.retry.attempts, client::Policy{}.retry.attempts);
    EXPECT_EQ(client->policy.budget.share, client::Policy{}.budget.share);
  }
}

TEST(SimClientHalf, EachSettingIsWhatItSays) {
  const SimFile file = with_callers(
      "patience: 200ms, retries: {loadline: {attempts: 4, processes: 50, within: 2s, idempotent: "
      "off, elsewhere_at_once: off, budget: {share: 12.5%, floor: 0.5/s, timeout_cost: 2, cap: 7}, "
      "breaker: {window: 10s, slow: off, open: 250ms, probes: 2}, throttle: {k: 1.5}, deadline: "
      "{needed: 120%}, backoff: {floor: 0s}}}");
  ASSERT_EQ(faults_of(file), "");
  const sim::ClientHalf& half = *file.policies[0].scenario.populations[0].retry.client;
  EXPECT_EQ(half.processes, 50U);
  EXPECT_EQ(half.deadline, Duration::seconds(2));
  EXPECT_FALSE(half.idempotent);
  const client::Policy& policy = half.policy;
  EXPECT_EQ(policy.retry.attempts, 4);
  EXPECT_FALSE(policy.retry.elsewhere_at_once);
  EXPECT_EQ(policy.budget.share, 125);
  EXPECT_EQ(policy.budget.floor, 500U);
  EXPECT_EQ(policy.budget.timeout_cost, 2000);
  EXPECT_EQ(policy.budget.cap, 7U);
  EXPECT_EQ(policy.breaker.window, Duration::seconds(10));
  EXPECT_EQ(policy.breaker.open, Duration::millis(250));
  EXPECT_EQ(policy.breaker.probes, 2);
  EXPECT_TRUE(policy.throttle.on);
  EXPECT_EQ(policy.throttle.k, 1500);
  EXPECT_EQ(policy.deadline.needed, 1200);
  EXPECT_EQ(policy.backoff.floor, Duration{});
}

// Every setting has a default that is allowed, and what is allowed is sound.
TEST(SimClientHalf, SettingsAreThoseThatThePolicyChecks) {
  for (const std::string_view name : client_settings()) {
    client::Policy policy;
    EXPECT_NE(set_client_setting(policy, name, "nonsense"), "") << name;
    EXPECT_FALSE(validate(policy).refused()) << name;
  }
}

TEST(SimClientHalf, FaultsSayWhatIsAllowed) {
  const std::pair<const char*, const char*> kFaults[] = {
      {"retries: loadlin",
       "key 'callers.all.retries': value 'loadlin': allowed is off, loadline or a map of attempts, "
       "pause, growth, jitter, obeys, after, elsewhere, or of loadline"},
      {"retries: {loadline: {attempts: 0}}",
       "key 'callers.all.retries.loadline.attempts': value '0': allowed is a whole number from 1 "
       "to "
       "100"},
      {"retries: {loadline: {budget: {share: 200%}}}",
       "key 'callers.all.retries.loadline.budget.share': value '200%': allowed is a share from 0% "
       "to 100%"},
      {"retries: {loadline: {breaker: {windw: 1s}}}",
       "key 'callers.all.retries.loadline.breaker.windw': not known; did you mean 'window'?"},
      {"retries: {loadline: {throttle: maybe}}",
       "key 'callers.all.retries.loadline.throttle': value 'maybe': allowed is on or off"},
      {"retries: {loadline: {backoff: {base: 20s}}}",
       "key 'callers.all.retries.loadline.backoff': backoff.cap is 10 s: allowed is 20 s to 1 h"},
      {"retries: {loadline: on, attempts: 3}",
       "key 'callers.all.retries.attempts': not known; known are loadline"},
      {"retries: {loadline: {processes: 0}}",
       "key 'callers.all.retries.loadline.processes': value '0': allowed is a whole number from 1 "
       "to 100000"},
      {"patience: 10us, retries: loadline",
       "key 'callers.all.retries': loadline needs a patience from 1ms to 1h, or none"},
  };
  for (const auto& [keys, fault] : kFaults) {
    EXPECT_EQ(faults_of(with_callers(keys)), fault);
  }
}

TEST(SimClientHalf, OfALinkIsThatOfEachInstance) {
  const auto read = [](const std::string& link) {
    return read_sim_text(
        "version: 1\nduration: 60s\nservices: {a: {work: 1ms, links: {to: b, " + link +
            "}}, b: {work: 1ms}}\ncallers: {all: {arrivals: {even: 9/s}}}\npolicies: {a: {gate: "
            "off}}\n",
        "");
  };
  const SimFile file = read("patience: 20ms, retries: {loadline: {attempts: 2}}");
  ASSERT_EQ(faults_of(file), "");
  const sim::Link& link = file.policies[0].scenario.services[0].links[0];
  ASSERT_TRUE(link.client);
  EXPECT_EQ(link.client->policy.retry.attempts, 2);
  EXPECT_EQ(faults_of(read("attempts: 2, retries: loadline")),
            "key 'services.a.links.attempts': does not go with 'retries: loadline', which says it");
  EXPECT_EQ(
      faults_of(read("retries: off")),
      "key 'services.a.links.retries': value 'off': allowed is loadline, or a map of loadline");
  EXPECT_THAT(faults_of(read("retries: {loadline: {processes: 3}}")),
              testing::HasSubstr("key 'services.a.links.retries.loadline.processes': not known"));
}

}  // namespace
}  // namespace loadline::tools
