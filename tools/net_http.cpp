#include "net_http.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace loadline::tools {
namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool has_field(const std::vector<HeaderField>& fields, const char* name) {
  return std::any_of(fields.begin(), fields.end(), [&](const HeaderField& field) {
    return strcasecmp(field.name.c_str(), name) == 0;
  });
}

// strptime reads more than HTTP allows, but nothing that could be meant otherwise; a day that its
// month does not have is the exception.
std::optional<std::time_t> parse_date(const std::string& text) {
  for (const char* form :
       {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    std::tm date{};
    const char* end = strptime(text.c_str(), form, &date);
    if (end == nullptr || *end != '\0') {
      continue;
    }
    const int day = date.tm_mday;
    const std::time_t time = timegm(&date);
    return date.tm_mday == day ? std::optional(time) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> parse_retry_after(std::string_view text, std::time_t now) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc::invalid_argument && end == text.data() + text.size()) {
    return error == std::errc{} ? seconds : kMost;
  }
  const auto date = parse_date(std::string(text));
  if (!date) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(std::clamp<std::time_t>(*date - now, 0, kMost));
}

std::optional<HeaderField> parse_header(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || !is_token(text.substr(0, colon))) {
    return std::nullopt;
  }
  const auto value = trimmed(text.substr(colon + 1));
  const bool clean = std::all_of(value.begin(), value.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
  if (!clean) {
    return std::nullopt;
  }
  return HeaderField{std::string(text.substr(0, colon)), std::string(value)};
}

bool is_method(std::string_view text) {
  return is_token(text);
}

std::string request_head(const Url& url, std::string_view method,
                         const std::vector<HeaderField>& fields, std::uint64_t body_bytes) {
  auto head = fmt::format("{} {} HTTP/1.1\r\n", method, url.target);
  if (!has_field(fields, "Host")) {
    head += fmt::format("Host: {}\r\n", url.authority());
  }
  if (!has_field(fields, "User-Agent")) {
    head += fmt::format("User-Agent: loadline/{}\r\n", LOADLINE_VERSION);
  }
  for (const auto& field : fields) {
    head += fmt::format("{}: {}\r\n", field.name, field.value);
  }
  const bool usually_has_body = method == "POST" || method == "PUT" || method == "PATCH";
  if (body_bytes > 0 || usually_has_body) {
    head += fmt::format("Content-Length: {}\r\n", body_bytes);
  }
  return head + "\r\n";
}

AnswerReader::AnswerReader(bool to_head) {
  eager(true);
  skip(to_head);
  body_limit(boost::none);
  header_limit(64 * 1024);
}

void AnswerReader::on_response_impl(int code, View, int, Code&) {
  status_ = code;
}

void AnswerReader::on_field_impl(Field name, View text, View value, Code&) {
  signs_.see(text, value, client::WallTime::seconds(std::time(nullptr)));
  if (name == Field::retry_after) {
    // Nothing is less than any number.
    retry_after_ = std::max(retry_after_, parse_retry_after(trimmed(value), std::time(nullptr)));
  }
}

std::size_t AnswerReader::on_body_impl(View body, Code&) {
  body_bytes_ += body.size();
  return body.size();
}

std::size_t AnswerReader::on_chunk_body_impl(std::uint64_t, View body, Code&) {
  body_bytes_ += body.size();
  return body.size();
}

}  // namespace loadline::tools
