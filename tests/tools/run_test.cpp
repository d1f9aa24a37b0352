#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "process.h"
#include "run_folder.h"
#include "run_machine.h"
#include "run_nginx.h"
#include "run_options.h"

namespace loadline::tools {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = "/tmp/loadline-test-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::string path_;
};

RunOptions options_with(std::initializer_list<std::pair<const char*, const char*>> flags) {
  RunOptions options;
  for (const auto& [name, value] : flags) {
    options.flags.push_back({find_config_key(name), {value}});
  }
  return options;
}

TEST(LoadConfig, NeedsALimitAndAnUpstream) {
  const auto loaded = load_config(options_with({}));
  EXPECT_THAT(loaded.faults, ElementsAre(StartsWith("a limit is needed: --limit N"),
                                         StartsWith("an upstream is needed: --upstream URL")));
}

TEST(LoadConfig, TheCommandLineWins) {
  const TestFolder folder;
  auto options = options_with({{"limit", "7"}});
  options.file = folder.write("f.yaml", "version: 1\nlimit: 5\nupstream: 9000\nqueue: 3\n");
  const auto loaded = load_config(options);
  EXPECT_THAT(loaded.faults, IsEmpty());
  EXPECT_EQ(loaded.config.limit, 7u);
  EXPECT_EQ(loaded.config.queue, "3");
}

TEST(LoadConfig, FaultsNameTheFlagOrTheLine) {
  const TestFolder folder;
  auto options = options_with({{"limit", "x"}});
  options.file = folder.write("f.yaml", "version: 1\nwait: 5\n");
  EXPECT_THAT(load_config(options).faults,
              ElementsAre(StartsWith(options.file + ":2:7: key 'wait': value '5'"),
                          StartsWith("--limit: value 'x': allowed is a whole number")));
}

TEST(LoadConfig, ContradictionsNameWhatMadeThem) {
  const TestFolder folder;
  auto options = options_with({{"limit", "5"}, {"upstream", "9000"}, {"admin", "8080"}});
  EXPECT_THAT(load_config(options).faults, ElementsAre(StartsWith("--admin: shares an address")));
  options.flags.pop_back();
  options.file = folder.write("f.yaml", "version: 1\nadmin: 8080\n");
  EXPECT_THAT(load_config(options).faults,
              ElementsAre(StartsWith(options.file + ":2:1: key 'admin': shares an address")));
}

TEST(DescribeRun, IsOneLine) {
  auto config = load_config(options_with({{"limit", "64"}, {"upstream", "9000"}})).config;
  EXPECT_EQ(describe_run(config, false),
            "listening on http://127.0.0.1:8080, guarding http://127.0.0.1:9000 with limit 64, "
            "queue auto, wait 100ms");
  config.queue = "off";
  config.admin = ListenAddress{"::1", 8081};
  EXPECT_EQ(describe_run(config, true),
            "listening on http://127.0.0.1:8080, guarding http://127.0.0.1:9000 with limit 64, "
            "queue off, status on http://[::1]:8081/status; the gate is off: nothing is refused");
}

TEST(ExplainNginx, SaysWhatToDo) {
  EXPECT_THAT(explain_nginx("nginx: [emerg] module \"/m.so\" version 1024000 instead of 1022001 in "
                            "/c:4\n",
                            "/usr/sbin/nginx", "/m.so"),
              StartsWith("/m.so was built for another nginx than /usr/sbin/nginx: "));
  EXPECT_THAT(explain_nginx("nginx: [emerg] module \"/m.so\" is not binary compatible in /c:4\n",
                            "/n", "/m.so"),
              HasSubstr("was built for another nginx"));
  EXPECT_THAT(
      explain_nginx("x\nnginx: [emerg] dlopen() \"/m.so\" failed (why) in /c:4\n", "/n", "/m.so"),
      StartsWith("/m.so cannot be loaded: dlopen()"));
  EXPECT_THAT(
      explain_nginx("nginx: [emerg] unknown directive \"loadline_gate\" in /c:9\n", "/n", "/m.so"),
      HasSubstr("is not this version's module"));
  EXPECT_EQ(explain_nginx("2026/01/01 10:00:00 [emerg] 12#12: \"x\" is odd in /c:9\n", "/n", "/m"),
            "nginx refuses the configuration: \"x\" is odd in /c:9");
  EXPECT_EQ(explain_nginx("", "/n", "/m"), "nginx refuses the configuration: it gives no reason");
}

