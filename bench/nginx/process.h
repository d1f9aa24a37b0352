// Programs that a benchmark starts: each on one processor, ended by its id, and its CPU time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace loadline::bench {

// An open file descriptor; -1 for none. Closed when it goes.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_ = -1;
};

// A running program, and the processes it has forked. The destructor ends them all: politely, and
// after two seconds for good. They are held by pidfds, so a reused id can never be hit; and the
// kernel asks the program to end when this process dies without having come to its destructor.
class Process {
 public:
  struct Start {
    std::vector<std::string> command;  // the program is looked for in PATH
    int cpu = 0;                       // the only one it may run on
    std::filesystem::path output;      // where stdout and stderr go
  };

  explicit Process(const Start& start);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // The program and its children, as of now.
  const std::vector<pid_t>& family();

  // Has it ended, of itself?
  [[nodiscard]] bool ended();

  // Waits for its end and gives its exit code, 128 + signal if it was killed. Throws if that takes
  // longer than `longest`.
  int wait(std::chrono::milliseconds longest);

 private:
  struct Member {
    pid_t pid;
    Descriptor pidfd;
  };

  bool ended_within(std::chrono::milliseconds time) noexcept;
  void remember(pid_t pid);
  void signal_all(int signal) noexcept;

  std::vector<Member> members_;  // the program first
  std::vector<pid_t> pids_;
  bool ended_ = false;
  int code_ = 0;
};

// User plus system time that these processes have used: what /proc/PID/stat shows in hundredths of
// a second as utime + stime, here in nanoseconds, since two seconds have only 200 of those.
std::chrono::nanoseconds cpu_time(std::span<const pid_t> pids);

// The same from /proc/PID/stat, to check the one against the other.
std::chrono::nanoseconds cpu_time_in_ticks(std::span<const pid_t> pids);

void pin_this_process(int cpu);

// Is the program in PATH?
bool is_installed(const std::string& program);

}  // namespace loadline::bench
