#include "nginx/stop.h"

#include <csignal>
#include <string>

namespace loadline::bench {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t received = 0;
Clock::time_point latest_end = Clock::time_point::max();

void remember(int signal) {
  received = signal;
}

}  // namespace

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = remember;  // without SA_RESTART: whoever waits wakes up
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

void stop_after(std::chrono::seconds longest) {
  latest_end = Clock::now() + longest;
}

void throw_if_stopped() {
  if (received != 0) {
    throw Stopped("stopped by signal " + std::to_string(received));
  }
  if (Clock::now() > latest_end) {
    throw Stopped("the whole run took too long");
  }
}

}  // namespace loadline::bench
