#include "nginx/http_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace loadline::bench {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor new_socket() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) {
    throw std::system_error(errno, std::generic_category(), "socket");
  }
  return socket;
}

bool connect_to(const Descriptor& socket, std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  return connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Binds to a free port and says which.
std::uint16_t bind_anywhere(const Descriptor& socket) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket.number(), plain, size) != 0 || getsockname(socket.number(), plain, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "bind");
  }
  return ntohs(address.sin_port);
}

std::size_t number_after(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  std::size_t number = 0;
  if (at != std::string::npos) {
    const char* begin = text.data() + at + label.size();
    if (std::from_chars(begin, text.data() + text.size(), number).ec == std::errc()) {
      return number;
    }
  }
  throw std::runtime_error("no '" + label + "' in the answer: " + text);
}

}  // namespace

Connection::Connection(std::uint16_t port) : socket_(new_socket()) {
  const timeval longest{.tv_sec = 2, .tv_usec = 0};
  setsockopt(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  if (!connect_to(socket_, port)) {
    throw std::system_error(errno, std::generic_category(), "connect");
  }
}

void Connection::send(const std::string& path) {
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  if (::send(socket_.number(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    throw std::system_error(errno, std::generic_category(), "send");
  }
}

void Connection::read_more() {
  std::array<char, 4096> piece{};
  const ssize_t size = recv(socket_.number(), piece.data(), piece.size(), 0);
  if (size <= 0) {
    throw std::runtime_error(size == 0 ? "the server closed the connection"
                                       : "no answer from the server");
  }
  received_.append(piece.data(), static_cast<std::size_t>(size));
}

Answer Connection::receive() {
  std::size_t head_end = 0;
  while ((head_end = received_.find("\r\n\r\n")) == std::string::npos) {
    read_more();
  }
  Answer answer;
  answer.head = received_.substr(0, head_end + 2);
  answer.status = static_cast<int>(number_after(answer.head, "HTTP/1.1 "));
  const std::size_t body_begin = head_end + 4;
  std::size_t length = 0;
  try {
    length = number_after(answer.head, "Content-Length: ");
  } catch (const std::runtime_error&) {
    length = number_after(answer.head, "content-length: ");  // as HAProxy writes it
  }
  while (received_.size() < body_begin + length) {
    read_more();
  }
  answer.body = received_.substr(body_begin, length);
  received_.erase(0, body_begin + length);
  return answer;
}

bool accepts_connections(std::uint16_t port) {
  return connect_to(new_socket(), port);
}

std::uint16_t free_port() {
  return bind_anywhere(new_socket());
}

Blackhole::Blackhole() : socket_(new_socket()), port_(bind_anywhere(socket_)) {
  // Whoever connects stays in the backlog, which is as good as being ignored by a program.
  constexpr int kBacklog = 4096;
  if (listen(socket_.number(), kBacklog) != 0) {
    throw std::system_error(errno, std::generic_category(), "listen");
  }
}

}  // namespace loadline::bench
