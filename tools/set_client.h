// Asking a running `loadline run` over the unix socket in its folder.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

namespace loadline::tools {

// No one listens at the socket: it is missing, was left by a dead run, or may not be entered.
struct NotRunning : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ControlAnswer {
  unsigned status = 0;
  std::string body;
};

// One HTTP request to the socket. Throws NotRunning when there is no one, std::runtime_error when
// the answer does not come within `timeout`.
ControlAnswer ask_control(const std::string& socket, const std::string& method,
                          const std::string& target, std::chrono::milliseconds timeout);

}  // namespace loadline::tools
