#include "nginx/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "nginx/stop.h"

extern "C" {  // glibc 2.36 forgot to say so itself
#include <sys/pidfd.h>
}

namespace loadline::bench {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

// In the child, between fork and exec: system calls only, nothing that allocates or throws.
[[noreturn]] void become(char* const* arguments, const cpu_set_t& cpus, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    _exit(127);  // it died before it could be watched
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::signal(signal, SIG_DFL);
  }
  setpgid(0, 0);  // a ^C at the terminal is for us, who then end it in order
  sched_setaffinity(0, sizeof cpus, &cpus);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(arguments[0], arguments);
  _exit(127);
}

// The fields of /proc/PID/stat from the third on; the second, the program's name, may hold
// anything.
std::vector<std::string> stat_fields(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return {};
  }
  std::istringstream rest(text.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) {
    fields.push_back(field);
  }
  return fields;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) {
      continue;
    }
    const std::vector<std::string> fields = stat_fields(pid);
    if (fields.size() > 1 && fields[1] == std::to_string(parent)) {
      children.push_back(pid);
    }
  }
  return children;
}

// Has the process behind this pidfd ended by then? Not throwing: destructors ask too.
bool has_ended(const Descriptor& pidfd, milliseconds time) noexcept {
  pollfd ended{.fd = pidfd.number(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    close(number_);
  }
}

Process::Process(const Start& start) {
  std::vector<char*> arguments;
  for (const std::string& argument : start.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const cpu_set_t cpus = only(start.cpu);
  const Descriptor output(
      open(start.output.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  if (output.number() < 0) {
    fail(start.output.string());
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    fail("fork");
  }
  if (pid == 0) {
    become(arguments.data(), cpus, output.number(), parent);
  }
  remember(pid);
}

Process::~Process() {
  constexpr milliseconds kPatience{2000};
  if (!ended_) {
    pidfd_send_signal(members_.front().pidfd.number(), SIGTERM, nullptr, 0);
    if (!ended_within(kPatience)) {
      signal_all(SIGKILL);
      ended_within(kPatience);
    }
  }
  // A master that was killed leaves its workers behind.
  signal_all(SIGKILL);
}

void Process::remember(pid_t pid) {
  Descriptor pidfd(pidfd_open(pid, 0));
  if (pidfd.number() < 0) {
    if (members_.empty()) {
      fail("pidfd_open");
    }
    return;  // a child that has ended meanwhile
  }
  members_.push_back({pid, std::move(pidfd)});
  pids_.push_back(pid);
}

const std::vector<pid_t>& Process::family() {
  for (const pid_t child : children_of(pids_.front())) {
    if (std::ranges::find(pids_, child) == pids_.end()) {
      remember(child);
    }
  }
  return pids_;
}

void Process::signal_all(int signal) noexcept {
  for (const Member& member : members_) {
    pidfd_send_signal(member.pidfd.number(), signal, nullptr, 0);
  }
}

bool Process::ended_within(milliseconds time) noexcept {
  if (ended_) {
    return true;
  }
  if (!has_ended(members_.front().pidfd, time)) {
    return false;
  }
  int status = 0;
  if (waitpid(pids_.front(), &status, 0) != pids_.front()) {
    return false;
  }
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended_ = true;
  return true;
}

bool Process::ended() {
  return ended_within(milliseconds(0));
}

int Process::wait(milliseconds longest) {
  constexpr milliseconds kBetweenChecks{200};
  const auto until = Clock::now() + longest;
  while (!ended_within(kBetweenChecks)) {
    throw_if_stopped();
    if (Clock::now() > until) {
      throw std::runtime_error(fmt::format("process {} does not end", pids_.front()));
    }
  }
  return code_;
}

std::chrono::nanoseconds cpu_time(std::span<const pid_t> pids) {
  std::chrono::nanoseconds sum{0};
  for (const pid_t pid : pids) {
    clockid_t clock = 0;
    timespec time{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
      throw std::runtime_error(fmt::format("process {} has ended", pid));
    }
    sum += std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  return sum;
}

std::chrono::nanoseconds cpu_time_in_ticks(std::span<const pid_t> pids) {
  constexpr std::size_t kUtime = 11;  // the 14th field, counted from the third
  const std::int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  std::int64_t ticks = 0;
  for (const pid_t pid : pids) {
    const std::vector<std::string> fields = stat_fields(pid);
    ticks += std::stoll(fields.at(kUtime)) + std::stoll(fields.at(kUtime + 1));
  }
  return std::chrono::nanoseconds(ticks * tick_ns);
}

void pin_this_process(int cpu) {
  const cpu_set_t set = only(cpu);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    fail("sched_setaffinity");
  }
}

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace loadline::bench
