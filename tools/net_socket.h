// Socket plumbing that the service and the two generators share.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>

#include "text.h"

namespace loadline::tools {

using Tcp = boost::asio::ip::tcp;

// Where `url` leads; its first address when it has several. Throws std::runtime_error with one line
// that names the host when it does not resolve.
Tcp::endpoint resolve(const Url& url);

// Load sent by mistake is an attack, so a target that is not this machine's loopback must be
// allowed in so many words. Throws std::runtime_error when it is not.
void require_loopback(const Tcp::endpoint& target, const Url& url, bool allow_remote);

// Raises this process's limit of open files to the most that it may, and returns that.
std::uint64_t raise_file_limit();

// Closes at once with RST, as a caller does that gives up: what is under way on the connection is
// lost, and no port is left waiting. Does nothing to a closed socket.
void close_with_reset(Tcp::socket& socket) noexcept;
// Closes without looking at errors.
void close_quietly(Tcp::socket& socket) noexcept;

}  // namespace loadline::tools
