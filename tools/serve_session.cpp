#include "serve_session.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <charconv>
#include <nlohmann/json.hpp>

#include "serve_websocket.h"

namespace loadline::tools {
namespace {

using boost::system::error_code;

constexpr std::string_view kText = "text/plain";
constexpr std::string_view kJson = "application/json";

// A caller that pipelines may send this much ahead; beyond it, it is not read until its turn.
constexpr std::size_t kMaxUnread = std::size_t{256} * 1024;

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 405:
      return "Method Not Allowed";
    default:
      return "Error";
  }
}

std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t highest) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > highest) {
    return std::nullopt;
  }
  return value;
}

std::string json_text(const nlohmann::ordered_json& json) {
  // Field values may be any bytes, and JSON is UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Session::Session(Tcp::socket socket, ServiceShared& shared)
    : socket_(std::move(socket)), shared_(shared) {
  ++shared_.connections;
}

void Session::start() {
  error_code ignored;
  socket_.set_option(Tcp::no_delay{true}, ignored);
  socket_.non_blocking(true, ignored);
  request_.emplace();
  wait_for_input();
}

void Session::wait_for_input() {
  if (closed_ || unread_.size() >= kMaxUnread) {
    return;
  }
  socket_.async_wait(Tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error) {
      self->on_input();
    }
  });
}

void Session::on_input() {
  if (closed_) {
    return;
  }
  error_code error;
  const auto count = socket_.read_some(boost::asio::buffer(shared_.scratch), error);
  if (error && error != boost::asio::error::would_block) {
    return on_left();
  }
  unread_.append(shared_.scratch.data(), count);
  advance();
  wait_for_input();
}

// The work goes on, as a service does not know what to undo; only the connection is given back, or
// a storm of callers who leave would use up the file descriptors. Who closes only its sending side
// is taken to have left as well, as nginx takes it.
void Session::on_left() {
  left_ = true;
  close();
}

void Session::advance() {
  std::size_t used = 0;
  while (!answering_ && !closed_ && used < unread_.size()) {
    error_code error;
    used += request_->put(boost::asio::buffer(unread_.data() + used, unread_.size() - used), error);
    if (error == boost::beast::http::error::need_more) {
      break;
    }
    if (error) {
      answering_ = true;
      keep_alive_ = false;
      answer(400, kText, fmt::format("bad request: {}\n", error.message()));
      break;
    }
    if (request_->is_done()) {
      answering_ = true;
      keep_alive_ = request_->keep_alive();
      handle();
    }
  }
  unread_.erase(0, used);
  if (request_->is_header_done() && !request_->is_done() && request_->take_expects_continue()) {
    error_code ignored;
    socket_.write_some(boost::asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), ignored);
  }
}

void Session::finish_request() {
  answering_ = false;
  output_.clear();
  stream_.reset();
  if (!keep_alive_) {
    return close();
  }
  const bool was_full = unread_.size() >= kMaxUnread;
  request_.emplace();
  advance();
  if (was_full) {
    wait_for_input();
  }
}

void Session::handle() {
  const auto path = request_->path();
  if (path == "/healthz") {
    return answer(200, kText, "ok\n");
  }
  if (path == "/stats") {
    return handle_stats();
  }
  if (path == "/reset") {
    return handle_reset();
  }
  if (path == "/echo") {
    return handle_echo();
  }
  if (path == "/stream") {
    return handle_stream();
  }
  if (path == "/ws" && handle_upgrade()) {
    return;
  }
  handle_work(path == "/sleep" ? request_->query("ms") : std::string_view{});
}

void Session::handle_work(std::string_view milliseconds) {
  std::optional<std::chrono::nanoseconds> time;
  if (request_->path() == "/sleep") {
    const auto count = parse_count(milliseconds, 3'600'000);
    if (!count) {
      return answer(400, kText, "/sleep wants ms=N, a whole number from 0 to 3600000\n");
    }
    time = std::chrono::milliseconds{*count};
  }
  shared_.work.submit(time, shared_from_this());
}

void Session::on_work_done() {
  if (!closed_) {
    answer(200, kText, "done\n");
  }
}

