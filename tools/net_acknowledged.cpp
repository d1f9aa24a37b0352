#include "net_acknowledged.h"

// The kernel's own header, since the C library's tcp_info ends before this field. The two cannot be
// included together, and Asio includes the other: hence a file of its own.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace loadline::tools {

std::uint64_t acknowledged_bytes(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  constexpr std::size_t kNeeded =
      offsetof(tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < kNeeded) {
    return 0;
  }
  return info.tcpi_bytes_acked;
}

}  // namespace loadline::tools
