// n requests at the same instant: the shape of a flash crowd, and of a cache that has just emptied.
//
// All connections are made first, and then all requests are written in one go, so that what is seen
// is what the service does with n requests at once and not how fast connections can be made.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net_http.h"
#include "text.h"

namespace loadline::tools {

struct BurstOptions {
  Url url = {};
  unsigned count = 10;
  std::chrono::nanoseconds timeout = std::chrono::seconds{10};  // to connect, and then to answer
  std::string method = "GET";
  std::vector<HeaderField> headers = {};
  bool allow_remote = false;
};

// What became of one request.
struct BurstAnswer {
  int status = 0;            // 0: no answer
  std::string failure = {};  // why not: timeout, reset, closed_early, malformed, or not connected
  std::chrono::nanoseconds time{};  // since the requests were written
  std::uint64_t body_bytes = 0;
  std::optional<std::uint32_t> retry_after = {};  // seconds

  bool connected = false;
  int slice() const;  // which 100 ms of the burst it ended in, from 0
};

struct BurstReport {
  std::vector<BurstAnswer> answers;       // one for each request, in the order in which they ended
  std::chrono::nanoseconds write_time{};  // from the first request written to the last

  // How many ended with a status in a slice.
  std::map<std::pair<int, int>, std::uint64_t> groups() const;
  std::uint64_t not_connected() const;
  std::string first_connect_failure() const;  // empty when all were connected
};

// Bodies and Retry-After of the answers from 400 on: rejections (429, 503 and 504) in one table,
// and what went wrong otherwise in another. Each begins with an empty line; empty without such
// answers.
std::string failures_table(const BurstReport& report);

// Blocks until all are answered or the timeout is over. Throws std::runtime_error when the host
// does not resolve or is not loopback without allow_remote.
BurstReport run_burst(const BurstOptions& options);

}  // namespace loadline::tools
