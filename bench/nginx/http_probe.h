// A plain HTTP/1.1 client for loopback: enough to see that a server is up, that it answers as it
// should, and to keep a request hanging.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "nginx/process.h"

namespace loadline::bench {

struct Answer {
  int status = 0;
  std::string head;  // status line and headers
  std::string body;
};

// One connection that is kept alive. Throws std::runtime_error where the server does not keep to
// the part of HTTP that is needed here: a Content-Length, and an answer within two seconds.
class Connection {
 public:
  explicit Connection(std::uint16_t port);

  void send(const std::string& path);
  Answer receive();
  Answer get(const std::string& path) {
    send(path);
    return receive();
  }

 private:
  void read_more();

  Descriptor socket_;
  std::string received_;
};

bool accepts_connections(std::uint16_t port);

// A port that is free now.
std::uint16_t free_port();

// A server that lets everyone connect and never answers.
class Blackhole {
 public:
  Blackhole();
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  Descriptor socket_;
  std::uint16_t port_ = 0;
};

}  // namespace loadline::bench
