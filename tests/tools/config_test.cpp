#include "config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config_policy.h"

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Values = std::vector<std::string>;

struct Samples {
  Values good;
  Values bad;
};

// What breaks out of a configuration that pastes it in unquoted, or is read differently by nginx.
const Values kHostile{"\"",     "'",  "a;b", "a b", "a\nb", "$host",
                      "a}",     "{",  "#",   "\\",  "a\rb", std::string("a\0b", 3),
                      "8080;#", "1;", " 1",  "1 ",  "\x7f", "`id`"};

const std::map<std::string_view, Samples>& samples() {
  static const std::map<std::string_view, Samples> all{
      {"listen",
       {{"8080", "0.0.0.0:80", "[::1]:8080"}, {"0", "65536", "host:80", "::1:80", "off"}}},
      {"upstream",
       {{"http://127.0.0.1:9000", "http://h", "https://h:8443", "h:1", "9000", "http://[::1]:90",
         "unix:/run/app.sock", "http://h:9000/", "my_app:3000"},
        {"http://h/x", "http://h:9000/x", "ftp://h", "h", "http://", "http://h:0", "http://h:99999",
         "unix:relative", "unix:/a b", "unix:/a:/b", "http://u:p@h", "http://[::1", "h:9000/",
         std::string("http://[::1\0;x]:1", 17)}}},
      {"upstream_ca", {{"system", "off", "/etc/ca.pem"}, {"a$b"}}},
      {"upstream_name", {{"off", "api.example.com"}, {"a/b", "-x", "a:1"}}},
      {"limit",
       {{"1", "64", "1000000", "auto"},
        {"0", "1000001", "abc", "-1", "1.5", "0x10", "1e3", "+1", "fixed", "Auto", ""}}},
      {"limit.law", {{"auto"}, {"fixed", "64", "", "best"}}},
      {"limit.from", {{"1", "1000000"}, {"0", "1000001", "auto"}}},
      {"limit.at_least", {{"1", "1000000"}, {"0", "1000001", "off"}}},
      {"limit.at_most", {{"1", "1000000"}, {"0", "1000001", "off"}}},
      {"limit.signals",
       {{"cpu_pressure:20%", "db_latency:50ms", "jobs:12.5"},
        {"a", "a:", ":5%", "a:0", "a:-1", "a:x", "a:1h", "a/b:5", "a:5:5",
         "a_name_of_24_characters_:1"}}},
      {"queue", {{"auto", "off", "1", "60000"}, {"0", "60001", "on", "many"}}},
      {"wait", {{"1ms", "100ms", "1.5s", "1h"}, {"0", "100", "1.5ms", "2h", "-1s", "500us"}}},
      {"classes", {{"critical", "a.b-c_d", "batch:80%"}, {"a:0%", "a:101%", "a:80", "a:", ":5%"}}},
      {"order", {{"adaptive", "fifo", "lifo"}, {"", "off", "FIFO", "random"}}},
      {"guarantees",
       {{"critical:1%", "a.b-c_d:90%"}, {"a", "a:", "a:0%", "a:91%", "a:5", ":5%", "a/b:5%", "%"}}},
      {"weight_header", {{"off", "X-Weight"}, {"Host", "X:Y"}}},
      {"heavy", {{"1%", "100%"}, {"0%", "101%", "50", "%", "off"}}},
      {"tenants.number", {{"off", "1", "100000"}, {"0", "100001", "-1", "many"}}},
      {"tenants.key",
       {{"address", "header X-Tenant", "header Authorization", "header a_b"},
        {"", "off", "header", "header ", "header X Y", "header  X", "header X:Y", "X-Tenant",
         "header $x", "header " + std::string(65, 'a')}}},
      {"quota.rate",
       {{"off", "100r/s", "600r/m", "1000000r/h"},
        {"100", "100/s", "0r/s", "1000001r/h", "1.5r/s", "100r/d", "100r/", "r/s", "1r/ss"}}},
      {"quota.burst", {{"1", "1000000"}, {"0", "1000001", "off"}}},
      {"quota.key", {{"address", "header X-Api-Key"}, {"header", "key X", "header X;Y"}}},
      {"quota.keys", {{"1", "1000000"}, {"0", "1000001", "off"}}},
      {"reject.retry_after",
       {{"1-32", "5-5", "1-3600"},
        {"5", "0-5", "5-4", "1-3601", "1-2-3", "1s-2s", "-5", "5-", "-"}}},
      {"default_class", {{"off", "critical"}, {"a/b", std::string(32, 'a')}}},
      {"observe", {{"on", "off", "true", "false"}, {"yes", "1", "ON"}}},
      {"exempt",
       {{"/", "/healthz", "/a/b-c_d.e~f@g:h"},
        {"healthz", "/a%2fb", "/a?b", "/a/../b", "/a/.", "/a*", "/a|b"}}},
      {"deadline.default", {{"off", "1ms", "2s"}, {"0", "2", "2h"}}},
      {"deadline.header", {{"off", "X-Deadline-Ms"}, {"Host", "connection", "X:Y", "X.Y"}}},
      {"class_header", {{"off", "X-Class"}, {"HOST", "x-forwarded-for", "X/Y"}}},
      {"trusted",
       {{"10.0.0.0/8", "192.168.1.1", "fd00::/8", "::1"},
        {"10.0.0.0/33", "::/129", "host", "10.0.0", "10.0.0.0/", "10.0.0.0/-1"}}},
      {"reject.status", {{"400", "429", "503", "599"}, {"399", "600", "ok"}}},
      {"reject.body", {{"", "busy\n", "{\"error\": \"busy\"}", "$5; it's \\ {}"}, {"\x1b[31m"}}},
      {"reject.type",
       {{"text/plain", "application/problem+json", "text/plain; charset=utf-8"},
        {"text", "text/", "text/plain; q=1", "text/plain;"}}},
      {"admin", {{"off", "8081", "0.0.0.0:8081"}, {"on", "0"}}},
      {"metrics", {{"off", "9100"}, {"on", "0"}}},
      {"workers", {{"auto", "1", "32"}, {"0", "33", "off"}}},
      {"access_log", {{"off", "/var/log/a.log", "/dev/stdout", "a b"}, {"/log/$host"}}},
      {"drain_timeout", {{"0", "30s", "1h"}, {"30", "2h", "off"}}}};
  return all;
}

