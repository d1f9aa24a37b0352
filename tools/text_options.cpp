#include "text_options.h"

#include <fmt/format.h>

namespace loadline::tools {
namespace {

std::chrono::nanoseconds read_time(const std::string& name, const std::string& text,
                                   ZeroTime zero) {
  const auto time = parse_time(text);
  if (!time) {
    refuse_value(name, text, kTimeForm);
  }
  if (zero == ZeroTime::refused && time->count() == 0) {
    refuse_value(name, text, "a time longer than 0");
  }
  return *time;
}

}  // namespace

void refuse_value(const std::string& option, const std::string& value, const std::string& allowed) {
  throw CLI::ValidationError(option, fmt::format("'{}' is not {}", value, allowed));
}

CLI::Option* add_time(CLI::App& app, const std::string& name, std::chrono::nanoseconds& target,
                      const std::string& help, ZeroTime zero) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, zero](const std::string& text) { target = read_time(name, text, zero); },
          help)
      ->type_name("TIME")
      ->default_str(format_time(target));
}

CLI::Option* add_time(CLI::App& app, const std::string& name,
                      std::optional<std::chrono::nanoseconds>& target, const std::string& help,
                      ZeroTime zero) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, zero](const std::string& text) { target = read_time(name, text, zero); },
          help)
      ->type_name("TIME");
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& target,
                      const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name](const std::string& text) {
            const auto size = parse_size(text);
            if (!size) {
              refuse_value(name, text, kSizeForm);
            }
            target = *size;
          },
          help)
      ->type_name("SIZE");
}

CLI::Option* add_decimal(CLI::App& app, const std::string& name, double& target, double low,
                         double high, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, low, high](const std::string& text) {
            const auto number = parse_decimal(text);
            if (!number || *number < low || *number > high) {
              refuse_value(name, text, fmt::format("a number from {} to {}", low, high));
            }
            target = *number;
          },
          help)
      ->type_name(fmt::format("N in [{} - {}]", low, high))
      ->default_str(fmt::format("{}", target));
}

CLI::Option* add_listen(CLI::App& app, const std::string& name, ListenAddress& target,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name](const std::string& text) {
            const auto address = parse_listen(text);
            if (!address) {
              refuse_value(name, text, kListenForm);
            }
            target = *address;
          },
          help)
      ->type_name("[ADDR:]PORT");
}

CLI::Option* add_headers(CLI::App& app, std::vector<HeaderField>& target) {
  return app
      .add_option_function<std::vector<std::string>>(
          "--header",
          [&target](const std::vector<std::string>& texts) {
            for (const auto& text : texts) {
              const auto field = parse_header(text);
              if (!field) {
                refuse_value("--header", text, kHeaderForm);
              }
              target.push_back(*field);
            }
          },
          "Header to send; may be repeated")
      ->type_name("'NAME: VALUE'")
      ->allow_extra_args(false);
}

CLI::Option* add_method(CLI::App& app, std::string& target) {
  return app
      .add_option_function<std::string>(
          "--method",
          [&target](const std::string& text) {
            if (!is_method(text) || text == "CONNECT") {
              refuse_value("--method", text, "a method such as GET or POST");
            }
            target = text;
          },
          "Request method")
      ->type_name("NAME")
      ->default_str(target);
}

CLI::Option* add_url(CLI::App& app, Url& target, const std::string& help) {
  return app
      .add_option_function<std::string>(
          "url",
          [&target](const std::string& text) {
            const auto url = parse_url(text);
            if (!url) {
              refuse_value("url", text, kUrlForm);
            }
            target = *url;
          },
          help)
      ->type_name("URL")
      ->required();
}

}  // namespace loadline::tools
