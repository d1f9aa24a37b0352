// One sample of one variant, and rounds of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "nginx/server.h"

namespace loadline::bench {

// CPU time of the server per request that was answered.
struct Sample {
  double us_per_request = 0;
  double us_per_request_in_ticks = 0;  // the same from /proc/PID/stat
  std::uint64_t requests = 0;
  double requests_per_second = 0;
  double server_share = 0;  // of its processor's time
  double others_share = 0;  // of both processors' time: what ran there and was none of ours
};

// By variant; the i-th samples of all variants are from the same round.
using Samples = std::map<std::string, std::vector<Sample>>;

// Which processor runs what. With two, the upstream shares wrk's: it is the proxy that is measured,
// and must not be disturbed.
struct Placement {
  int server = 0;
  int load = 1;
  int upstream = 1;
};

class Measurement {
 public:
  // `upstream` is running and outlives this.
  Measurement(Placement placement, Server& upstream, std::chrono::seconds time, std::uint64_t seed);

  // Each variant once, in random order, each on a server that was started for it: what a process
  // happens to get (addresses, cache colours) is then part of the spread instead of a constant
  // error.
  void add_round(const std::vector<Variant>& variants, Samples& samples);

 private:
  Sample measure(const Variant& variant);

  Placement placement_;
  Server& upstream_;
  std::chrono::seconds time_;
  std::mt19937_64 random_;
};

}  // namespace loadline::bench
