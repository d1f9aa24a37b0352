#include "config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string faults_of(const std::string& text) {
  return describe_faults("f.yaml", read_config_text(text).faults);
}

TEST(ConfigFile, ReadsEverything) {
  const auto file = read_config_text(R"(version: 1
listen: 0.0.0.0:8080
upstream: http://127.0.0.1:9000
admin: 8081
limit: 64
queue: 30
wait: 50ms
order: fifo
classes: [interactive, {name: batch, share: 80%}]
default_class: batch
guarantees: {batch: 10%}
weight_header: X-Weight
heavy: 30%
tenants: {number: 500, key: header X-Tenant}
quota: {rate: 600r/m, burst: 20, key: address, keys: 5000}
observe: on
exempt: [/ping]
deadline: {default: 2s, header: X-Deadline-Ms}
class_header: off
trusted: 10.0.0.0/8
workers: 3
access_log: /tmp/access.log
reject:
  status: 429
  body: "busy\n"
  retry_after: 2-9
drain_timeout: 5s
)");
  EXPECT_EQ(describe_faults("f", file.faults), "");
  const Config& config = file.config;
  EXPECT_EQ(config.listen->address, "0.0.0.0");
  EXPECT_EQ(config.admin->port, 8081);
  EXPECT_EQ(config.limit, 64u);
  EXPECT_EQ(config.queue, "30");
  EXPECT_EQ(config.wait, milliseconds(50));
  ASSERT_EQ(config.classes.size(), 2u);
  EXPECT_EQ(config.classes[1].name, "batch");
  EXPECT_EQ(config.classes[1].percent, 80u);
  EXPECT_TRUE(config.observe);
  EXPECT_THAT(config.exempt, ElementsAre("/ping"));
  EXPECT_EQ(config.deadline, milliseconds(2000));
  EXPECT_EQ(config.deadline_header, "X-Deadline-Ms");
  EXPECT_EQ(config.class_header, "");
  EXPECT_THAT(config.trusted, ElementsAre("10.0.0.0/8"));
  EXPECT_EQ(config.workers, 3u);
  EXPECT_EQ(config.reject_status, 429u);
  EXPECT_EQ(config.reject_body, "busy\n");
  EXPECT_EQ(config.retry_after, "2-9");
  EXPECT_EQ(config.order, "fifo");
  ASSERT_EQ(config.guarantees.size(), 1u);
  EXPECT_EQ(config.guarantees[0].name, "batch");
  EXPECT_EQ(config.guarantees[0].percent, 10u);
  EXPECT_EQ(config.weight_header, "X-Weight");
  EXPECT_EQ(config.heavy, 30u);
  EXPECT_EQ(config.tenants, 500u);
  EXPECT_EQ(config.tenant_key.header, "X-Tenant");
  EXPECT_EQ(config.quota->text(), "600r/m");
  EXPECT_EQ(config.quota->period(), std::chrono::minutes(1));
  EXPECT_EQ(config.quota_burst, 20u);
  EXPECT_EQ(config.quota_key.header, "");
  EXPECT_EQ(config.quota_keys, 5000u);
  EXPECT_THAT(place_contradictions(file), IsEmpty());
}

TEST(ConfigFile, SaysWhereAndWhatIsAllowed) {
  EXPECT_EQ(faults_of("version: 1\nlimit:  abc\n"),
            "f.yaml:2:9: key 'limit': value 'abc': allowed is a whole number from 1 to 1000000, or "
            "who finds it: " +
                std::string(find_config_key("limit.law")->allowed) + "\n");
}