void Session::handle_stats() {
  const auto stats = shared_.work.stats();
  answer(200, kJson,
         json_text({{"received", stats.received},
                    {"started", stats.started},
                    {"completed", stats.completed},
                    {"abandoned", stats.abandoned},
                    {"in_service", stats.in_service},
                    {"queued", stats.queued},
                    {"max_in_service", stats.max_in_service},
                    {"max_outstanding", stats.max_outstanding},
                    {"busy_seconds", stats.busy_seconds},
                    {"connections", shared_.connections}}));
}

void Session::handle_reset() {
  if (request_->method() != "POST") {
    return answer(405, kText, "/reset wants POST\n");
  }
  shared_.work.reset();
  answer(200, kText, "reset\n");
}

void Session::handle_echo() {
  auto headers = nlohmann::ordered_json::array();
  for (const auto& [name, value] : request_->fields()) {
    headers.push_back(nlohmann::ordered_json::array({name, value}));
  }
  answer(200, kJson,
         json_text({{"method", request_->method()},
                    {"target", request_->target()},
                    {"version", request_->version() == 10 ? "1.0" : "1.1"},
                    {"headers", headers},
                    {"body_bytes", request_->body_bytes()}}));
}

void Session::handle_stream() {
  const auto chunks = parse_count(request_->query("chunks"), 1'000'000);
  const auto interval_text = request_->query("interval");
  const auto interval = parse_time(interval_text.empty() ? "100ms" : interval_text);
  if (!chunks || *chunks == 0 || !interval) {
    return answer(400, kText,
                  "/stream wants chunks=N, from 1 to 1000000, and interval=TIME, as in 100ms\n");
  }
  // HTTP/1.0, which proxies still speak, has no chunks: there the end of the connection is the end.
  const bool chunked = request_->version() >= 11;
  keep_alive_ = keep_alive_ && chunked;
  const bool events = request_->query("events") == "on";
  stream_ = std::make_unique<Stream>(Stream{boost::asio::steady_timer{socket_.get_executor()},
                                            *interval, 0, *chunks, chunked, events});
  output_ = fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: {}\r\n{}{}\r\n", events ? "text/event-stream" : kText,
      chunked ? "Transfer-Encoding: chunked\r\n" : "", keep_alive_ ? "" : "Connection: close\r\n");
  stream_->timer.expires_at(Clock::now());
  stream_next();
}

void Session::stream_next() {
  auto& stream = *stream_;
  ++stream.sent;
  const auto piece = stream.events ? fmt::format("data: {}\n\n", stream.sent)
                                   : fmt::format("chunk {}\n", stream.sent);
  const bool last = stream.sent == stream.chunks;
  output_ += stream.chunked ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : piece;
  if (last && stream.chunked) {
    output_ += "0\r\n\r\n";
  }
  write(last);
}

bool Session::handle_upgrade() {
  if (!is_websocket_upgrade(*request_)) {
    return false;
  }
  closed_ = true;  // the socket is no longer ours
  --shared_.connections;
  echo_websocket(std::move(socket_), *request_);
  return true;
}

void Session::answer(int status, std::string_view type, std::string_view body) {
  const bool head_only = request_->method() == "HEAD";
  const auto connection = !keep_alive_                ? "Connection: close\r\n"
                          : request_->version() == 10 ? "Connection: keep-alive\r\n"
                                                      : "";
  output_ = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\r\n{}",
                        status, reason_of(status), type, body.size(), connection,
                        head_only ? std::string_view{} : body);
  write(true);
}

void Session::write(bool last) {
  boost::asio::async_write(socket_, boost::asio::buffer(output_),
                           [self = shared_from_this(), last](const error_code& error, std::size_t) {
                             if (self->closed_) {
                               return;
                             }
                             if (error) {
                               return self->close();
                             }
                             if (last) {
                               return self->finish_request();
                             }
                             self->output_.clear();
                             auto& stream = *self->stream_;
                             stream.timer.expires_at(stream.timer.expiry() + stream.interval);
                             stream.timer.async_wait([self](const error_code& stopped) {
                               if (!stopped && !self->closed_) {
                                 self->stream_next();
                               }
                             });
                           });
}

void Session::close() {
  if (closed_) {
    return;
  }
  closed_ = true;
  --shared_.connections;
  if (stream_) {
    stream_->timer.cancel();
  }
  error_code ignored;
  socket_.shutdown(Tcp::socket::shutdown_send, ignored);
  close_quietly(socket_);
}

}  // namespace loadline::tools
