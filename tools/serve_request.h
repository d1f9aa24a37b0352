// Reads one request: everything of its head in order, and its body counted and thrown away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net_beast.h"

namespace loadline::tools {

// Feed it with put() until is_done(). Unlike Beast's own message it keeps repeated fields where
// they stood, since /echo must show what a proxy changed.
class RequestReader : public boost::beast::http::basic_parser<true> {
 public:
  RequestReader();

  const std::string& method() const { return method_; }
  const std::string& target() const { return target_; }
  // The target without its query.
  std::string_view path() const;
  // The value of `name` in the query as it stands there; empty when it is not given.
  std::string_view query(std::string_view name) const;
  int version() const { return version_; }  // 10 or 11
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
  std::uint64_t body_bytes() const { return body_bytes_; }

  // The caller waits for "100 Continue" before it sends the body. True once a request.
  bool take_expects_continue() { return std::exchange(expects_continue_, false); }

 private:
  using Code = boost::beast::error_code;
  using View = boost::beast::string_view;
  using Field = boost::beast::http::field;
  using Verb = boost::beast::http::verb;

  void on_request_impl(Verb, View method, View target, int version, Code& error) override;
  void on_response_impl(int, View, int, Code&) override {}
  void on_field_impl(Field name, View text, View value, Code& error) override;
  void on_header_impl(Code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
  std::size_t on_body_impl(View body, Code& error) override;
  void on_chunk_header_impl(std::uint64_t, View, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, View body, Code& error) override;
  void on_finish_impl(Code&) override {}

  std::string method_;
  std::string target_;
  int version_ = 11;
  std::vector<std::pair<std::string, std::string>> fields_;
  std::uint64_t body_bytes_ = 0;
  bool expects_continue_ = false;
};

}  // namespace loadline::tools
