// A log that a real nginx has written is read back.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "load_test_server.h"
#include "process.h"
#include "run_nginx.h"
#include "sim_trace.h"

namespace loadline::tools {
namespace {

namespace fs = std::filesystem;

std::string nginx_or_nothing() {
  try {
    return find_nginx("");
  } catch (const std::runtime_error&) {
    return "";
  }
}

// nginx on a free port of loopback, with a log of each form.
class TraceOfNginx : public testing::Test {
 protected:
  void SetUp() override {
    program_ = nginx_or_nothing();
    if (program_.empty()) {
      GTEST_SKIP() << "no nginx here";
    }
    std::string pattern = "/tmp/loadline-test-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    // Another may take a port between its choice and nginx's start.
    ASSERT_TRUE(eventually([&] { return start(); }));
  }
  ~TraceOfNginx() override {
    std::error_code ignored;
    nginx_.reset();
    fs::remove_all(folder_, ignored);
  }
  TraceOfNginx() = default;
  TraceOfNginx(const TraceOfNginx&) = delete;
  TraceOfNginx& operator=(const TraceOfNginx&) = delete;

  [[nodiscard]] std::string log(std::string_view name) const {
    return fmt::format("{}/{}.log", folder_, name);
  }

  // Sends bytes on a connection of their own and reads until nginx closes it.
  [[nodiscard]] std::string ask(std::string_view bytes) const {
    const int fd = connected();
    EXPECT_GE(fd, 0);
    EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    shutdown(fd, SHUT_WR);
    std::string answer;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = recv(fd, part.data(), part.size(), 0)) > 0;) {
      answer.append(part.data(), static_cast<std::size_t>(got));
    }
    close(fd);
    return answer;
  }
  [[nodiscard]] std::string get(std::string_view path, std::string_view agent) const {
    return ask(fmt::format(
        "GET {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nUser-Agent: {}\r\n\r\n", path, agent));
  }

  // Ends nginx, so that all it has to say is in its logs.
  void stop() {
    nginx_->send(SIGQUIT);
    ASSERT_TRUE(eventually([&] { return nginx_->has_ended(); }));
  }

 private:
  bool start() {
    port_ = free_port();
    std::ofstream(folder_ + "/nginx.conf") << configuration();
    nginx_.emplace(Child::start({program_, "-p", folder_, "-e", folder_ + "/error.log", "-c",
                                 folder_ + "/nginx.conf", "-g", "daemon off;"}));
    return eventually([&] {
             const int fd = connected();
             if (fd >= 0) {
               close(fd);
             }
             return fd >= 0 || nginx_->has_ended();
           }) &&
           !nginx_->has_ended();
  }

  [[nodiscard]] std::string configuration() const {
    return fmt::format(R"(
worker_processes 2;
pid {0}/nginx.pid;
events {{ worker_connections 64; }}
http {{
  log_format last '$remote_addr - $remote_user [$time_local] "$request" $status '
                  '$body_bytes_sent "$http_referer" "$http_user_agent" $request_time';
  log_format named '$remote_addr - $remote_user [$time_local] "$request" $status '
                   '$body_bytes_sent "$http_referer" "$http_user_agent" '
                   'rt=$request_time urt="$upstream_response_time" $request_length';
  access_log {0}/combined.log combined;
  access_log {0}/last.log last;
  access_log {0}/named.log named buffer=8k;
  client_body_temp_path {0}/body;
  proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi;
  scgi_temp_path {0}/scgi;
  server {{
    listen 127.0.0.1:{1};
    location / {{ return 200 "fine"; }}
    location /busy {{ return 503; }}
    location /quota {{ return 429; }}
  }}
}}
)",
                       folder_, port_);
  }

  [[nodiscard]] sockaddr_in address() const {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port_);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
  }
  [[nodiscard]] int connected() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in to = address();
    if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      close(fd);
      return -1;
    }
    return fd;
  }
  static std::uint16_t free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any);
    getsockname(fd, reinterpret_cast<sockaddr*>(&any), &size);
    close(fd);
    return ntohs(any.sin_port);
  }

  std::string program_;
  std::string folder_;
  std::uint16_t port_ = 0;
  std::optional<Child> nginx_;
};

TEST_F(TraceOfNginx, HasTheRequestsThatWereMade) {
  int fine = 0;
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    const bool busy = i % 10 == 3;
    const std::string answer =
        get(busy ? (i % 20 == 3 ? "/busy" : "/quota") : "/a\"b\\c", "say \"hi\" \\ [x] \xff 9.999");
    fine += answer.starts_with("HTTP/1.1 200") ? 1 : 0;
    refused += answer.starts_with("HTTP/1.1 503") || answer.starts_with("HTTP/1.1 429") ? 1 : 0;
  }
  EXPECT_EQ(fine, 180);
  EXPECT_EQ(refused, 20);
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(ask("\x16\x03\x01\x02").find("400"), std::string::npos);
  }
  stop();

  for (const char* name : {"combined", "last", "named"}) {
    const Trace trace = read_trace(log(name), {});
    EXPECT_EQ(trace.refusal, "") << name;
    EXPECT_EQ(describe_faults(name, trace.faults), "");
    EXPECT_EQ(trace.format, TraceFormat::nginx);
    EXPECT_EQ(trace.callers.size(), 200U) << name;
    EXPECT_EQ(trace.no_calls, 5U) << name;
    EXPECT_EQ(trace.refused, 20U) << name;
    EXPECT_EQ(trace.without_time, std::string_view(name) == "combined" ? 200U : 20U) << name;
  }
}

}  // namespace
}  // namespace loadline::tools
