#include "burst.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <memory>
#include <utility>

#include "net_socket.h"

namespace loadline::tools {
namespace {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// One request of the burst, on a connection of its own.
class BurstCaller {
 public:
  BurstCaller(boost::asio::io_context& context, bool head_method)
      : socket_(context), head_method_(head_method), reader_(std::in_place, head_method) {}

  template <class Connected>
  void connect(const Tcp::endpoint& target, Connected connected) {
    socket_.async_connect(target, [this, connected](const error_code& error) {
      if (ended_) {
        return;
      }
      answer_.connected = !error;
      if (error) {
        end("not connected: " + error.message());
      } else {
        error_code ignored;
        socket_.set_option(Tcp::no_delay{true}, ignored);
      }
      connected();
    });
  }

  template <class Ended>
  void ask(const std::string& request, Clock::time_point start, Ended ended) {
    start_ = start;
    error_code error;
    boost::asio::write(socket_, boost::asio::buffer(request), error);
    read(ended);
  }

  bool has_ended() const { return ended_; }
  const BurstAnswer& answer() const { return answer_; }

  void end(std::string failure) {
    if (ended_) {
      return;
    }
    ended_ = true;
    answer_.time = Clock::now() - start_;
    answer_.failure = std::move(failure);
    close_with_reset(socket_);
  }

 private:
  template <class Ended>
  void read(Ended ended) {
    socket_.async_read_some(boost::asio::buffer(input_),
                            [this, ended](const error_code& error, std::size_t count) {
                              if (ended_) {
                                return;
                              }
                              on_read(error, count);
                              if (ended_) {
                                ended();
                              } else {
                                read(ended);
                              }
                            });
  }

  void on_read(const error_code& error, std::size_t count) {
    if (error) {
      return on_close(error);
    }
    unread_.append(input_.data(), count);
    std::size_t used = 0;
    while (used < unread_.size() && !reader_->is_done()) {
      error_code bad;
      used += reader_->put(boost::asio::buffer(unread_.data() + used, unread_.size() - used), bad);
      if (bad == boost::beast::http::error::need_more) {
        break;
      }
      if (bad) {
        return end("malformed");
      }
      if (reader_->is_done() && reader_->is_interim()) {
        reader_.emplace(head_method_);
      }
    }
    unread_.erase(0, used);
    if (reader_->is_done()) {
      take_answer();
    }
  }

  void on_close(const error_code& error) {
    error_code incomplete;
    if (error == boost::asio::error::eof && reader_->is_header_done()) {
      reader_->put_eof(incomplete);
    }
    if (reader_->is_done()) {
      return take_answer();
    }
    end(error == boost::asio::error::eof ? "closed_early" : "reset");
  }

  void take_answer() {
    answer_.status = reader_->status_code();
    answer_.body_bytes = reader_->body_bytes();
    answer_.retry_after = reader_->retry_after();
    end({});
  }

  Tcp::socket socket_;
  bool head_method_;
  std::optional<AnswerReader> reader_;
  std::array<char, 4096> input_{};
  std::string unread_;
  BurstAnswer answer_;
  Clock::time_point start_ = Clock::now();
  bool ended_ = false;
};

class Burst {
 public:
  Burst(const BurstOptions& options, Tcp::endpoint target)
      : options_(options), target_(std::move(target)) {
    for (unsigned i = 0; i < options.count; ++i) {
      callers_.push_back(std::make_unique<BurstCaller>(context_, options.method == "HEAD"));
    }
  }

  BurstReport run() {
    connect_all();
    ask_all();
    for (const auto& caller : callers_) {
      report_.answers.push_back(caller->answer());
    }
    std::stable_sort(report_.answers.begin(), report_.answers.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    return report_;
  }

 private:
  void connect_all() {
    waiting_ = callers_.size();
    for (auto& caller : callers_) {
      caller->connect(target_, [this] { --waiting_; });
    }
    run_while_some_wait();
    for (auto& caller : callers_) {
      if (!caller->answer().connected) {
        caller->end("not connected: timeout");
      }
    }
  }

  void ask_all() {
    const auto request = request_head(options_.url, options_.method, options_.headers, 0);
    const auto start = Clock::now();
    for (auto& caller : callers_) {
      if (!caller->has_ended()) {
        ++waiting_;
        caller->ask(request, start, [this] { --waiting_; });
      }
    }
    report_.write_time = Clock::now() - start;
    run_while_some_wait();
    for (auto& caller : callers_) {
      caller->end("timeout");
    }
  }

  void run_while_some_wait() {
    const auto until = Clock::now() + options_.timeout;
    context_.restart();
    while (waiting_ > 0 && context_.run_one_until(until) > 0) {
    }
    waiting_ = 0;
  }

  const BurstOptions& options_;
  Tcp::endpoint target_;
  boost::asio::io_context context_{1};
  std::vector<std::unique_ptr<BurstCaller>> callers_;
  std::size_t waiting_ = 0;
  BurstReport report_;
};

}  // namespace

int BurstAnswer::slice() const {
  return static_cast<int>(std::max<std::int64_t>(0, time / std::chrono::milliseconds{100}));
}

std::map<std::pair<int, int>, std::uint64_t> BurstReport::groups() const {
  std::map<std::pair<int, int>, std::uint64_t> result;
  for (const auto& answer : answers) {
    if (answer.status != 0) {
      ++result[{answer.status, answer.slice()}];
    }
  }
  return result;
}

std::uint64_t BurstReport::not_connected() const {
  return static_cast<std::uint64_t>(std::count_if(
      answers.begin(), answers.end(), [](const auto& answer) { return !answer.connected; }));
}

std::string BurstReport::first_connect_failure() const {
  const auto found = std::find_if(answers.begin(), answers.end(),
                                  [](const auto& answer) { return !answer.connected; });
  return found == answers.end() ? std::string{} : found->failure;
}

BurstReport run_burst(const BurstOptions& options) {
  const auto target = resolve(options.url);
  require_loopback(target, options.url, options.allow_remote);
  raise_file_limit();
  return Burst{options, target}.run();
}

}  // namespace loadline::tools