TEST(ConfigFile, ALimitIsANumberALawOrAMap) {
  EXPECT_EQ(read_config_text("version: 1\nlimit: auto\n").config.law, Law::automatic);
  const ConfigFile file =
      read_config_text("version: 1\nlimit: {law: auto, from: 6, at_least: 2, at_most: 500}\n");
  EXPECT_THAT(file.faults, IsEmpty());
  EXPECT_EQ(file.config.law, Law::automatic);
  EXPECT_EQ(file.config.limit_from, 6u);
  EXPECT_EQ(file.config.limit_at_least, 2u);
  EXPECT_EQ(file.config.limit_at_most, 500u);
  EXPECT_THAT(place_contradictions(file), IsEmpty());
  EXPECT_THAT(faults_of("version: 1\nlimit: {low: 5}\n"), HasSubstr("key 'limit.low': not known"));
  EXPECT_THAT(faults_of("version: 1\nlimit: [5]\n"),
              HasSubstr("key 'limit': not a single value: allowed is a whole number"));
  EXPECT_THAT(describe_faults("f", place_contradictions(
                                       read_config_text("version: 1\nlimit: {at_least: 2}\n"))),
              HasSubstr("f:2:9: key 'limit.at_least': needs a law that finds the limit"));
}

TEST(ConfigFile, ListsAllFaultsInTheOrderOfTheFile) {
  const std::string faults = faults_of("limit: 0\nversion: 1\nfoo: 1\nreject: {status: 1}\n");
  EXPECT_THAT(faults, testing::MatchesRegex("f.yaml:1:8: .*\nf.yaml:3:1: .*\nf.yaml:4:18: .*\n"));
}

TEST(ConfigFile, UnknownKeysComeWithAHint) {
  EXPECT_EQ(faults_of("version: 1\nlimt: 5\n"),
            "f.yaml:2:1: key 'limt': not known; did you mean 'limit'?\n");
  EXPECT_EQ(faults_of("version: 1\nreject:\n  stauts: 503\n"),
            "f.yaml:3:3: key 'reject.stauts': not known; did you mean 'status'?\n");
  EXPECT_THAT(faults_of("version: 1\ncompletely_else: 5\n"),
              HasSubstr("known are version, listen"));
  EXPECT_THAT(faults_of("version: 1\nreject.status: 500\n"), HasSubstr("not known"));
}

TEST(ConfigFile, DuplicatesAreRefused) {
  EXPECT_EQ(faults_of("version: 1\nlimit: 5\nlimit: 6\n"),
            "f.yaml:3:1: key 'limit': given twice; first at line 2\n");
  EXPECT_THAT(faults_of("version: 1\nreject: {status: 503, status: 500}\n"),
              HasSubstr("key 'reject.status': given twice"));
}

TEST(ConfigFile, VersionIsOne) {
  EXPECT_EQ(faults_of("limit: 5\n"), "f.yaml:1:1: key 'version': missing; write 'version: 1'\n");
  EXPECT_EQ(faults_of(""), "f.yaml:1:1: key 'version': missing; write 'version: 1'\n");
  EXPECT_EQ(faults_of("version: 2\n"),
            "f.yaml:1:10: key 'version': value '2': allowed is 1, the version of this format\n");
  EXPECT_THAT(faults_of("version: [1]\n"), HasSubstr("key 'version': allowed is 1"));
}

TEST(ConfigFile, ShapesThatDoNotFit) {
  EXPECT_THAT(faults_of("version: 1\nlimit:\n"), HasSubstr("key 'limit': no value: allowed is"));
  EXPECT_THAT(faults_of("version: 1\nlimit: [1]\n"), HasSubstr("not a single value"));
  EXPECT_THAT(faults_of("version: 1\nreject: 503\n"),
              HasSubstr("key 'reject': allowed is a map of status, body, type"));
  EXPECT_THAT(faults_of("version: 1\nexempt: {a: b}\n"), HasSubstr("key 'exempt': allowed is"));
  EXPECT_THAT(faults_of("version: 1\nexempt: [[/a]]\n"), HasSubstr("f.yaml:2:10: key 'exempt'"));
  EXPECT_THAT(faults_of("[1, 2]"), HasSubstr("f.yaml:1:1: allowed is a map"));
  EXPECT_THAT(faults_of("version: 1\n? [a]\n: 1\n"), HasSubstr("a key must be a name"));
  EXPECT_THAT(faults_of("version: 1\n---\nversion: 1\n"), HasSubstr("a second document"));
}