// These hold free text, which the generator quotes; blanks and more are theirs to have.
bool is_free_text(std::string_view key) {
  return key == "reject.body" || key == "access_log" || key == "upstream_ca";
}

TEST(ConfigKeys, EachHasSamples) {
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(samples().contains(key.name)) << key.name;
  }
}

TEST(ConfigKeys, TakeWhatIsAllowed) {
  for (const auto& [name, sample] : samples()) {
    for (const std::string& value : sample.good) {
      Config config = default_config();
      EXPECT_TRUE(find_config_key(name)->set(config, value)) << name << " = " << value;
    }
  }
}

TEST(ConfigKeys, RefuseWhatIsNot) {
  for (const auto& [name, sample] : samples()) {
    for (const std::string& value : sample.bad) {
      Config config = default_config();
      EXPECT_FALSE(find_config_key(name)->set(config, value)) << name << " = " << value;
    }
  }
}

TEST(ConfigKeys, RefuseWhatWouldBreakOutOfNginx) {
  for (const ConfigKey& key : config_keys()) {
    for (const std::string& value : kHostile) {
      Config config = default_config();
      if (!is_free_text(key.name)) {
        EXPECT_FALSE(key.set(config, value)) << key.name << " = " << value;
      }
    }
  }
}

// What it says would be misread as milliseconds or as a class, and what it meant would be lost.
TEST(ConfigKeys, AHeaderThatMeansSomethingElseIsNotTaken) {
  for (const char* name : {"grpc-timeout",
                           "Grpc-Status",
                           "GRPC_TIMEOUT",
                           "Authorization",
                           "Date",
                           "x-envoy-expected-rq-timeout-ms",
                           "HTTP2-Settings",
                           "Cookie",
                           "Via",
                           "Accept",
                           "Range",
                           "If-Match",
                           "Content-MD5",
                           "Content-Odd",
                           "TE",
                           "Proxy",
                           "X_Forwarded_For",
                           "X-Forwarded-Port",
                           "X-Accel-Redirect",
                           "Sec-WebSocket-Key",
                           "User-Agent",
                           "traceparent",
                           "X-Request-Id"}) {
    EXPECT_FALSE(is_header_name(name)) << name;
    for (const char* key : {"deadline.header", "class_header"}) {
      Config config = default_config();
      EXPECT_THAT(*give(config, *find_config_key(key), Values{name}),
                  HasSubstr("none that has a meaning already"));
    }
  }
  for (const char* name : {"X-Deadline-Ms", "X-Request-Criticality", "X-Request-Timeout-Ms",
                           "Deadline", "My_Class", "X-Envoy-Upstream-Rq-Timeout-Ms"}) {
    EXPECT_TRUE(is_header_name(name)) << name;
  }
}

