#include "nginx_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config_policy.h"
#include "loadline/gate.h"

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

// Reads a configuration as nginx does (ngx_conf_read_token): statements, each a list of words. A
// block's opening and its end are statements too.
class NginxReader {
 public:
  explicit NginxReader(const std::string& text) : text_(text) {}

  std::vector<Words> read() {
    while (at_ < text_.size()) {
      step();
    }
    return statements_;
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ';' || c == '{' || c == '}') {
      ++at_;
      if (c != ';') {
        words_.push_back(std::string(1, c));
      }
      statements_.push_back(std::move(words_));
      words_.clear();
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '"' || c == '\'') {
      ++at_;
      words_.push_back(word([c](char each) { return each == c; }));
      ++at_;
    } else {
      words_.push_back(word([](char each) {
        return each == ';' || each == ' ' || each == '\n' || each == '\t' || each == '{';
      }));
    }
  }

  template <class IsEnd>
  std::string word(IsEnd is_end) {
    std::string result;
    for (; at_ < text_.size() && !is_end(text_[at_]); ++at_) {
      if (text_[at_] != '\\' || at_ + 1 == text_.size()) {
        result += text_[at_];
        continue;
      }
      const char next = text_[++at_];
      const auto place = std::string("\"'\\trn").find(next);
      result += place == std::string::npos ? std::string("\\") + next
                                           : std::string(1, "\"'\\\t\r\n"[place]);
    }
    return result;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  Words words_;
  std::vector<Words> statements_;
};

Config config_for(const std::string& upstream) {
  Config config = default_config();
  config.limit = 64;
  config.upstream = parse_upstream(upstream);
  return config;
}

NginxSetup setup_for_test() {
  NginxSetup setup;
  setup.run_name = "default";
  setup.folder = "/run/loadline/default";
  setup.scratch = "/run/loadline/default.temp";
  setup.module = "/usr/lib/nginx/modules/ngx_http_loadline_module.so";
  return setup;
}

std::vector<Words> statements_of(const Config& config, const NginxSetup& setup = setup_for_test()) {
  const std::string text = nginx_conf(config, setup);
  return NginxReader(text).read();
}

TEST(NginxQuoted, ReadsBackAsItWas) {
  for (const std::string text :
       {"plain", "", "a b", "a;b", "\"", "\\", "\\\"", "a\nb\tc", "{\"error\": \"it's $5\"}", "#x",
        "\\n", "a'b", "}", "trailing\\"}) {
    const std::string statement = "x " + nginx_quoted(text) + ";";
    EXPECT_EQ(NginxReader(statement).read(), (std::vector<Words>{{"x", text}})) << text;
  }
}

TEST(NginxConf, GateAndService) {
  const auto statements = statements_of(config_for("http://127.0.0.1:9000"));
  EXPECT_THAT(statements, Contains(Words{"loadline_gate", "service:8m", "limit=64", "queue=auto",
                                         "wait=100ms"}));
  EXPECT_THAT(statements, Contains(Words{"server", "127.0.0.1:9000"}));
  EXPECT_THAT(statements,
              Contains(Words{"listen", "127.0.0.1:8080", "backlog=4096", "so_keepalive=on"}));
  EXPECT_THAT(statements, Contains(Words{"loadline", "service"}));
  EXPECT_THAT(statements, Contains(Words{"proxy_pass", "http://service"}));
  EXPECT_THAT(statements, Contains(Words{"listen", "unix:/run/loadline/default/control.sock"}));
}

TEST(NginxConf, ALawAndItsBounds) {
  Config config = config_for("http://127.0.0.1:9000");
  config.limit.reset();
  config.law = Law::automatic;
  EXPECT_THAT(statements_of(config), Contains(Words{"loadline_gate", "service:9m", "limit=auto",
                                                    "queue=auto", "wait=100ms"}));
  config.limit_from = 6;
  config.limit_at_least = 2;
  config.limit_at_most = 500;
  EXPECT_THAT(statements_of(config),
              Contains(Words{"loadline_gate", "service:9m", "limit=auto", "limit_from=6",
                             "limit_least=2", "limit_most=500", "queue=auto", "wait=100ms"}));
  config.signals = {{"cpu_pressure", "20%"}, {"db_latency", "50ms"}};
  EXPECT_THAT(statements_of(config),
              Contains(Contains("signals=cpu_pressure:20%,db_latency:50ms")));
}