// The YAML library reads one empty document after the other here, without an end.
TEST(ConfigFile, WhereNothingCanBeginItIsSaidAndNotWaitedFor) {
  EXPECT_THAT(faults_of(",a: 1"), HasSubstr("f.yaml:1:1: not YAML: nothing can begin here"));
  EXPECT_THAT(faults_of("version: 1\n---\n}"), HasSubstr("f.yaml:3:1: "));
  EXPECT_THAT(faults_of("]"), HasSubstr("f.yaml:1:1: not YAML"));
}

TEST(ConfigFile, WhatIsNotYamlIsSaidWithItsPlace) {
  EXPECT_THAT(faults_of("version: 1\nlimit: [1\n"), HasSubstr("not YAML: "));
  EXPECT_THAT(faults_of("version: 1\nreject: {body: \"a}\n"), StartsWith("f.yaml:"));
  EXPECT_THAT(faults_of("version: 1\nlimit: *nowhere\n"), HasSubstr("not YAML: "));
}

TEST(ConfigFile, ClassesAsMaps) {
  EXPECT_THAT(faults_of("version: 1\nclasses: [{share: 5%}]\n"), HasSubstr("needs a name"));
  EXPECT_THAT(faults_of("version: 1\nclasses: [{name: a, shar: 5%}]\n"),
              HasSubstr("did you mean 'share'?"));
  EXPECT_THAT(faults_of("version: 1\nclasses: [{name: a, name: b}]\n"), HasSubstr("given twice"));
  EXPECT_THAT(faults_of("version: 1\nclasses: [{name: a, share: 500%}]\n"),
              HasSubstr("value 'a:500%'"));
  EXPECT_THAT(faults_of("version: 1\nclasses: [{name: [a]}]\n"), HasSubstr("{name: NAME"));
}

TEST(ConfigFile, GuaranteesAsMapsAndLists) {
  for (const char* text : {"{a: 5%, b: 7%}", "[a:5%, b:7%]"}) {
    const auto file =
        read_config_text(std::string("version: 1\nclasses: [a, b]\nguarantees: ") + text + "\n");
    EXPECT_EQ(describe_faults("f", file.faults), "");
    ASSERT_EQ(file.config.guarantees.size(), 2u) << text;
    EXPECT_EQ(file.config.guarantees[1].percent, 7u);
  }
  EXPECT_EQ(faults_of("version: 1\nguarantees: {a: 5%,\n b: 7}\n").substr(0, 47),
            "f.yaml:3:2: key 'guarantees': value 'b:7': allo");
  EXPECT_THAT(faults_of("version: 1\nguarantees: {a: [5%]}\n"),
              HasSubstr("f.yaml:2:14: key 'guarantees': allowed is off or names"));
  EXPECT_THAT(faults_of("version: 1\nguarantees: [{a: 5%}]\n"),
              HasSubstr("f.yaml:2:14: key 'guarantees': allowed is"));
  EXPECT_THAT(faults_of("version: 1\nquota: 5r/s\n"),
              HasSubstr("key 'quota': allowed is a map of rate, burst, key, keys"));
}

