#include "load_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "net_acknowledged.h"

namespace loadline::tools {
namespace {

using boost::system::error_code;
namespace errors = boost::asio::error;
namespace errc = boost::system::errc;

Ending ending_of_connect(const error_code& error) {
  if (error == errors::connection_refused) {
    return Ending::refused;
  }
  if (error == errc::address_not_available) {
    return Ending::no_ports;
  }
  if (error == errc::too_many_files_open || error == errc::too_many_files_open_in_system ||
      error == errc::no_buffer_space || error == errc::not_enough_memory) {
    return Ending::no_files;
  }
  return Ending::connect_failed;
}

}  // namespace

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::answered:
      return "answered";
    case Ending::timeout:
      return "timeout";
    case Ending::stale:
      return "stale";
    case Ending::refused:
      return "refused";
    case Ending::connect_failed:
      return "connect_failed";
    case Ending::no_ports:
      return "no_local_ports";
    case Ending::no_files:
      return "no_file_descriptors";
    case Ending::reset:
      return "reset";
    case Ending::closed_early:
      return "closed_early";
    case Ending::malformed:
      return "malformed";
    case Ending::held_back:
      return "held_back";
  }
  return "unknown";
}

LoadConnection::LoadConnection(const boost::asio::any_io_executor& executor, Shared& shared,
                               Owner& owner)
    : socket_(executor), timer_(executor), shared_(shared), owner_(owner) {}

void LoadConnection::begin(const Attempt& attempt, const std::string& head) {
  attempt_ = attempt;
  head_ = &head;
  answer_.emplace(shared_.head_method);
  written_ = false;
  heard_ = false;
  timer_.expires_at(attempt.give_up);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) {
      self->on_timeout();
    }
  });
  if (state_ == State::fresh) {
    return connect();
  }
  state_ = State::busy;
  write();
}

void LoadConnection::connect() {
  state_ = State::connecting;
  error_code error;
  socket_.open(shared_.target.protocol(), error);
  if (error) {
    boost::asio::post(socket_.get_executor(),
                      [self = shared_from_this(), error] { self->fail(ending_of_connect(error)); });
    return;
  }
  socket_.set_option(Tcp::no_delay{true}, error);
  socket_.non_blocking(true, error);
  socket_.async_connect(shared_.target, [self = shared_from_this()](const error_code& failure) {
    if (self->state_ != State::connecting) {
      return;
    }
    if (failure) {
      return self->fail(ending_of_connect(failure));
    }
    self->state_ = State::busy;
    self->write();
    self->wait_for_input();
  });
}

// A write that fails says nothing yet: the answer may have come before the connection broke, and
// whoever waits for input hears of both. Most requests fit at once; that also makes the count of
// what was sent exact, with no completion still on its way when the time is up.
void LoadConnection::write() {
  const std::array<boost::asio::const_buffer, 2> request{boost::asio::buffer(*head_),
                                                         boost::asio::buffer(shared_.body)};
  const auto whole = head_->size() + shared_.body.size();
  error_code error;
  const auto count = socket_.write_some(request, error);
  if (count == whole) {
    written_ = true;
    return;
  }
  if (error && error != errors::would_block) {
    return;
  }
  const auto head_rest = boost::asio::buffer(*head_) + count;
  const auto body_rest =
      boost::asio::buffer(shared_.body) + (count > head_->size() ? count - head_->size() : 0);
  boost::asio::async_write(socket_, std::array<boost::asio::const_buffer, 2>{head_rest, body_rest},
                           [self = shared_from_this()](const error_code& failure, std::size_t) {
                             self->written_ = !failure;
                           });
}

// Always under way while the connection is open, also while it is idle: one that the server closes
// leaves at once, and is not tried again.
void LoadConnection::wait_for_input() {
  socket_.async_wait(Tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error) {
      self->on_input();
    }
  });
}

void LoadConnection::on_input() {
  if (state_ == State::closed) {
    return;
  }
  error_code error;
  const auto count = socket_.read_some(boost::asio::buffer(shared_.scratch), error);
  if (error && error != errors::would_block) {
    return on_end(error);
  }
  if (count > 0 && state_ == State::idle) {
    return close();  // an answer to nothing
  }
  on_data(shared_.scratch.data(), count);
  if (state_ != State::closed) {
    wait_for_input();
  }
}

void LoadConnection::on_data(const char* data, std::size_t size) {
  heard_ = heard_ || size > 0;
  if (!unread_.empty()) {
    unread_.append(data, size);
    data = unread_.data();
    size = unread_.size();
  }
  std::size_t used = 0;
  while (used < size && !answer_->is_done()) {
    error_code error;
    used += answer_->put(boost::asio::buffer(data + used, size - used), error);
    if (error == boost::beast::http::error::need_more) {
      break;
    }
    if (error) {
      return fail(Ending::malformed);
    }
    if (answer_->is_done() && answer_->is_interim()) {
      answer_.emplace(shared_.head_method);
    }
  }
  unread_ = std::string(data + used, size - used);
  if (answer_->is_done()) {
    complete(answer_->keep_alive() && answer_->status_code() != 101 && written_ && unread_.empty());
  }
}

void LoadConnection::on_end(const error_code& error) {
  if (state_ == State::idle) {
    return close();
  }
  if (error == errors::eof && answer_->is_header_done()) {
    error_code incomplete;
    answer_->put_eof(incomplete);
    if (!incomplete && answer_->is_done()) {
      return complete(false);
    }
  }
  taken_at_end_ = acknowledged_bytes(socket_.native_handle());
  if (was_closed_under_us()) {
    return fail(Ending::stale);
  }
  fail(error == errors::eof ? Ending::closed_early : Ending::reset);
}

// Only what the server cannot have seen may be tried again without a word: it is certain when its
// kernel never took a byte of the request. (The first byte that a kernel acknowledges is the
// connection's SYN.) A server that took the request and then broke the connection has failed it.
bool LoadConnection::was_closed_under_us() const {
  return sent_before_ > 0 && !heard_ && taken_at_end_ > 0 && taken_at_end_ <= sent_before_ + 1;
}

void LoadConnection::on_timeout() {
  const bool under_way = state_ == State::busy || state_ == State::connecting;
  // The timer may have fired for an attempt that was answered in the same moment.
  if (under_way && timer_.expiry() <= Clock::now()) {
    fail(Ending::timeout);
  }
}

void LoadConnection::complete(bool reusable) {
  const Outcome outcome{.ending = Ending::answered,
                        .status = answer_->status_code(),
                        .retry_after = answer_->retry_after(),
                        .signs = answer_->signs(),
                        .sent = true};
  if (reusable) {
    timer_.cancel();
    sent_before_ += head_->size() + shared_.body.size();
    state_ = State::idle;
  } else {
    close();
  }
  report(outcome);
}

void LoadConnection::fail(Ending ending) {
  if (state_ == State::closed) {
    return;
  }
  const bool sent = written_ && ending != Ending::stale;
  state_ = State::closed;
  timer_.cancel();
  close_with_reset(socket_);
  report({.ending = ending, .sent = sent});
}

void LoadConnection::report(Outcome outcome) {
  const Attempt attempt = attempt_;
  owner_.on_outcome(shared_from_this(), attempt, outcome);
}

void LoadConnection::close() {
  if (state_ == State::closed) {
    return;
  }
  state_ = State::closed;
  timer_.cancel();
  close_quietly(socket_);
}

}  // namespace loadline::tools