TEST(ConfigKeys, DefaultsAreAllowed) {
  const Config config = default_config();
  EXPECT_EQ(config.listen->address, "127.0.0.1");
  EXPECT_EQ(config.listen->port, 8080);
  EXPECT_EQ(config.queue, "auto");
  EXPECT_EQ(config.wait, milliseconds(100));
  EXPECT_THAT(config.exempt, ElementsAre("/healthz", "/livez", "/readyz"));
  EXPECT_EQ(config.class_header, "X-Request-Criticality");
  EXPECT_EQ(config.deadline_header, "");
  EXPECT_EQ(config.reject_status, 503u);
  EXPECT_EQ(config.reject_body, "overloaded\n");
  EXPECT_EQ(config.drain_timeout, seconds(30));
  EXPECT_EQ(config.order, "adaptive");
  EXPECT_THAT(config.guarantees, IsEmpty());
  EXPECT_EQ(config.heavy, 50u);
  EXPECT_EQ(config.tenants, 0u);
  EXPECT_EQ(config.tenant_key.header, "");
  EXPECT_FALSE(config.quota);
  EXPECT_EQ(config.retry_after, "1-32");
  EXPECT_FALSE(config.limit);
  EXPECT_FALSE(config.upstream);
  EXPECT_FALSE(config.admin);
  EXPECT_FALSE(config.metrics);
}

TEST(ConfigKeys, AListReplacesItsDefault) {
  Config config = default_config();
  EXPECT_FALSE(give(config, *find_config_key("exempt"), Values{"/a", "/b"}));
  EXPECT_THAT(config.exempt, ElementsAre("/a", "/b"));
  EXPECT_FALSE(give(config, *find_config_key("exempt"), Values{"off"}));
  EXPECT_THAT(config.exempt, IsEmpty());
}

TEST(ConfigKeys, AFaultShowsTheValueAndWhatIsAllowed) {
  Config config = default_config();
  EXPECT_EQ(give(config, *find_config_key("limit"), Values{"abc"}),
            "value 'abc': allowed is a whole number from 1 to 1000000, or who finds it: " +
                std::string(find_config_key("limit.law")->allowed));
  EXPECT_THAT(*give(config, *find_config_key("limit"), Values{"a\n\x1b"}),
              HasSubstr("'a\\x0a\\x1b'"));
}

TEST(Upstream, IsWrittenAsNginxAndPeopleWantIt) {
  const auto v6 = parse_upstream("https://[::1]");
  EXPECT_EQ(v6->endpoint(), "[::1]:443");
  EXPECT_EQ(v6->text(), "https://[::1]:443");
  EXPECT_EQ(v6->authority(), "[::1]");
  const auto port = parse_upstream("9000");
  EXPECT_EQ(port->text(), "http://127.0.0.1:9000");
  const auto socket = parse_upstream("unix:/run/app.sock");
  EXPECT_EQ(socket->endpoint(), "unix:/run/app.sock");
  EXPECT_EQ(socket->authority(), "localhost");
}

TEST(Networks, LoseTheirHostBits) {
  EXPECT_EQ(parse_network("10.1.2.3/8"), "10.0.0.0/8");
  EXPECT_EQ(parse_network("10.1.2.3/31"), "10.1.2.2/31");
  EXPECT_EQ(parse_network("10.1.2.3/0"), "0.0.0.0/0");
  EXPECT_EQ(parse_network("fd12:3456::1/20"), "fd12:3000::/20");
  EXPECT_EQ(parse_network("10.1.2.3"), "10.1.2.3");
}

Config valid_config() {
  Config config = default_config();
  config.limit = 64;
  config.upstream = parse_upstream("http://127.0.0.1:9000");
  return config;
}

std::string first_contradiction(const Config& config) {
  const auto faults = find_contradictions(config);
  return faults.empty() ? "" : std::string(faults[0].key) + ": " + faults[0].text;
}

TEST(Contradictions, AreNotInAPlainConfiguration) {
  EXPECT_THAT(find_contradictions(valid_config()), IsEmpty());
  EXPECT_THAT(find_contradictions(default_config()), IsEmpty());
}

