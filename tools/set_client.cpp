#include "set_client.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <utility>

#include "text.h"

namespace loadline::tools {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Stream = beast::basic_stream<asio::local::stream_protocol>;

asio::awaitable<void> exchange(Stream& stream, const std::string& method, const std::string& target,
                               ControlAnswer& answer) {
  http::request<http::empty_body> request(http::string_to_verb(method), target, 11);
  request.set(http::field::host, "localhost");
  request.set(http::field::connection, "close");
  request.prepare_payload();
  co_await http::async_write(stream, request, asio::use_awaitable);

  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  co_await http::async_read(stream, buffer, response, asio::use_awaitable);
  answer = {response.result_int(), response.body()};
}

asio::awaitable<void> connect_and_exchange(const std::string& socket, const std::string& method,
                                           const std::string& target,
                                           std::chrono::milliseconds timeout,
                                           ControlAnswer& answer) {
  Stream stream(co_await asio::this_coro::executor);
  stream.expires_after(timeout);
  beast::error_code error;
  co_await stream.async_connect(asio::local::stream_protocol::endpoint(socket),
                                asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    throw NotRunning(error.message());
  }
  co_await exchange(stream, method, target, answer);
}

// What an exception of Boost says of itself is for who reads its source.
std::string why_no_answer(const beast::error_code& error, std::chrono::milliseconds timeout) {
  if (error == beast::error::timeout) {
    return fmt::format("no answer within {}: is the nginx behind it stopped, or very busy?",
                       format_time(timeout));
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return "closed before it answered: it may be ending, try again";
  }
  return fmt::format("no answer: {}", error.message());
}

}  // namespace

ControlAnswer ask_control(const std::string& socket, const std::string& method,
                          const std::string& target, std::chrono::milliseconds timeout) {
  ControlAnswer answer;
  std::exception_ptr failure;
  asio::io_context context(1);
  asio::co_spawn(context, connect_and_exchange(socket, method, target, timeout, answer),
                 [&failure](std::exception_ptr thrown) { failure = std::move(thrown); });
  context.run();
  if (!failure) {
    return answer;
  }
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", socket, why_no_answer(error.code(), timeout)));
  }
}

}  // namespace loadline::tools
