// One connection of the load generator, and the attempt that is under way on it.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "loadline/client/told.h"
#include "net_http.h"
#include "net_socket.h"

namespace loadline::tools {

using Clock = std::chrono::steady_clock;

class LedCall;

struct Attempt {
  Clock::time_point call_due;
  Clock::time_point due;
  Clock::time_point give_up;
  std::size_t class_index = 0;
  unsigned number = 1;  // of its call
  bool was_stale = false;
  std::shared_ptr<LedCall> led = nullptr;  // its call, where the client half decides
};

enum class Ending {
  answered,
  timeout,
  stale,  // the idle connection was closed under it, and nothing of it was taken
  refused,
  connect_failed,
  no_ports,  // this and the next are the generator's own trouble
  no_files,
  reset,
  closed_early,
  malformed,
  held_back,  // never begun: the client half did not let the call go
};
const char* name_of(Ending ending);

struct Outcome {
  Ending ending = Ending::answered;
  int status = 0;
  std::optional<std::uint32_t> retry_after = std::nullopt;
  client::Signs signs = {};
  bool sent = false;
};

class LoadConnection : public std::enable_shared_from_this<LoadConnection> {
 public:
  // Who made it. Called on the thread of the executor, and never from within begin().
  class Owner {
   public:
    // Of each begin() exactly one outcome. When is_idle(), the connection can take another attempt.
    virtual void on_outcome(const std::shared_ptr<LoadConnection>& connection,
                            const Attempt& attempt, const Outcome& outcome) = 0;

   protected:
    ~Owner() = default;
  };

  // What all connections of a generator share.
  struct Shared {
    Tcp::endpoint target;
    bool head_method = false;
    std::string body;
    std::array<char, 65536> scratch;  // what was just read; nothing stays in it
  };

  LoadConnection(const boost::asio::any_io_executor& executor, Shared& shared, Owner& owner);

  // Starts an attempt, connecting first if need be. `head` outlives it.
  void begin(const Attempt& attempt, const std::string& head);

  // Open, and nothing under way on it.
  bool is_idle() const { return state_ == State::idle; }
  void close();

 private:
  enum class State { fresh, connecting, busy, idle, closed };

  void connect();
  void write();
  void wait_for_input();
  void on_input();
  void on_data(const char* data, std::size_t size);
  void on_end(const boost::system::error_code& error);
  void on_timeout();
  void complete(bool reusable);
  void fail(Ending ending);
  void report(Outcome outcome);
  bool was_closed_under_us() const;

  Tcp::socket socket_;
  boost::asio::steady_timer timer_;
  Shared& shared_;
  Owner& owner_;
  State state_ = State::fresh;
  Attempt attempt_;
  const std::string* head_ = nullptr;
  std::optional<AnswerReader> answer_;
  std::string unread_;              // received and not yet parsed
  std::uint64_t sent_before_ = 0;   // bytes, by earlier attempts
  std::uint64_t taken_at_end_ = 0;  // bytes that the other side's kernel had taken when it ended
  bool written_ = false;
  bool heard_ = false;
};

}  // namespace loadline::tools
