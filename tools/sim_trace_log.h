// A line of an access log, as nginx and Apache write them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim_trace_scan.h"

namespace loadline::tools {

struct LogLine {
  // What stands where the time that a request took is looked for.
  enum class Took : std::uint8_t {
    unknown,  // nothing, "-", or what is no time
    decimal,  // seconds: `took` in nanoseconds
    whole,    // a whole number of what is not said
  };

  std::int64_t second = 0;  // since 1970
  Took kind = Took::unknown;
  std::int64_t took = 0;
  bool calls = false;    // it is of a request, and not of a connection that made none
  bool refused = false;  // by its status
};

class LogLineReader {
 public:
  // A fault, or `line` is filled in.
  std::optional<LineFault> read(std::string_view text, LogLine& line);

 private:
  [[nodiscard]] std::optional<std::int64_t> second_of(std::string_view time);

  // Many lines have the same second.
  static constexpr std::size_t kTimeBytes = 26;
  std::array<char, kTimeBytes> last_time_{};
  std::int64_t last_second_ = 0;
};

}  // namespace loadline::tools