TEST(Limit, IsANumberOrALaw) {
  Config config = valid_config();
  EXPECT_TRUE(has_limit(config));
  EXPECT_EQ(limit_text(config), "64");
  EXPECT_EQ(most_at_once(config), 64u);
  EXPECT_FALSE(give(config, *find_config_key("limit"), Values{"auto"}));
  EXPECT_TRUE(has_limit(config));
  EXPECT_EQ(limit_text(config), "auto");
  EXPECT_FALSE(most_at_once(config));
  EXPECT_EQ(policy_of(config).law, Law::automatic);
  EXPECT_EQ(policy_of(config).limit, 0u);
  config.limit_at_most = 50;
  config.limit_from = 7;
  EXPECT_EQ(most_at_once(config), 50u);
  EXPECT_EQ(policy_of(config).limit, 7u);
  EXPECT_EQ(policy_of(config).limit_most, 50u);
  EXPECT_THAT(find_contradictions(config), IsEmpty());
  // A number is a choice of its own, as where the command line overrules a file.
  EXPECT_FALSE(give(config, *find_config_key("limit"), Values{"20"}));
  EXPECT_EQ(limit_text(config), "20");
  EXPECT_THAT(find_contradictions(config), IsEmpty());
}

TEST(Contradictions, BoundsOfALawThatIsNotThere) {
  Config config = valid_config();
  config.limit_at_least = 2;
  EXPECT_THAT(first_contradiction(config), HasSubstr("limit.at_least: needs a law"));
  config = valid_config();
  config.limit.reset();
  config.law = Law::automatic;
  config.limit_at_least = 9;
  config.limit_at_most = 5;
  EXPECT_THAT(first_contradiction(config),
              HasSubstr("limit.at_least: limit_least 9, limit_most 5"));
  config.limit_at_most = 50;
  config.limit_from = 8;
  EXPECT_THAT(
      first_contradiction(config),
      HasSubstr("limit.from: the limit begins at 8: allowed is limit_least 9 to limit_most"));
  config.limit_from = 50;
  EXPECT_THAT(find_contradictions(config), IsEmpty());
}

// 20 is 2000 %, which none ever reaches.
TEST(Contradictions, SharesAboveAll) {
  Config config = valid_config();
  config.limit.reset();
  config.law = Law::automatic;
  for (const char* name : {"cpu_pressure", "cpu_throttled"}) {
    config.signals = {{name, "20"}};
    EXPECT_THAT(first_contradiction(config), HasSubstr("is to be at most 20: it is a share"))
        << name;
    config.signals = {{name, "100%"}};
    EXPECT_THAT(find_contradictions(config), IsEmpty()) << name;
  }
  config.signals = {{"jobs", "20"}};
  EXPECT_THAT(find_contradictions(config), IsEmpty());
}

TEST(Contradictions, SignalsThatCannotBe) {
  Config config = valid_config();
  config.signals = {{"db", "5ms"}};
  EXPECT_EQ(first_contradiction(config),
            "limit.signals: needs a law that finds the limit, as in limit: {law: auto}");
  config.limit.reset();
  config.law = Law::automatic;
  EXPECT_THAT(find_contradictions(config), IsEmpty());
  const Policy policy = policy_of(config);
  ASSERT_EQ(policy.signal_count, 1u);
  EXPECT_EQ(policy.signals[0].name_view(), "db");
  EXPECT_EQ(policy.signals[0].at_most, 0.005);
  config.signals = {{"db", "5ms"}, {"db", "6ms"}};
  EXPECT_EQ(first_contradiction(config), "limit.signals: signal 'db' is there twice");
  config.signals = {{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}, {"e", "1"}};
  EXPECT_EQ(first_contradiction(config), "limit.signals: 5 signals: allowed are up to 4");
  // They go with the law that they were for.
  EXPECT_FALSE(give(config, *find_config_key("limit"), Values{"20"}));
  EXPECT_THAT(config.signals, IsEmpty());
}

TEST(Contradictions, OneAddressForTwo) {
  Config config = valid_config();
  config.admin = config.listen;
  EXPECT_THAT(first_contradiction(config), HasSubstr("admin: shares an address with 'listen'"));
  config = valid_config();
  config.admin = config.metrics = ListenAddress{"127.0.0.1", 8081};
  EXPECT_THAT(first_contradiction(config), HasSubstr("metrics: shares an address with 'admin'"));
}

Config listening_on(const char* listen, const char* admin) {
  Config config = valid_config();
  config.listen = parse_listen(listen);
  config.admin = parse_listen(admin);
  return config;
}

