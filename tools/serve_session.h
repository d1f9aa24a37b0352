// One connection of the demo service: reads requests, gives them to the work queue, answers.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net_socket.h"
#include "serve_request.h"
#include "serve_work.h"

namespace loadline::tools {

// What all connections of a service share. Used on the io_context's thread only.
struct ServiceShared {
  WorkQueue& work;
  std::uint64_t& connections;
  std::array<char, std::size_t{64} * 1024> scratch;  // what was just read; nothing stays in it
};

class Session final : public Caller, public std::enable_shared_from_this<Session> {
 public:
  Session(Tcp::socket socket, ServiceShared& shared);

  // Reads until the other side has left; keeps itself alive meanwhile.
  void start();

  bool has_left() const override { return left_; }
  void on_work_done() override;

 private:
  // One wait for input is always under way, while a request is worked on too: that is how a
  // caller's leaving is seen.
  void wait_for_input();
  void on_input();
  void on_left();
  void advance();
  void finish_request();

  void handle();
  void handle_work(std::string_view milliseconds);
  void handle_stats();
  void handle_reset();
  void handle_echo();
  void handle_stream();
  void stream_next();
  bool handle_upgrade();

  void answer(int status, std::string_view type, std::string_view body);
  void write(bool last);
  void close();

  Tcp::socket socket_;
  ServiceShared& shared_;
  std::optional<RequestReader> request_;
  std::string unread_;  // received and not yet parsed
  std::string output_;
  bool answering_ = false;
  bool left_ = false;
  bool keep_alive_ = true;
  bool closed_ = false;

  struct Stream {
    boost::asio::steady_timer timer;
    std::chrono::nanoseconds interval;
    std::uint64_t sent = 0;
    std::uint64_t chunks = 0;
    bool chunked = true;
    bool events = false;  // as text/event-stream
  };
  std::unique_ptr<Stream> stream_;  // only for /stream
};

}  // namespace loadline::tools
