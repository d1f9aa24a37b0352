// The client's side of HTTP/1.1, as far as the generators need it.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadline/client/told.h"
#include "net_beast.h"
#include "text.h"

namespace loadline::tools {

struct HeaderField {
  std::string name;
  std::string value;
};

// 'Name: value', with no character that could end the line early.
std::optional<HeaderField> parse_header(std::string_view text);
inline constexpr const char* kHeaderForm = "'Name: value', with a token as name and no line break";

// A method is a token, such as GET.
bool is_method(std::string_view text);

// The request up to and including the blank line. Adds Host unless `fields` has it, and
// Content-Length when there is a body or the method usually has one.
std::string request_head(const Url& url, std::string_view method,
                         const std::vector<HeaderField>& fields, std::uint64_t body_bytes);

// Whether an answer says that the service, or who guards it, chose not to do the work.
inline bool is_rejection(int status) {
  return status == 429 || status == 503 || status == 504;
}

// The seconds that a Retry-After asks to wait, counted from `now`: whole seconds, however many
// digits (the largest number stands for all that are larger), or one of HTTP's three forms of a
// date, of which one in the past is 0. Nothing when it is neither.
std::optional<std::uint32_t> parse_retry_after(std::string_view text, std::time_t now);

// Reads one answer; the body is counted and thrown away. Feed it with put() until is_done().
class AnswerReader : public boost::beast::http::basic_parser<false> {
 public:
  // `to_head`: the answer to a HEAD request has a length but no body.
  explicit AnswerReader(bool to_head = false);

  int status_code() const { return status_; }
  std::uint64_t body_bytes() const { return body_bytes_; }
  // Seconds, when the answer has a Retry-After that can be read; the longest of several.
  std::optional<std::uint32_t> retry_after() const { return retry_after_; }
  // What it says about trying again.
  const client::Signs& signs() const { return signs_; }
  // 1xx: another answer follows on the same connection.
  bool is_interim() const { return status_ >= 100 && status_ < 200 && status_ != 101; }

 private:
  using Code = boost::beast::error_code;
  using View = boost::beast::string_view;
  using Field = boost::beast::http::field;
  using Verb = boost::beast::http::verb;

  void on_request_impl(Verb, View, View, int, Code&) override {}
  void on_response_impl(int code, View reason, int version, Code& error) override;
  void on_field_impl(Field name, View text, View value, Code& error) override;
  void on_header_impl(Code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
  std::size_t on_body_impl(View body, Code& error) override;
  void on_chunk_header_impl(std::uint64_t, View, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, View body, Code& error) override;
  void on_finish_impl(Code&) override {}

  int status_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::optional<std::uint32_t> retry_after_;
  client::Signs signs_;
};

}  // namespace loadline::tools
