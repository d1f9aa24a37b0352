// A small server for tests, on a free port of loopback: a thread a connection, a handler a request,
// and a stop token that fires when the caller leaves.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace loadline::curl::test {

struct Request {
  std::string line;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
  std::stop_token caller;  // fires when the caller has left

  [[nodiscard]] std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
  [[nodiscard]] long number(const std::string& name) const {
    const std::string text = field(name);
    return text.empty() ? -1 : std::stol(text);
  }
};

struct Response {
  int status = 200;
  std::string fields = "";  // each "Name: value\r\n"
  std::string body = "done";
};

class HttpServer {
 public:
  // Nothing: the connection is closed without an answer.
  using Handler = std::function<std::optional<Response>(const Request&)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    accepts_ = std::thread([this] { accept_all(); });
  }
  ~HttpServer() {
    shutdown(listener_, SHUT_RDWR);
    accepts_.join();
    close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const Connection& connection : connections_) {
        shutdown(connection.fd, SHUT_RDWR);
      }
    }
    for (Connection& connection : connections_) {
      connection.thread.join();
      close(connection.fd);
    }
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/";
  }
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] int connections() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(connections_.size());
  }

 private:
  struct Connection {
    int fd;
    std::thread thread;
  };

  void accept_all() {
    for (int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); fd >= 0;
         fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) {
      const std::lock_guard lock(mutex_);
      connections_.push_back({fd, std::thread([this, fd] { serve(fd); })});
    }
  }

  void serve(int fd) {
    std::string input;
    Request request;
    while (read_request(fd, input, request)) {
      ++requests_;
      const std::optional<Response> response = watched(fd, request);
      if (!response) {
        break;
      }
      const std::string text =
          "HTTP/1.1 " + std::to_string(response->status) + " Some\r\n" + response->fields +
          "Content-Length: " + std::to_string(response->body.size()) + "\r\n\r\n" + response->body;
      send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      request = {};
    }
    shutdown(fd, SHUT_RDWR);
  }

  // Handles it while a second thread looks whether the caller leaves. (Nobody here sends the next
  // request before the answer.)
  std::optional<Response> watched(int fd, Request& request) {
    std::stop_source caller;
    request.caller = caller.get_token();
    std::atomic<bool> answered{false};
    std::thread watch([&] {
      pollfd look{.fd = fd, .events = POLLRDHUP, .revents = 0};
      while (!answered && !caller.stop_requested()) {
        if (poll(&look, 1, 1) > 0) {
          caller.request_stop();
        }
      }
    });
    std::optional<Response> response = handler_(request);
    answered = true;
    watch.join();
    return response;
  }

  static bool read_request(int fd, std::string& input, Request& request) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const auto more = [&] {
      char buffer[4096];
      const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      input.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      return got > 0;
    };
    std::size_t end = input.find(kEnd);
    for (; end == std::string::npos; end = input.find(kEnd)) {
      if (!more()) {
        return false;
      }
    }
    read_head(input.substr(0, end + 2), request);
    input.erase(0, end + kEnd.size());
    const auto length = static_cast<std::size_t>(std::max(request.number("content-length"), 0L));
    while (input.size() < length) {
      if (!more()) {
        return false;
      }
    }
    request.body = input.substr(0, length);
    input.erase(0, length);
    return true;
  }

  static void read_head(const std::string& head, Request& request) {
    std::size_t begin = 0;
    for (std::size_t end = head.find("\r\n"); end != std::string::npos;
         begin = end + 2, end = head.find("\r\n", begin)) {
      const std::string line = head.substr(begin, end - begin);
      if (begin == 0) {
        request.line = line;
        continue;
      }
      const std::size_t colon = line.find(':');
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return std::tolower(c); });
      request.fields[name] = line.substr(line.find_first_not_of(' ', colon + 1));
    }
  }

  Handler handler_;
  int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
  std::atomic<int> requests_{0};
  std::thread accepts_;
  std::mutex mutex_;
  std::list<Connection> connections_;
};

}  // namespace loadline::curl::test
