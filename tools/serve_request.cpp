#include "serve_request.h"

#include <boost/beast/core/string.hpp>

namespace loadline::tools {

RequestReader::RequestReader() {
  eager(true);
  body_limit(boost::none);
  header_limit(64 * 1024);
}

std::string_view RequestReader::path() const {
  return std::string_view(target_).substr(0, target_.find('?'));
}

std::string_view RequestReader::query(std::string_view name) const {
  const auto start = target_.find('?');
  std::string_view rest =
      start == std::string::npos ? std::string_view{} : std::string_view(target_).substr(start + 1);
  while (!rest.empty()) {
    const auto pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.substr(0, pair.find('=')) == name && pair.size() > name.size()) {
      return pair.substr(name.size() + 1);
    }
  }
  return {};
}

void RequestReader::on_request_impl(Verb, View method, View target, int version, Code&) {
  method_ = std::string(method);
  target_ = std::string(target);
  version_ = version;
}

void RequestReader::on_field_impl(Field name, View text, View value, Code&) {
  fields_.emplace_back(std::string(text), std::string(value));
  if (name == Field::expect && boost::beast::iequals(value, "100-continue")) {
    expects_continue_ = true;
  }
}

std::size_t RequestReader::on_body_impl(View body, Code&) {
  body_bytes_ += body.size();
  return body.size();
}

std::size_t RequestReader::on_chunk_body_impl(std::uint64_t, View body, Code&) {
  body_bytes_ += body.size();
  return body.size();
}

}  // namespace loadline::tools
