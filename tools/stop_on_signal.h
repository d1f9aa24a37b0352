// Ending early, but in good order, when someone asks for it.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

namespace loadline::tools {

// While it lives, the first SIGINT or SIGTERM asks for a stop; the second one ends the process as
// usual.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const;
  std::optional<int> signal() const;  // the one that came; set before the stop is asked for

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loadline::tools
