// What a connection's other side has acknowledged.
#pragma once

#include <cstdint>

namespace loadline::tools {

// How many bytes that we sent on this TCP socket the other side's kernel has acknowledged, since
// the connection began. It can still be asked of a connection that has failed. 0 when it is not
// known.
std::uint64_t acknowledged_bytes(int socket) noexcept;

}  // namespace loadline::tools
