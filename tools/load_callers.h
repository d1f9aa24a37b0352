// Callers of the load generator who leave it to the client half whether and when they try again.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load.h"
#include "load_connection.h"
#include "loadline/client/caller.h"

namespace loadline::tools {

// One call, over all its attempts. Of one thread.
class LedCall {
 public:
  LedCall(client::Caller& caller, const LoadOptions& options, std::size_t class_index,
          Clock::time_point due);

  // May its first attempt go, or the next? If not, it is over.
  bool send(Clock::time_point now);
  // The attempt that was let go has ended: when to ask for the next. Nothing: it is over.
  std::optional<Clock::time_point> ended(const Outcome& outcome, Clock::time_point now);

  // Of the attempt that was let go.
  Clock::time_point give_up() const;
  const std::string& head() const { return head_; }

 private:
  client::Caller& caller_;
  const LoadOptions& options_;
  std::size_t class_index_;
  client::Call call_;
  client::Attempt attempt_;
  std::string head_;
};

// The programs that the callers are, each with a client::Caller of its own. Any thread.
class LoadCallers {
 public:
  explicit LoadCallers(const LoadOptions& options);

  std::shared_ptr<LedCall> open(std::size_t class_index, Clock::time_point due);
  ClientHalfReport report() const;

 private:
  const LoadOptions& options_;
  std::vector<std::unique_ptr<client::Caller>> callers_;
  std::atomic<std::uint64_t> next_{0};
};

// The header fields of each request, but for those that differ from attempt to attempt.
std::vector<HeaderField> load_fields(const LoadOptions& options, std::size_t class_index);
// `left` in whole milliseconds, as options.deadline_header has it.
HeaderField deadline_field(const LoadOptions& options, std::chrono::nanoseconds left);

}  // namespace loadline::tools
