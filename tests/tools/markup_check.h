// Whether a text is well-formed XML, as far as our pictures and pages go: no DTD, no CDATA.
#pragma once

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim_text.h"

namespace loadline::tools::test {

class MarkupCheck {
 public:
  // What is wrong with it first; empty: nothing.
  static std::string fault_of(std::string_view document) {
    MarkupCheck check(document);
    check.run();
    return check.fault_;
  }

 private:
  explicit MarkupCheck(std::string_view document) : rest_(document) {}

  void run() {
    constexpr std::string_view kDoctype = "<!DOCTYPE html>\n";
    if (rest_.starts_with(kDoctype)) {
      rest_.remove_prefix(kDoctype.size());
    }
    while (fault_.empty() && !rest_.empty()) {
      rest_.front() == '<' ? tag() : text(rest_.substr(0, rest_.find('<')));
    }
    if (!open_.empty()) {
      fail("never closed: " + open_.back());
    }
    if (roots_ != 1) {
      fail("not one root");
    }
  }

  void fail(const std::string& why) {
    if (fault_.empty()) {
      fault_ = why + " before: " + std::string(rest_.substr(0, 80));
    }
  }

  void text(std::string_view text) {
    characters(text);
    const bool blank = text.find_first_not_of(" \n") == std::string_view::npos;
    if (open_.empty() && !blank) {
      fail("text outside of the root");
    }
    rest_.remove_prefix(text.size());
  }

  void characters(std::string_view text) {
    std::string plain(text);
    std::replace(plain.begin(), plain.end(), '\n', ' ');
    if (one_line(plain) != plain) {
      fail("no character of XML");
    }
    for (auto at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
      const std::string_view name = text.substr(at, text.find(';', at) - at + 1);
      static const std::set<std::string_view> kKnown{"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
      if (!kKnown.contains(name)) {
        fail("unknown reference");
      }
    }
  }

  std::string_view take_name() {
    const auto end = std::find_if(rest_.begin(), rest_.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != ':';
    });
    const auto name = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(name.size());
    if (name.empty()) {
      fail("no name");
    }
    return name;
  }

  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) {
      return false;
    }
    rest_.remove_prefix(what.size());
    return true;
  }

  void tag() {
    if (take("</")) {
      const std::string_view name = take_name();
      if (open_.empty() || open_.back() != name || !take(">")) {
        return fail("closes what is not open");
      }
      open_.pop_back();
      return;
    }
    take("<");
    const std::string_view name = take_name();
    roots_ += open_.empty() ? 1 : 0;
    attributes();
    if (take("/>")) {
      return;
    }
    open_.emplace_back(name);
    if (!take(">")) {
      fail("a tag that does not end");
    }
  }

  void attributes() {
    std::set<std::string_view> seen;
    while (fault_.empty() && take(" ")) {
      const std::string_view name = take_name();
      if (!seen.insert(name).second || !take("=\"")) {
        return fail("an attribute twice, or without a value");
      }
      const auto end = rest_.find('"');
      if (end == std::string_view::npos || rest_.substr(0, end).find('<') < end) {
        return fail("a value that does not end");
      }
      characters(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
    }
  }

  std::string_view rest_;
  std::vector<std::string> open_;
  int roots_ = 0;
  std::string fault_;
};

}  // namespace loadline::tools::test
