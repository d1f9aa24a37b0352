#include "net_socket.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <stdexcept>

namespace loadline::tools {

Tcp::endpoint resolve(const Url& url) {
  boost::asio::io_context context;
  boost::system::error_code error;
  const auto found = Tcp::resolver{context}.resolve(url.host, std::to_string(url.port),
                                                    Tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    throw std::runtime_error(
        fmt::format("host '{}' does not resolve: {}", url.host, error.message()));
  }
  return found.begin()->endpoint();
}

void require_loopback(const Tcp::endpoint& target, const Url& url, bool allow_remote) {
  if (allow_remote || target.address().is_loopback()) {
    return;
  }
  throw std::runtime_error(
      fmt::format("{} is {}, which is not this machine's loopback; add --allow-remote if you may "
                  "put load on it",
                  url.text(), target.address().to_string()));
}

std::uint64_t raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 1024;
  }
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

void close_with_reset(Tcp::socket& socket) noexcept {
  boost::system::error_code ignored;
  socket.set_option(boost::asio::socket_base::linger{true, 0}, ignored);
  socket.close(ignored);
}

void close_quietly(Tcp::socket& socket) noexcept {
  boost::system::error_code ignored;
  socket.close(ignored);
}

}  // namespace loadline::tools
