// The servers that are compared: nginx and HAProxy, each with its own folder, port and processor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "nginx/http_probe.h"
#include "nginx/process.h"

namespace loadline::bench {

// What a server is told, and what it must then answer at "/".
struct Variant {
  enum class Software : std::uint8_t { nginx, haproxy };

  std::string name{};
  Software software = Software::nginx;
  std::string main{};    // nginx: lines before `events`
  std::string http{};    // nginx: lines within `http`
  std::string answer{};  // what "/" does: within `location /`, or within HAProxy's `frontend`
  std::string hold{};    // within `location = /hold`, to which one request is left hanging
  int status = 200;
  std::string body{};  // expected; empty: any
  // So many callers keep the server busy without a pause, as under the overload that is meant here.
  int connections = 256;
};

// A folder in the temporary directory that is removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// A running server that has been seen to give the right answer. Ended by the destructor.
class Server {
 public:
  // Throws std::runtime_error, with what the server said, if it does not come up or answers
  // wrongly.
  Server(const Variant& variant, int cpu);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_.path(); }

  // Of all its processes, from their start.
  std::chrono::nanoseconds cpu_time() { return bench::cpu_time(process_.family()); }
  std::chrono::nanoseconds cpu_time_in_ticks() {
    return bench::cpu_time_in_ticks(process_.family());
  }

 private:
  void wait_until_it_listens();
  void wait_for_right_answer(const Variant& variant);
  void warm_up();
  [[noreturn]] void fail(const std::string& what);

  TemporaryFolder folder_;
  std::uint16_t port_;
  Process process_;
  std::unique_ptr<Connection> held_;
};

}  // namespace loadline::bench
