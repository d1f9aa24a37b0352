// Two kinds of work, a gate for each (bulkheads): when /report is full, everything else still is
// served. try_acquire() never waits: a slot at once, or 503.
//
//   pools_server PORT        (0: any free port; it says which)
#include <boost/asio.hpp>
#include <iostream>
#include <thread>

#include "http.h"
#include "loadline/threads.h"

using boost::asio::ip::tcp;
using loadline::threads::Answer;
using loadline::threads::Doorkeeper;
using namespace std::chrono_literals;

Doorkeeper open_or_exit(std::uint32_t limit) {
  loadline::Policy policy;
  policy.limit = limit;
  loadline::threads::Opened opened = Doorkeeper::open(policy);
  if (!opened.door) {
    std::cerr << opened.error.field << ": " << opened.error.text.data() << "\n";
    std::exit(1);
  }
  return std::move(opened.door);
}

void serve(Doorkeeper& door, std::chrono::milliseconds work, std::ostream& connection) {
  if (Answer answer = door.try_acquire(door.request())) {
    std::this_thread::sleep_for(work);
    answer.permit.succeed();
    connection << example::answer(200, "", "done\n") << std::flush;
  } else {
    connection << example::answer(answer.rejection) << std::flush;
  }
}

int main(int argc, char** argv) {
  Doorkeeper reports = open_or_exit(2);
  Doorkeeper rest = open_or_exit(16);
  boost::asio::io_context io;
  const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), port});
  std::cout << "listening on " << acceptor.local_endpoint().port() << std::endl;
  while (true) {
    std::thread([&reports, &rest, socket = acceptor.accept()]() mutable {
      tcp::iostream connection(std::move(socket));
      if (example::read_request(connection).path == "/report") {
        serve(reports, 1s, connection);
      } else {
        serve(rest, 1ms, connection);
      }
    }).detach();
  }
}
