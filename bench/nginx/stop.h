// What ends a run before it is done: a signal, or its time being over.
//
// Everything here that waits asks throw_if_stopped() a few times a second, so that servers and
// directories are cleaned up in the ordinary way, by leaving their scopes.
#pragma once

#include <chrono>
#include <stdexcept>

namespace loadline::bench {

class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// From now on SIGINT, SIGTERM and SIGHUP stop the run instead of ending the process.
void stop_on_signals();

// Stops the run when so much time has passed from now.
void stop_after(std::chrono::seconds longest);

// Throws Stopped once there is a reason to.
void throw_if_stopped();

}  // namespace loadline::bench
