// Child processes and signals, for the one command that stays in front of another program.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace loadline::tools {

// Signals that are read one after the other instead of interrupting. While one lives, the signals
// are blocked in this thread, so it must be made before any other thread; SIGPIPE is ignored.
class SignalReader {
 public:
  explicit SignalReader(std::initializer_list<int> signals);
  ~SignalReader();
  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;

  // The next signal, waiting up to `timeout` for it; nothing when none came.
  std::optional<int> next(std::chrono::milliseconds timeout);

 private:
  int descriptor_ = -1;
};

// A child that leads a process group of its own, so that a Ctrl-C at the terminal reaches us alone
// and that whatever it has started can be ended with it. It gets a SIGTERM when this process dies,
// however it dies: nginx's master then ends its workers, which a SIGKILL would leave behind.
class Child {
 public:
  // Starts `arguments` (the first is the program's path), with its limit of open files raised as
  // far as it goes. `output`, if not -1, becomes its stdout and stderr. Throws std::system_error.
  static Child start(const std::vector<std::string>& arguments, int output = -1);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills the whole group if it still runs

  pid_t pid() const { return pid_; }

  // Whether it has ended; never waits.
  bool has_ended();

  void send(int signal);  // to the child alone
  void kill_group();      // SIGKILL to all that is left, and waits for the child

  // How it ended, in words: "exit code 1", "signal 9 (Killed)".
  std::string end_text() const;

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // -1 when moved from
  bool ended_ = false;
  int status_ = 0;
};

struct Output {
  bool succeeded = false;  // ended in time, with exit code 0
  std::string text;        // stdout and stderr together
};

// Runs a program to its end, for at most `timeout`. Throws std::system_error if it cannot start.
Output run_to_end(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout);

}  // namespace loadline::tools
