// One event loop and no thread a connection: async_acquire() calls back, and a coroutine waits.
//
//   event_server PORT        (0: any free port; it says which)
#include <boost/asio.hpp>
#include <iostream>
#include <sstream>
#include <stop_token>

#include "http.h"
#include "loadline/threads.h"

namespace asio = boost::asio;
using asio::ip::tcp;
using loadline::threads::Answer;
using loadline::threads::Doorkeeper;
using namespace std::chrono_literals;

// async_acquire() as something to co_await. The answer comes on the gate's thread; it is posted to
// the loop that asked.
asio::awaitable<Answer> acquire(Doorkeeper& door, loadline::Request request,
                                std::stop_token caller) {
  const auto start = [&door, request, caller](auto handler) {
    auto loop = asio::get_associated_executor(handler);
    auto callback = [loop, handler = std::move(handler)](Answer answer) mutable {
      asio::post(loop, [handler = std::move(handler), answer = std::move(answer)]() mutable {
        std::move(handler)(std::move(answer));
      });
    };
    door.async_acquire(request, std::move(callback), caller);
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Answer)>(
      start, asio::use_awaitable);
}

// 50 ms of work that holds no thread.
asio::awaitable<void> work() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 50ms);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> serve(Doorkeeper& door, tcp::socket socket) {
  std::string text;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(text), "\r\n\r\n",
                                  asio::use_awaitable);
  std::istringstream lines(text);
  const example::HttpRequest http = example::read_request(lines);
  loadline::Request request = door.request();
  if (http.deadline_ms >= 0) {
    request = door.request(std::chrono::milliseconds(http.deadline_ms));
  }

  // Whatever can be read now is the end: the caller has left, and its place is free at once.
  std::stop_source caller;
  socket.async_wait(tcp::socket::wait_read, [caller](boost::system::error_code error) mutable {
    if (!error) {
      caller.request_stop();
    }
  });

  Answer answer = co_await acquire(door, request, caller.get_token());
  std::string reply;
  if (answer) {
    co_await work();
    answer.permit.succeed();
    reply = example::answer(200, "", "done\n");
  } else {
    reply = example::answer(answer.rejection);
  }
  if (!caller.stop_requested()) {
    co_await asio::async_write(socket, asio::buffer(reply), asio::use_awaitable);
  }
}

asio::awaitable<void> listen(Doorkeeper& door, tcp::acceptor acceptor) {
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    // A connection that breaks ends its own coroutine and nothing else.
    asio::co_spawn(acceptor.get_executor(), serve(door, std::move(socket)),
                   [](const std::exception_ptr&) {});
  }
}

int main(int argc, char** argv) {
  loadline::Policy policy;
  policy.limit = 2;
  auto [door, error] = Doorkeeper::open(policy);
  if (!door) {
    std::cerr << error.field << ": " << error.text.data() << "\n";
    return 1;
  }
  asio::io_context io;
  const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), port});
  std::cout << "listening on " << acceptor.local_endpoint().port() << std::endl;
  asio::co_spawn(io, listen(door, std::move(acceptor)), asio::detached);
  io.run();
}