TEST(FindNginx, SaysWhatIsMissing) {
  EXPECT_THROW(find_nginx("/nonexistent/nginx"), std::runtime_error);
  EXPECT_THROW(find_module("/nonexistent/module.so"), std::runtime_error);
}

TEST(FindModule, WhereTheBuildTheInstallationAndThePackagePutIt) {
  constexpr const char* kDebian = "/usr/lib/nginx/modules/ngx_http_loadline_module.so";
  EXPECT_THAT(module_places("/src/build/bin/loadline"),
              ElementsAre("/src/build/modules/ngx_http_loadline_module.so",
                          "/src/build/lib/nginx/modules/ngx_http_loadline_module.so", kDebian));
  EXPECT_THAT(module_places("/usr/bin/loadline"),
              ElementsAre("/usr/modules/ngx_http_loadline_module.so", kDebian));
}

TEST(FindModule, TakesWhatItFindsThere) {
  const TestFolder folder;
  const std::string given = folder.write("m.so", "");
  EXPECT_EQ(find_module(given), given);
}

TEST(Machine, ProcessorsOfAQuota) {
  EXPECT_EQ(processors_of_quota("max 100000\n"), std::nullopt);
  EXPECT_EQ(processors_of_quota(""), std::nullopt);
  EXPECT_EQ(processors_of_quota("50000 100000\n"), 1u);
  EXPECT_EQ(processors_of_quota("150000 100000\n"), 2u);
  EXPECT_EQ(processors_of_quota("200000 100000\n"), 2u);
  EXPECT_GE(usable_processors(), 1u);
}

TEST(Machine, ConnectionsFollowTheOpenFiles) {
  EXPECT_EQ(connections_for(1024), 896u);
  EXPECT_EQ(connections_for(10), 64u);
  EXPECT_EQ(connections_for(1'048'576), 32'768u);
  Config config = default_config();
  config.limit = 64;
  EXPECT_FALSE(too_few_connections(config, 896, 1024));
  config.limit = 1000;
  EXPECT_THAT(*too_few_connections(config, 896, 1024), HasSubstr("open files from 1024"));
}

TEST(Machine, ANameThatDoesNotResolveIsSaidClearly) {
  EXPECT_THROW(upstream_servers(*parse_upstream("http://nosuch.invalid")), std::runtime_error);
  EXPECT_THAT(upstream_servers(*parse_upstream("http://10.0.0.1:90")), ElementsAre("10.0.0.1:90"));
  EXPECT_THAT(upstream_servers(*parse_upstream("unix:/a")), ElementsAre("unix:/a"));
  EXPECT_EQ(upstream_servers(*parse_upstream("localhost:9")).size(), 1u);
}

TEST(Machine, APortInUseIsSeen) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const ListenAddress taken{"127.0.0.1", ntohs(address.sin_port)};
  EXPECT_THAT(*listen_obstacle(taken), HasSubstr("is in use"));
  close(listener);
  EXPECT_FALSE(listen_obstacle(taken));
}

