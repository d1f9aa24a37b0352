// The load: wrk, on its own processor, over connections that are kept alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace loadline::bench {

struct Load {
  std::uint16_t port = 0;
  std::chrono::seconds time{2};
  int connections = 1;
  int cpu = 1;
};

// What wrk counted.
struct LoadResult {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  // of them, answered with a status from 400 on
  std::uint64_t errors = 0;   // connections and answers that failed
};

// Reads wrk's summary; throws std::runtime_error if it is none.
LoadResult parse_wrk(std::string_view summary);

// Loads 127.0.0.1 from `load.cpu`, as many requests as it can. wrk's output is kept in `folder`.
LoadResult run_wrk(const Load& load, const std::filesystem::path& folder);

}  // namespace loadline::bench