TEST(Contradictions, AWildcardTakesInEveryAddressOfItsPort) {
  for (const char* wildcard : {"0.0.0.0:8090", "[::]:8090", "[0:0::0]:8090"}) {
    for (const char* other : {"127.0.0.1:8090", "[::1]:8090", "10.0.0.1:8090", "0.0.0.0:8090"}) {
      EXPECT_THAT(first_contradiction(listening_on(wildcard, other)),
                  HasSubstr("admin: shares an address with 'listen'"));
      EXPECT_THAT(first_contradiction(listening_on(other, wildcard)),
                  HasSubstr("admin: shares an address with 'listen'"));
    }
    EXPECT_EQ(first_contradiction(listening_on(wildcard, "127.0.0.1:8091")), "");
    Config config = listening_on("127.0.0.1:8080", wildcard);
    config.metrics = parse_listen("8090");
    EXPECT_THAT(first_contradiction(config), HasSubstr("metrics: shares an address with 'admin'"));
  }
  EXPECT_EQ(first_contradiction(listening_on("127.0.0.1:8090", "127.0.0.2:8090")), "");
}

TEST(Contradictions, OneAddressInTwoSpellings) {
  EXPECT_THAT(first_contradiction(listening_on("[::1]:8090", "[0:0:0:0:0:0:0:1]:8090")),
              HasSubstr("admin: shares an address with 'listen'"));
}

TEST(Contradictions, AServiceThatIsTheSidecar) {
  Config config = valid_config();
  for (const auto& [listen, upstream] : std::initializer_list<std::pair<const char*, const char*>>{
           {"127.0.0.1:8080", "http://127.0.0.1:8080"},
           {"127.0.0.1:8080", "http://localhost:8080"},
           {"0.0.0.0:8080", "http://127.0.0.1:8080"},
           {"[::]:8080", "http://localhost:8080"},
           {"[::1]:8080", "http://[0::1]:8080"}}) {
    config.listen = parse_listen(listen);
    config.upstream = parse_upstream(upstream);
    EXPECT_THAT(first_contradiction(config), HasSubstr("circles")) << listen << " " << upstream;
  }
  for (const char* upstream :
       {"http://10.0.0.1:8080", "http://api:8080", "http://localhost:8081", "unix:/run/app.sock"}) {
    config.listen = parse_listen("0.0.0.0:8080");
    config.upstream = parse_upstream(upstream);
    EXPECT_EQ(first_contradiction(config), "") << upstream;
  }
  config.admin = parse_listen("8081");
  config.upstream = parse_upstream("8081");
  EXPECT_THAT(first_contradiction(config), HasSubstr("upstream: is an address of the sidecar's"));
}

TEST(Contradictions, Classes) {
  Config config = valid_config();
  config.default_class = "batch";
  EXPECT_THAT(first_contradiction(config), HasSubstr("default_class: value 'batch'"));
  config.classes = {{"api", 0}, {"batch", 50}};
  EXPECT_EQ(first_contradiction(config), "");
  config.classes.push_back({"api", 0});
  EXPECT_THAT(first_contradiction(config), HasSubstr("'api' is there twice"));
  config.classes = {{"api", 50}, {"batch", 60}};
  EXPECT_THAT(first_contradiction(config), HasSubstr("shares must not grow"));
  config.default_class.clear();
  config.classes = std::vector<ClassSetting>(9);
  for (std::size_t i = 0; i < 9; ++i) {
    config.classes[i].name = std::string(1, static_cast<char>('a' + i));
  }
  EXPECT_THAT(first_contradiction(config), HasSubstr("9 classes: allowed are up to 8"));
}

TEST(Contradictions, Guarantees) {
  Config config = valid_config();
  config.guarantees = {{"Sheddable", 10}, {"critical", 80}};
  EXPECT_EQ(first_contradiction(config), "");
  config.guarantees = {{"batch", 10}};
  EXPECT_EQ(first_contradiction(config),
            "guarantees: class 'batch': allowed is one of critical_plus, critical, "
            "sheddable_plus, sheddable");
  config.classes = {{"api", 0}, {"batch", 0}};
  EXPECT_EQ(first_contradiction(config), "");
  config.guarantees = {{"batch", 10}, {"BATCH", 10}};
  EXPECT_EQ(first_contradiction(config), "guarantees: class 'BATCH' is there twice");
  config.guarantees = {{"api", 50}, {"batch", 41}};
  EXPECT_EQ(first_contradiction(config), "guarantees: guarantees of 91.0% in all: allowed are 90%");
  config.guarantees = {{"batch", 41}};
  config.queue = "off";
  EXPECT_THAT(first_contradiction(config), HasSubstr("guarantees: class 'batch' is guaranteed"));
}

