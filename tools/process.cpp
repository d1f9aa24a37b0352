#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// A pipe whose ends close themselves.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      fail("pipe");
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() { close_end(1); }

 private:
  void close_end(std::size_t i) {
    if (ends_[i] >= 0) {
      close(ends_[i]);
      ends_[i] = -1;
    }
  }

  std::array<int, 2> ends_{-1, -1};
};

void raise_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become(char** arguments, int output, int failure, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    _exit(1);  // it died before the line above
  }
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  raise_open_files();
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  // Asio opens its sockets without FD_CLOEXEC: a child that inherited a listener would keep its
  // port taken. (The pipe for our failure is marked itself.)
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  execv(arguments[0], arguments);
  const int error = errno;
  [[maybe_unused]] const auto written = write(failure, &error, sizeof error);
  _exit(127);
}

milliseconds left_until(steady_clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - steady_clock::now()));
}

}  // namespace

SignalReader::SignalReader(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : signals) {
    sigaddset(&set, one);
  }
  signal(SIGPIPE, SIG_IGN);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) {
    fail("sigprocmask");
  }
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) {
    fail("signalfd");
  }
}

SignalReader::~SignalReader() {
  close(descriptor_);
}

std::optional<int> SignalReader::next(milliseconds timeout) {
  pollfd waiting{descriptor_, POLLIN, 0};
  poll(&waiting, 1, static_cast<int>(timeout.count()));
  signalfd_siginfo info{};
  if (read(descriptor_, &info, sizeof info) != sizeof info) {
    return std::nullopt;
  }
  return static_cast<int>(info.ssi_signo);
}

Child Child::start(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // execv's old signature
  }
  pointers.push_back(nullptr);

  Pipe failure;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    fail("fork");
  }
  if (pid == 0) {
    become(pointers.data(), output, failure.writing(), parent);
  }
  setpgid(pid, pid);  // here too: whichever comes first
  Child child(pid);
  failure.close_writing();
  int error = 0;
  if (read(failure.reading(), &error, sizeof error) == sizeof error) {
    errno = error;
    fail(arguments.front().c_str());
  }
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_), status_(other.status_) {}

Child::~Child() {
  if (pid_ > 0 && !ended_) {
    kill_group();
  }
}

bool Child::has_ended() {
  if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) {
    ended_ = true;
  }
  return ended_;
}

void Child::send(int signal) {
  if (!has_ended()) {
    kill(pid_, signal);
  }
}

void Child::kill_group() {
  kill(-pid_, SIGKILL);
  while (!ended_) {
    if (waitpid(pid_, &status_, 0) == pid_ || errno != EINTR) {
      ended_ = true;
    }
  }
}

std::string Child::end_text() const {
  if (WIFSIGNALED(status_)) {
    const int number = WTERMSIG(status_);
    return fmt::format("signal {} ({})", number, strsignal(number));
  }
  return fmt::format("exit code {}", WEXITSTATUS(status_));
}

Output run_to_end(const std::vector<std::string>& arguments, milliseconds timeout) {
  Pipe pipe;
  Child child = Child::start(arguments, pipe.writing());
  pipe.close_writing();

  Output output;
  const auto end = steady_clock::now() + timeout;
  std::array<char, 4096> bytes{};
  while (true) {
    pollfd waiting{pipe.reading(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left_until(end).count())) == 0) {
      child.kill_group();
      return output;
    }
    const auto count = read(pipe.reading(), bytes.data(), bytes.size());
    if (count <= 0) {
      break;
    }
    output.text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  // It has closed its output, so it is as good as gone; whoever lingers is killed at the end.
  while (!child.has_ended() && left_until(end).count() > 0) {
    poll(nullptr, 0, 1);
  }
  output.succeeded = child.has_ended() && child.end_text() == "exit code 0";
  return output;
}

}  // namespace loadline::tools
