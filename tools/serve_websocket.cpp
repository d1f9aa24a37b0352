#include "serve_websocket.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket.hpp>
#include <memory>
#include <utility>

namespace loadline::tools {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

http::request<http::empty_body> as_beast_request(const RequestReader& request) {
  http::request<http::empty_body> result;
  result.method_string(request.method());
  result.target(request.target());
  result.version(static_cast<unsigned>(request.version()));
  for (const auto& [name, value] : request.fields()) {
    result.insert(name, value);
  }
  return result;
}

class Echo : public std::enable_shared_from_this<Echo> {
 public:
  Echo(Tcp::socket socket, const RequestReader& request)
      : stream_(std::move(socket)), request_(as_beast_request(request)) {}

  void start() {
    stream_.async_accept(request_, [self = shared_from_this()](const beast::error_code& error) {
      if (!error) {
        self->read();
      }
    });
  }

 private:
  void read() {
    stream_.async_read(buffer_,
                       [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                         if (!error) {
                           self->write();
                         }
                       });
  }

  void write() {
    stream_.text(stream_.got_text());
    stream_.async_write(buffer_.data(), [self = shared_from_this()](const beast::error_code& error,
                                                                    std::size_t count) {
      self->buffer_.consume(count);
      if (!error) {
        self->read();
      }
    });
  }

  websocket::stream<Tcp::socket> stream_;
  http::request<http::empty_body> request_;
  beast::flat_buffer buffer_;
};

}  // namespace

bool is_websocket_upgrade(const RequestReader& request) {
  return websocket::is_upgrade(as_beast_request(request));
}

void echo_websocket(Tcp::socket socket, const RequestReader& request) {
  std::make_shared<Echo>(std::move(socket), request)->start();
}

}  // namespace loadline::tools
