// Command line options whose values are written as text.h reads them. A value that is not is
// refused with one line that names the option, the value and what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net_http.h"
#include "text.h"

namespace loadline::tools {

// The error for a bad value of an option; the command ends with exit code 2.
[[noreturn]] void refuse_value(const std::string& option, const std::string& value,
                               const std::string& allowed);

// Each adds an option `name` that sets `target`. A time option may require more than zero.
enum class ZeroTime { allowed, refused };
CLI::Option* add_time(CLI::App& app, const std::string& name, std::chrono::nanoseconds& target,
                      const std::string& help, ZeroTime zero = ZeroTime::allowed);
CLI::Option* add_time(CLI::App& app, const std::string& name,
                      std::optional<std::chrono::nanoseconds>& target, const std::string& help,
                      ZeroTime zero = ZeroTime::allowed);
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& target,
                      const std::string& help);
CLI::Option* add_listen(CLI::App& app, const std::string& name, ListenAddress& target,
                        const std::string& help);
// A number from `low` to `high`.
CLI::Option* add_decimal(CLI::App& app, const std::string& name, double& target, double low,
                         double high, const std::string& help);
// One of a few words.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Value& target,
                        std::initializer_list<std::pair<std::string, Value>> choices,
                        const std::string& help) {
  std::string words;
  std::string now;
  for (const auto& [word, value] : choices) {
    words += (words.empty() ? "" : "|") + word;
    now = value == target ? word : now;
  }
  const std::vector<std::pair<std::string, Value>> known{choices};
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, known, words](const std::string& text) {
            for (const auto& [word, value] : known) {
              if (word == text) {
                target = value;
                return;
              }
            }
            refuse_value(name, text, "one of " + words);
          },
          help)
      ->type_name(words)
      ->default_str(now);
}

// --header 'NAME: VALUE', which may be repeated, and --method NAME.
CLI::Option* add_headers(CLI::App& app, std::vector<HeaderField>& target);
CLI::Option* add_method(CLI::App& app, std::string& target);
// A required positional argument.
CLI::Option* add_url(CLI::App& app, Url& target, const std::string& help);

}  // namespace loadline::tools
