// A thread a connection: acquire() blocks it for at most the wait budget.
//
//   blocking_server PORT        (0: any free port; it says which)
#include <boost/asio.hpp>
#include <iostream>
#include <thread>

#include "http.h"
#include "loadline/threads.h"

using boost::asio::ip::tcp;
using namespace std::chrono_literals;

// 50 ms of work, in pieces; given up when there is nobody left to do it for.
bool work(const loadline::threads::Permit& permit) {
  for (int piece = 0; piece < 10 && !permit.cancelled(); ++piece) {
    std::this_thread::sleep_for(5ms);
  }
  return !permit.cancelled();
}

void serve(loadline::threads::Doorkeeper& door, std::iostream& connection) {
  const example::HttpRequest http = example::read_request(connection);
  loadline::Request request = door.request();
  if (http.deadline_ms >= 0) {
    request = door.request(std::chrono::milliseconds(http.deadline_ms));
  }
  loadline::threads::Answer answer = door.acquire(request, {}, http.path);
  if (!answer) {
    connection << example::answer(answer.rejection) << std::flush;
    return;
  }
  if (work(answer.permit)) {
    answer.permit.succeed();
    connection << example::answer(200, "", "done\n") << std::flush;
  } else {
    answer.permit.fail();
    connection << example::answer(504, "", "not in time\n") << std::flush;
  }
}

int main(int argc, char** argv) {
  loadline::Policy policy;
  policy.limit = 2;  // how many the work bears at once
  auto [door, error] =
      loadline::threads::Doorkeeper::open(policy, {.lease = loadline::Duration::seconds(30)});
  if (!door) {
    std::cerr << error.field << ": " << error.text.data() << "\n";
    return 1;
  }
  boost::asio::io_context io;
  const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), port});
  std::cout << "listening on " << acceptor.local_endpoint().port() << std::endl;
  while (true) {
    std::thread([&door = door, socket = acceptor.accept()]() mutable {
      tcp::iostream connection(std::move(socket));
      serve(door, connection);
    }).detach();
  }
}