TEST(RunFolder, IsOursAlone) {
  const TestFolder base;
  const RunFolder folder(base.path(), "a");
  struct stat status {};
  ASSERT_EQ(stat(folder.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
  try {
    const RunFolder second(base.path(), "a");
    FAIL() << "two runs of one name";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'a' runs already, as pid " + std::to_string(getpid())));
  }
  const RunFolder other(base.path(), "b");
}

TEST(LookForRun, SeesWhoHoldsTheLock) {
  const TestFolder base;
  const std::string path = base.path() + "/a";
  EXPECT_EQ(look_for_run(path).pid, 0);
  {
    const RunFolder folder(base.path(), "a");
    EXPECT_EQ(look_for_run(path).pid, getpid());
  }
  EXPECT_EQ(look_for_run(path).pid, 0);
  EXPECT_FALSE(look_for_run(path).forbidden);
}

// Only root can become someone else, and only for root is mode 0 no obstacle.
TEST(LookForRun, AFolderThatMayNotBeEntered) {
  const TestFolder base;
  const RunFolder folder(base.path(), "a");
  const bool is_root = geteuid() == 0;
  fs::permissions(folder.path(), fs::perms::none);
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  const RunSeen seen = look_for_run(folder.path());
  ASSERT_TRUE(!is_root || seteuid(0) == 0);
  fs::permissions(folder.path(), fs::perms::owner_all);
  EXPECT_TRUE(seen.forbidden);
}

TEST(RunFolder, ALookAtTheLockKeepsNoRunFromStarting) {
  const TestFolder base;
  { const RunFolder folder(base.path(), "a"); }
  const int lock = open((base.path() + "/a/lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_SH), 0);
  std::thread looking([lock] {
    std::this_thread::sleep_for(milliseconds(20));
    close(lock);
  });
  EXPECT_NO_THROW(RunFolder(base.path(), "a"));
  looking.join();
}

TEST(RunFolder, CleansUpBeforeAndAfter) {
  const TestFolder base;
  fs::create_directories(base.path() + "/a");
  std::ofstream(base.path() + "/a/control.sock") << "";
  std::ofstream(base.path() + "/a/nginx.pid") << "999999999\n";
  {
    const RunFolder folder(base.path(), "a");
    EXPECT_FALSE(fs::exists(folder.path() + "/control.sock"));
    folder.write("nginx.conf", "x");
    EXPECT_TRUE(fs::exists(folder.path() + "/nginx.conf"));
    EXPECT_TRUE(fs::exists(folder.scratch()));
  }
  EXPECT_FALSE(fs::exists(base.path() + "/a/nginx.conf"));
  EXPECT_FALSE(fs::exists(base.path() + "/a.temp"));
  const RunFolder again(base.path(), "a");
}

TEST(RunFolder, DoesNotFollowALinkThatSomeoneLaid) {
  const TestFolder base;
  fs::create_directories(base.path() + "/elsewhere");
  fs::create_directory_symlink(base.path() + "/elsewhere", base.path() + "/a");
  EXPECT_THROW(RunFolder(base.path(), "a"), std::runtime_error);
}

TEST(RunFolder, ATooLongPathIsSaid) {
  EXPECT_THROW(RunFolder("/tmp/" + std::string(120, 'x'), "a"), std::runtime_error);
}

TEST(Process, RunsToItsEnd) {
  const auto good = run_to_end({"/bin/sh", "-c", "echo out; echo err >&2"}, seconds(10));
  EXPECT_TRUE(good.succeeded);
  EXPECT_EQ(good.text, "out\nerr\n");
  EXPECT_FALSE(run_to_end({"/bin/sh", "-c", "exit 3"}, seconds(10)).succeeded);
  EXPECT_FALSE(run_to_end({"/bin/sleep", "60"}, milliseconds(20)).succeeded);
  EXPECT_THROW(run_to_end({"/nonexistent"}, seconds(10)), std::system_error);
}

TEST(Process, SignalsAreReadOneByOne) {
  SignalReader signals{SIGUSR1, SIGCHLD};
  EXPECT_EQ(signals.next(milliseconds(0)), std::nullopt);
  raise(SIGUSR1);
  EXPECT_EQ(signals.next(seconds(10)), SIGUSR1);
  Child child = Child::start({"/bin/sh", "-c", "exit 3"});
  EXPECT_EQ(signals.next(seconds(10)), SIGCHLD);
  EXPECT_TRUE(child.has_ended());
  EXPECT_EQ(child.end_text(), "exit code 3");
}

TEST(Process, AGroupEndsTogether) {
  Child child = Child::start({"/bin/sleep", "60"});
  EXPECT_FALSE(child.has_ended());
  child.kill_group();
  EXPECT_TRUE(child.has_ended());
  EXPECT_EQ(child.end_text(), "signal 9 (Killed)");
}

}  // namespace
}  // namespace loadline::tools
