// Callers of a service, a thread each: every one asks once a second, whatever became of the last
// call, and waits at most a second for it.
#pragma once

#include <chrono>
#include <string>

#include "figures.h"

namespace loadline::bench::storm {

enum class Manners {
  naive,  // tries again at once whenever it has no answer
  ours,   // the client half with its defaults, in programs of ten threads each
};

struct CallerOptions {
  std::string url;
  Manners manners = Manners::naive;
  unsigned callers = 200;
};

// Both may make as many attempts, and cut one off as early.
inline constexpr unsigned kAttempts = 4;
inline constexpr std::chrono::milliseconds kAttemptTime{250};
inline constexpr std::chrono::milliseconds kPatience{1000};
inline constexpr std::chrono::milliseconds kInterval{1000};

// Calls until `length` is over. Calls are counted from when this is called.
void run_callers(const CallerOptions& options, std::chrono::milliseconds length, Journal& journal);

}  // namespace loadline::bench::storm