TEST(Contradictions, TenantsShareAQueueInTurns) {
  Config config = valid_config();
  config.tenants = 100;
  EXPECT_EQ(first_contradiction(config), "");
  config.order = "lifo";
  EXPECT_THAT(first_contradiction(config), HasSubstr("order: lifo with tenants: allowed are"));
  config.order = "fifo";
  config.queue = "off";
  EXPECT_THAT(first_contradiction(config), HasSubstr("tenants.number: tenants share a queue"));
}

TEST(Contradictions, AQuotaThatTheGateDoesNotTake) {
  Config config = valid_config();
  config.quota = parse_quota_rate("100000r/s");
  EXPECT_EQ(first_contradiction(config), "");
  config.quota = parse_quota_rate("100001r/s");
  EXPECT_THAT(first_contradiction(config), HasSubstr("quota.rate: a quota of one request each"));
  config.quota = parse_quota_rate("1r/h");
  config.quota_burst = 73;
  EXPECT_THAT(first_contradiction(config), HasSubstr("quota.rate: a burst of 73 at this rate"));
}

TEST(Contradictions, WhatWouldDoNothingByItself) {
  const std::pair<const char*, const char*> alone[] = {{"heavy", "30%"},
                                                       {"tenants.key", "header X-Tenant"},
                                                       {"quota.burst", "5"},
                                                       {"quota.key", "header X-Api-Key"},
                                                       {"quota.keys", "500"}};
  for (const auto& [name, value] : alone) {
    Config config = valid_config();
    ASSERT_FALSE(give(config, *find_config_key(name), Values{value}));
    EXPECT_THAT(first_contradiction(config), HasSubstr(std::string(name) + ": needs "));
    config.weight_header = "X-Weight";
    config.tenants = 10;
    config.quota = QuotaRate{10, 's'};
    EXPECT_EQ(first_contradiction(config), "") << name;
  }
}

// As nginx, which refuses to start, and the gate, which finds them so.
TEST(Contradictions, ClassesAreComparedInAnyCase) {
  Config config = valid_config();
  config.classes = {{"a", 0}, {"A", 0}};
  EXPECT_THAT(first_contradiction(config), HasSubstr("class 'A' is there twice"));
  config.classes = {{"Api", 0}, {"batch", 0}};
  config.default_class = "BATCH";
  EXPECT_EQ(first_contradiction(config), "");
}

TEST(Contradictions, OneHeaderForTwo) {
  Config config = valid_config();
  for (const char* name : {"X-Request-Criticality", "x-request-criticality"}) {
    config.deadline_header = name;
    EXPECT_THAT(first_contradiction(config), HasSubstr("deadline.header: "));
    EXPECT_THAT(first_contradiction(config), HasSubstr("is the class_header"));
  }
  config.class_header.clear();
  EXPECT_EQ(first_contradiction(config), "");
  config.weight_header = "x-DEADLINE-ms";
  EXPECT_EQ(first_contradiction(config), "");
  config.deadline_header = "X-Deadline-Ms";
  EXPECT_THAT(first_contradiction(config),
              HasSubstr("weight_header: 'x-DEADLINE-ms' is the deadline.header"));
  config.weight_header.clear();
  config.deadline_header.clear();
  EXPECT_EQ(first_contradiction(config), "");
}

TEST(Contradictions, TlsToAnAddressHasNoNameToVerify) {
  Config config = valid_config();
  config.upstream = parse_upstream("https://10.0.0.1");
  EXPECT_THAT(first_contradiction(config), HasSubstr("cannot be verified"));
  config.upstream_name = "api.internal";
  EXPECT_EQ(first_contradiction(config), "");
  config.upstream_name.clear();
  config.upstream_ca = "off";
  EXPECT_EQ(first_contradiction(config), "");
}

// The reference page holds the table as `loadline check --keys` prints it.
TEST(ConfigurationPage, HasTheTable) {
  const std::string here = __FILE__;
  const std::string root = here.substr(0, here.rfind("tests/tools/"));
  std::ifstream stream(root + "docs/configuration.md");
  const std::string page{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  EXPECT_NE(page.find(config_table()), std::string::npos)
      << "put the output of `loadline check --keys` into docs/configuration.md:\n"
      << config_table();
}

}  // namespace
}  // namespace loadline::tools
