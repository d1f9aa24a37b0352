#include "nginx/wrk.h"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

#include "nginx/process.h"

namespace loadline::bench {
namespace {

std::uint64_t number(const std::string& text) {
  return std::stoull(text);
}

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

LoadResult parse_wrk(std::string_view summary) {
  static const std::regex kRequests(R"((\d+) requests in )");
  static const std::regex kRefused(R"(Non-2xx or 3xx responses: (\d+))");
  static const std::regex kErrors(
      R"(Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+))");
  const std::string text(summary);
  LoadResult result;
  std::smatch found;
  if (!std::regex_search(text, found, kRequests)) {
    throw std::runtime_error("no summary from wrk: " + text);
  }
  result.requests = number(found[1]);
  if (std::regex_search(text, found, kRefused)) {
    result.refused = number(found[1]);
  }
  if (std::regex_search(text, found, kErrors)) {
    result.errors = number(found[1]) + number(found[2]) + number(found[3]) + number(found[4]);
  }
  return result;
}

LoadResult run_wrk(const Load& load, const std::filesystem::path& folder) {
  constexpr std::chrono::seconds kGrace{10};
  const std::filesystem::path output = folder / "wrk.out";
  Process wrk({.command = {"wrk", "-t1", fmt::format("-c{}", load.connections),
                           fmt::format("-d{}s", load.time.count()),
                           fmt::format("http://127.0.0.1:{}/", load.port)},
               .cpu = load.cpu,
               .output = output});
  const int code = wrk.wait(load.time + kGrace);
  const std::string summary = contents(output);
  if (code != 0) {
    throw std::runtime_error(fmt::format("wrk ended with {}: {}", code, summary));
  }
  return parse_wrk(summary);
}

}  // namespace loadline::bench