TEST(ConfigFile, SignalsAsMapsAndLists) {
  for (const char* text :
       {"{cpu_pressure: 20%, db_latency: 50ms}", "[cpu_pressure:20%, db_latency:50ms]"}) {
    const auto file =
        read_config_text(std::string("version: 1\nlimit: {law: auto, signals: ") + text + "}\n");
    EXPECT_EQ(describe_faults("f", file.faults), "");
    ASSERT_EQ(file.config.signals.size(), 2u) << text;
    EXPECT_EQ(file.config.signals[1].name, "db_latency");
    EXPECT_EQ(file.config.signals[1].at_most, "50ms");
    EXPECT_THAT(place_contradictions(file), IsEmpty());
  }
  EXPECT_EQ(faults_of("version: 1\nlimit:\n  law: auto\n  signals: {db: 0}\n"),
            "f.yaml:4:13: key 'limit.signals': value 'db:0': allowed is off or up to 4 names of "
            "letters, digits, '_', '-' and '.', up to 23 of them, each with a share, a time or a "
            "number above 0, as in {cpu_pressure: 20%, db_latency: 50ms}\n");
  EXPECT_THAT(faults_of("version: 1\nlimit: {law: auto, signals: {db: {at: 5}}}\n"),
              HasSubstr("f.yaml:2:30: key 'limit.signals': allowed is off or up to 4 names"));
}

TEST(ConfigFile, EmptyListsAreEmpty) {
  EXPECT_THAT(read_config_text("version: 1\nexempt: []\n").config.exempt, IsEmpty());
  EXPECT_THAT(read_config_text("version: 1\nexempt: off\n").config.exempt, IsEmpty());
}

TEST(ConfigFile, ContradictionsHaveThePlaceOfTheirKey) {
  const auto file = read_config_text("version: 1\nlisten: 8080\nadmin: 8080\n");
  EXPECT_THAT(file.faults, IsEmpty());
  EXPECT_THAT(describe_faults("f.yaml", place_contradictions(file)),
              StartsWith("f.yaml:3:1: key 'admin': shares an address with 'listen'"));
}

std::string refusal_of(const std::string& path) {
  try {
    read_config_file(path);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(ConfigFile, WhatCannotBeReadIsSaidInALine) {
  EXPECT_EQ(refusal_of("/nonexistent/f.yaml"),
            "/nonexistent/f.yaml: cannot be read: No such file or directory");
  EXPECT_EQ(refusal_of("/tmp"), "/tmp: is a folder, not a file");
}

// Each of them would be waited for, or read, without end.
TEST(ConfigFile, OnlyARegularFileIsRead) {
  const std::string base = testing::TempDir() + "config_file_test_" + std::to_string(getpid());
  const std::string pipe = base + ".pipe";
  const std::string link = base + ".link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(symlink(pipe.c_str(), link.c_str()), 0);
  for (const std::string& path : {std::string("/dev/zero"), std::string("/dev/null"), pipe, link}) {
    EXPECT_EQ(refusal_of(path),
              path + ": is a pipe, a device or a socket: allowed is a regular file");
  }
  std::remove(link.c_str());
  std::remove(pipe.c_str());
}

TEST(ConfigFile, HasAtMostOneMebibyte) {
  const std::string path = testing::TempDir() + "config_file_test_" + std::to_string(getpid());
  const std::string link = path + ".link";
  const std::string text = "version: 1\nlimit: 5\n";
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  std::ofstream(path) << text << std::string((1 << 20) - text.size(), '#');
  EXPECT_EQ(refusal_of(path), "");
  EXPECT_EQ(read_config_file(link).config.limit, 5u);
  std::ofstream(path, std::ios::app) << '#';
  EXPECT_EQ(refusal_of(path), path + ": is larger than 1 MiB, which no configuration is");
  std::remove(link.c_str());
  std::remove(path.c_str());
}

TEST(ConfigFile, TheExampleIsValid) {
  const std::string here = __FILE__;
  const std::string root = here.substr(0, here.rfind("tests/tools/"));
  const auto file = read_config_file(root + "examples/sidecar.yaml");
  EXPECT_EQ(describe_faults("sidecar.yaml", file.faults), "");
  EXPECT_THAT(place_contradictions(file), IsEmpty());
  EXPECT_TRUE(file.config.limit && file.config.upstream);
}

}  // namespace
}  // namespace loadline::tools
