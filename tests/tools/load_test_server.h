// What the tests of the service and of the generators share: a server that does exactly what a test
// tells it, a client that says exactly what a test tells it, and waiting for a condition.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "text.h"

namespace loadline::tools {

using TestSocket = boost::asio::ip::tcp::socket;

// True once `condition` holds; false when it does not for so long that it never will.
template <class Condition>
bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

// Accepts connections and gives each, with its number from 0, to `script` on a thread of its own.
// The connection is closed when the script returns.
class ScriptedServer {
 public:
  using Script = std::function<void(TestSocket& socket, int number)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    thread_ = std::thread{[this] { accept(); }};
  }

  ~ScriptedServer() {
    stopping_ = true;
    boost::asio::io_context context;
    TestSocket wake{context};
    boost::system::error_code ignored;
    wake.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
    for (auto& connection : connections_) {
      connection.join();
    }
  }

  Url url() const { return {.host = "127.0.0.1", .port = acceptor_.local_endpoint().port()}; }
  int accepted() const { return accepted_; }

  // Reads one request without a body; false when the other side has closed.
  static bool read_request(TestSocket& socket) {
    std::string buffer;
    boost::system::error_code error;
    boost::asio::read_until(socket, boost::asio::dynamic_buffer(buffer), "\r\n\r\n", error);
    return !error;
  }

  static void answer(TestSocket& socket, const std::string& text) {
    boost::system::error_code ignored;
    boost::asio::write(socket, boost::asio::buffer(text), ignored);
  }

 private:
  void accept() {
    for (;;) {
      TestSocket socket{context_};
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (error || stopping_) {
        return;
      }
      connections_.emplace_back([this, socket = std::move(socket), number = accepted_++]() mutable {
        script_(socket, number);
      });
    }
  }

  Script script_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_{context_,
                                           {boost::asio::ip::make_address("127.0.0.1"), 0}};
  std::atomic<bool> stopping_ = false;
  std::atomic<int> accepted_ = 0;
  std::vector<std::thread> connections_;
  std::thread thread_;
};

// A client that sends bytes as they are.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port});
  }

  void send(const std::string& text) { boost::asio::write(socket_, boost::asio::buffer(text)); }

  std::string read_until(const std::string& end) {
    boost::system::error_code error;
    const auto count =
        boost::asio::read_until(socket_, boost::asio::dynamic_buffer(read_), end, error);
    return take(error ? read_.size() : count);
  }

  std::string read_all() {
    boost::system::error_code error;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(read_), error);
    return take(read_.size());
  }

  void reset() {
    socket_.set_option(boost::asio::socket_base::linger{true, 0});
    socket_.close();
  }

  void close() { socket_.close(); }

 private:
  std::string take(std::size_t count) {
    auto result = read_.substr(0, count);
    read_.erase(0, count);
    return result;
  }

  boost::asio::io_context context_;
  TestSocket socket_{context_};
  std::string read_;
};

inline std::string ask(std::uint16_t port, const std::string& request_line,
                       const std::string& rest = "") {
  RawClient client{port};
  client.send(request_line + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" +
              (rest.empty() ? "\r\n" : rest));
  return client.read_all();
}

inline std::string body_of(const std::string& answer) {
  const auto end = answer.find("\r\n\r\n");
  return end == std::string::npos ? std::string{} : answer.substr(end + 4);
}

}  // namespace loadline::tools