// What the head tells to leave out is there to be left out, under that name.
TEST(NginxConf, TheHeadSaysWhatAnNginxOfOnesOwnLeavesOut) {
  const std::string text = nginx_conf(config_for("http://127.0.0.1:9000"), setup_for_test());
  const auto head_end = text.find("\n\nload_module ");
  ASSERT_NE(head_end, std::string::npos);
  const std::string head = text.substr(0, head_end);
  const std::string rest = text.substr(head_end);
  EXPECT_THAT(head, HasSubstr("# For an nginx of your own: "));
  for (const std::string name : {"daemon", "pid", "_temp_path", "control.sock", "load_module"}) {
    EXPECT_THAT(head, HasSubstr(name));
    EXPECT_THAT(rest, HasSubstr(name));
  }
  EXPECT_GT(rest.rfind("control.sock"), rest.rfind("server {"));
}

TEST(NginxConf, IsLaidOutInStraightBlocks) {
  Config config = config_for("http://127.0.0.1:9000");
  config.admin = ListenAddress{"127.0.0.1", 8081};
  config.metrics = ListenAddress{"127.0.0.1", 8082};
  config.access_log = "/tmp/a.log";
  const std::string text = nginx_conf(config, setup_for_test());
  int depth = 0;
  for (const Words& statement : NginxReader(text).read()) {
    depth += statement.back() == "{" ? 1 : statement.back() == "}" ? -1 : 0;
    EXPECT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  EXPECT_THAT(text, Not(HasSubstr(" \n")));
  EXPECT_THAT(text, Not(HasSubstr("\n\n\n")));
  EXPECT_THAT(text, Not(HasSubstr("{\n\n")));
  EXPECT_THAT(text, Not(HasSubstr("\n\n    }")));
}

TEST(NginxConf, ExemptPathsAreOutsideTheGateAndWrittenOut) {
  Config config = config_for("http://127.0.0.1:9000");
  config.exempt = {"/b", "/a", "/b"};
  const auto statements = statements_of(config);
  EXPECT_THAT(statements, Contains(Words{"location", "=", "/a", "{"}).Times(1));
  EXPECT_THAT(statements, Contains(Words{"location", "=", "/b", "{"}).Times(1));
  EXPECT_THAT(statements, Contains(Words{"loadline", "off"}).Times(2));
  EXPECT_THAT(statements, Contains(Words{"proxy_pass", "http://service/b"}));
  config.exempt.clear();
  EXPECT_THAT(statements_of(config), Not(Contains(Words{"loadline", "off"})));
}

TEST(NginxConf, Ipv6) {
  Config config = config_for("http://[::1]:9000");
  config.listen = ListenAddress{"::", 8080};
  config.admin = ListenAddress{"::1", 8081};
  const auto statements = statements_of(config);
  EXPECT_THAT(statements, Contains(Words{"server", "[::1]:9000"}));
  EXPECT_THAT(statements, Contains(Words{"listen", "[::]:8080", "backlog=4096", "so_keepalive=on",
                                         "ipv6only=off"}));
  EXPECT_THAT(statements, Contains(Words{"listen", "[::1]:8081"}));
}

TEST(NginxConf, UnixUpstream) {
  const auto statements = statements_of(config_for("unix:/run/app.sock"));
  EXPECT_THAT(statements, Contains(Words{"server", "unix:/run/app.sock"}));
  EXPECT_THAT(statements, Contains(Words{"", "localhost"}));
}

TEST(NginxConf, HttpsIsVerifiedByTheNameOfTheHost) {
  Config config = config_for("https://api.example.com");
  auto statements = statements_of(config);
  EXPECT_THAT(statements, Contains(Words{"proxy_pass", "https://service"}));
  EXPECT_THAT(statements, Contains(Words{"proxy_pass", "https://service/healthz"}));
  EXPECT_THAT(statements, Contains(Words{"proxy_ssl_name", "api.example.com"}));
  EXPECT_THAT(statements, Contains(Words{"proxy_ssl_verify", "on"}));
  config.upstream_ca = "off";
  config.upstream_name = "inner.example.com";
  statements = statements_of(config);
  EXPECT_THAT(statements, Contains(Words{"proxy_ssl_name", "inner.example.com"}));
  EXPECT_THAT(statements, Contains(Words{"proxy_ssl_verify", "off"}));
}

TEST(NginxConf, ResolvedAddressesKeepTheNameInAComment) {
  NginxSetup setup = setup_for_test();
  setup.servers = {"10.0.0.1:80", "10.0.0.2:80"};
  const std::string text = nginx_conf(config_for("http://api"), setup);
  EXPECT_THAT(text, HasSubstr("server 10.0.0.1:80;  # api:80"));
  EXPECT_THAT(text, HasSubstr("server 10.0.0.2:80;  # api:80"));
}

TEST(NginxConf, DeadlinesAreReadAndHandedOn) {
  Config config = config_for("http://127.0.0.1:9000");
  config.deadline = milliseconds(1500);
  config.deadline_header = "X-Deadline-Ms";
  const auto statements = statements_of(config);
  EXPECT_THAT(statements, Contains(Words{"loadline", "service", "deadline=1500ms"}));
  EXPECT_THAT(statements, Contains(Words{"loadline_deadline_header", "X-Deadline-Ms"}));
  EXPECT_THAT(statements, Contains(Words{"proxy_set_header", "X-Deadline-Ms", "$passed_deadline"}));
}

// proxy_set_header with an empty value would take the header away.
TEST(NginxConf, ADeadlineThatIsNotKnownPassesAsItCame) {
  Config config = config_for("http://127.0.0.1:9000");
  EXPECT_THAT(statements_of(config), Not(Contains(Contains("$passed_deadline"))));
  config.deadline_header = "X-Deadline-Ms";
  const auto statements = statements_of(config);
  EXPECT_THAT(statements,
              Contains(Words{"map", "$loadline_deadline_left", "$passed_deadline", "{"}));
  EXPECT_THAT(statements, Contains(Words{"default", "$loadline_deadline_left"}));
  EXPECT_THAT(statements, Contains(Words{"", "$http_x_deadline_ms"}));
}

TEST(NginxConf, ClassesTrustAndRejection) {
  Config config = config_for("http://127.0.0.1:9000");
  config.classes = {{"api", 0}, {"batch", 80}};
  config.default_class = "batch";
  config.class_header.clear();
  config.trusted = {"10.0.0.0/8", "127.0.0.0/8"};
  config.observe = true;
  config.reject_status = 429;
  config.reject_body = "{\"error\": \"it's $5; }\\\"\"}\n";
  config.reject_type = "application/json; charset=utf-8";
  const auto statements = statements_of(config);
  EXPECT_THAT(statements,
              Contains(Words{"loadline_gate", "service:8m", "limit=64", "queue=auto", "wait=100ms",
                             "mode=observe", "classes=api,batch:80%", "default=batch"}));
  EXPECT_THAT(statements, Contains(Words{"loadline_class_header", "off"}));
  EXPECT_THAT(statements, Contains(Words{"loadline_trusted", "10.0.0.0/8", "127.0.0.0/8"}));
  EXPECT_THAT(statements, Contains(Words{"127.0.0.0/8", "1"}).Times(1));
  EXPECT_THAT(statements, Contains(Words{"loadline_reject_status", "429"}));
  EXPECT_THAT(statements, Contains(Words{"loadline_body", config.reject_body, config.reject_type}));
}

TEST(NginxConf, RulesOfTheGate) {
  Config config = config_for("9000");
  config.order = "fifo";
  config.guarantees = {{"sheddable", 10}, {"critical", 20}};
  config.retry_after = "2-9";
  config.weight_header = "X-Weight";
  config.heavy = 30;
  const auto statements = statements_of(config);
  EXPECT_THAT(statements,
              Contains(Words{"loadline_gate", "service:8m", "limit=64", "queue=auto", "wait=100ms",
                             "order=fifo", "guarantee=sheddable:10%,critical:20%", "heavy=30%",
                             "retry_after=2-9"}));
  EXPECT_THAT(statements, Contains(Words{"loadline", "service", "weight=$http_x_weight"}));
}

TEST(NginxConf, TenantsAndQuotaByAddress) {
  Config config = config_for("9000");
  config.tenants = 500;
  config.quota = QuotaRate{600, 'm'};
  config.quota_burst = 20;
  const auto statements = statements_of(config);
  EXPECT_THAT(statements,
              Contains(Words{"loadline_gate", "service:10m", "limit=64", "queue=auto", "wait=100ms",
                             "tenants=500", "quota=600r/m", "quota_burst=20", "quota_keys=10000"}));
  EXPECT_THAT(statements,
              Contains(Words{"loadline", "service", "tenant=$remote_addr", "quota=$remote_addr"}));
}

// Who leaves the header out is not free of the quota, and cannot be taken for another.
TEST(NginxConf, TenantsAndQuotaByHeader) {
  Config config = config_for("9000");
  config.tenants = 500;
  config.tenant_key.header = "X-Tenant";
  config.quota = QuotaRate{10, 's'};
  config.quota_key.header = "Authorization";
  const auto statements = statements_of(config);
  EXPECT_THAT(statements,
              Contains(Words{"loadline", "service", "tenant=$tenant", "quota=$quota_key"}));
  EXPECT_THAT(statements, Contains(Words{"map", "$http_x_tenant", "$tenant", "{"}));
  EXPECT_THAT(statements, Contains(Words{"map", "$http_authorization", "$quota_key", "{"}));
  EXPECT_THAT(statements, Contains(Words{"default", "header $http_authorization"}));
  EXPECT_THAT(statements, Contains(Words{"", "$remote_addr"}).Times(2));
}

// Or a reload with a longer queue would need another one.
TEST(NginxConf, TheZoneHoldsTheTablesAndTheLongestQueue) {
  Config config = config_for("9000");
  config.tenants = kMaxTenants;
  config.quota = QuotaRate{10, 's'};
  config.quota_keys = kMaxQuotaKeys;
  const Capacity longest{kMaxParticipants, Capacity::kSpareTickets + kMaxQueue};
  const std::size_t needed = Gate::bytes_for(longest.for_tables(policy_of(config)));
  EXPECT_GT(zone_mebibytes(config) << 20, needed + needed / 64);
  EXPECT_LT(zone_mebibytes(config) << 20, needed * 2);
  config.queue = "5";
  const auto same = zone_mebibytes(config);
  config.queue = "60000";
  EXPECT_EQ(zone_mebibytes(config), same);
}

TEST(NginxConf, AdminAndMetricsAreThereOnlyWhenAsked) {
  Config config = config_for("http://127.0.0.1:9000");
  EXPECT_THAT(statements_of(config), Not(Contains(Contains("loadline_metrics"))));
  config.metrics = ListenAddress{"127.0.0.1", 9100};
  EXPECT_THAT(statements_of(config), Contains(Words{"listen", "127.0.0.1:9100"}));
  EXPECT_THAT(statements_of(config), Contains(Words{"loadline_metrics"}).Times(1));
  EXPECT_THAT(statements_of(config), Contains(Words{"loadline_stub_status"}).Times(1));
  config.admin = ListenAddress{"127.0.0.1", 8081};
  EXPECT_THAT(statements_of(config), Contains(Words{"loadline_metrics"}).Times(2));
  EXPECT_THAT(statements_of(config), Contains(Words{"loadline_stub_status"}).Times(2));
  EXPECT_THAT(statements_of(config), Contains(Words{"loadline_control"}).Times(1));
}

TEST(NginxConf, WhatTheMachineSays) {
  NginxSetup setup = setup_for_test();
  setup.folder = "/tmp/a b/default";
  setup.user = "www-data www-data";
  setup.workers = 3;
  setup.generation = 7;
  const auto statements = statements_of(config_for("9000"), setup);
  EXPECT_THAT(statements, Contains(Words{"user", "www-data", "www-data"}));
  EXPECT_THAT(statements, Contains(Words{"worker_processes", "3"}));
  EXPECT_THAT(statements, Contains(Words{"pid", "/tmp/a b/default/nginx.pid"}));
  EXPECT_THAT(statements, Contains(Words{"listen", "unix:/tmp/a b/default/control.sock"}));
  EXPECT_THAT(statements, Contains(Words{"return", "200", "7"}));
  setup.user.clear();
  EXPECT_THAT(statements_of(config_for("9000"), setup), Not(Contains(Contains("user"))));
}

}  // namespace
}  // namespace loadline::tools
