#include "stop_on_signal.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <thread>

namespace loadline::tools {

class StopOnSignal::Impl {
 public:
  Impl() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (!error) {
        signal_ = signal;
        stop_.request_stop();
        signals_.clear();
      }
    });
    thread_ = std::thread{[this] { context_.run(); }};
  }

  ~Impl() {
    context_.stop();
    thread_.join();
  }

  std::stop_token token() const { return stop_.get_token(); }
  int signal() const { return signal_; }

 private:
  boost::asio::io_context context_;
  boost::asio::signal_set signals_{context_, SIGINT, SIGTERM};
  std::atomic<int> signal_ = 0;
  std::stop_source stop_;
  std::thread thread_;
};

StopOnSignal::StopOnSignal() : impl_(std::make_unique<Impl>()) {}

StopOnSignal::~StopOnSignal() = default;

std::stop_token StopOnSignal::token() const {
  return impl_->token();
}

std::optional<int> StopOnSignal::signal() const {
  const int signal = impl_->signal();
  return signal == 0 ? std::nullopt : std::optional(signal);
}

}  // namespace loadline::tools
