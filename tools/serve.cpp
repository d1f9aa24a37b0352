#include "serve.h"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <limits>
#include <stdexcept>
#include <thread>

#include "net_socket.h"
#include "serve_session.h"
#include "serve_work.h"

namespace loadline::tools {

using boost::system::error_code;

class DemoService::Impl {
 public:
  explicit Impl(const ServiceOptions& options)
      : work_(make_work_queue(context_, options)),
        shared_(std::make_unique<ServiceShared>(ServiceShared{*work_, connections_, {}})),
        acceptor_(context_),
        retry_accept_(context_) {
    raise_file_limit();
    listen(options.listen);
    accept();
    thread_ = std::thread{[this] { context_.run(); }};
  }

  ~Impl() {
    context_.stop();
    thread_.join();
  }

  Tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  ServiceStats stats() {
    auto result = work_->stats();
    std::promise<std::uint64_t> connections;
    boost::asio::post(context_, [&] { connections.set_value(connections_); });
    result.connections = connections.get_future().get();
    return result;
  }

  void reset() { work_->reset(); }
  void halve() {
    boost::asio::post(context_, [this] { work_->halve(); });
  }

 private:
  void listen(const ListenAddress& where) {
    const Tcp::endpoint endpoint{boost::asio::ip::make_address(where.address), where.port};
    try {
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(Tcp::acceptor::reuse_address{true});
      acceptor_.bind(endpoint);
      // As long as the kernel allows (net.core.somaxconn): it must be the service that is slow.
      acceptor_.listen(std::numeric_limits<int>::max());
    } catch (const boost::system::system_error& error) {
      throw std::runtime_error(fmt::format("cannot listen on {}:{}: {}", where.address, where.port,
                                           error.code().message()));
    }
  }

  void accept() {
    acceptor_.async_accept([this](const error_code& error, Tcp::socket socket) {
      if (error == boost::asio::error::operation_aborted) {
        return;
      }
      if (error) {
        return accept_later();
      }
      std::make_shared<Session>(std::move(socket), *shared_)->start();
      accept();
    });
  }

  // Out of file descriptors, most likely: some will come back.
  void accept_later() {
    retry_accept_.expires_after(std::chrono::milliseconds{10});
    retry_accept_.async_wait([this](const error_code& error) {
      if (!error) {
        accept();
      }
    });
  }

  // The context outlives the rest: sessions in the queue hold sockets of it.
  boost::asio::io_context context_{1};
  std::uint64_t connections_ = 0;  // the service thread's
  std::unique_ptr<WorkQueue> work_;
  std::unique_ptr<ServiceShared> shared_;
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_accept_;
  std::thread thread_;
};

DemoService::DemoService(const ServiceOptions& options) : impl_(std::make_unique<Impl>(options)) {}

DemoService::~DemoService() = default;

std::uint16_t DemoService::port() const {
  return impl_->endpoint().port();
}

Url DemoService::url() const {
  return {.host = impl_->endpoint().address().to_string(), .port = port()};
}

ServiceStats DemoService::stats() const {
  return impl_->stats();
}

void DemoService::reset() {
  impl_->reset();
}

void DemoService::halve() {
  impl_->halve();
}

}  // namespace loadline::tools
