#include "run_nginx.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "process.h"

namespace loadline::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModuleFile = "ngx_http_loadline_module.so";
constexpr std::chrono::seconds kTestTime(20);  // a slow name server may be asked

bool is_program(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> nginx_places() {
  std::vector<std::string> places{"/usr/sbin/nginx"};
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = std::min(rest.find(':'), rest.size());
    if (rest.starts_with('/')) {
      places.push_back(fmt::format("{}/nginx", rest.substr(0, colon)));
    }
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return places;
}

std::string own_path() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).string();
}

// The first line that tells of an error, without nginx's prefix and its place in our file.
std::string first_error(std::string_view said) {
  while (!said.empty()) {
    const auto end = std::min(said.find('\n'), said.size());
    std::string_view line = said.substr(0, end);
    said.remove_prefix(std::min(end + 1, said.size()));
    const auto level = std::min(line.find("[emerg] "), line.find("[alert] "));
    if (level != std::string_view::npos) {
      line.remove_prefix(level + 8);
      // "1234#1234: " where nginx already writes to its log.
      const auto after_pid = line.find_first_not_of("0123456789#");
      const bool has_pid =
          after_pid != 0 && after_pid != line.npos && line.substr(after_pid).starts_with(": ");
      return std::string(has_pid ? line.substr(after_pid + 2) : line);
    }
  }
  return "it gives no reason";
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string find_nginx(const std::string& given) {
  if (!given.empty()) {
    if (!is_program(given)) {
      throw std::runtime_error(
          fmt::format("{}: is no program: give nginx's path to --nginx", given));
    }
    return fs::absolute(given).lexically_normal().string();
  }
  for (const std::string& place : nginx_places()) {
    if (is_program(place)) {
      return place;
    }
  }
  throw std::runtime_error(
      "nginx is not here (looked for /usr/sbin/nginx and in $PATH): install it (apt install "
      "nginx), "
      "or give its path to --nginx");
}

std::vector<std::string> module_places(const std::string& command) {
  const fs::path prefix = fs::path(command).parent_path().parent_path();
  std::vector<std::string> places;
  for (const fs::path& folder :
       {prefix / "modules", prefix / "lib/nginx/modules", fs::path("/usr/lib/nginx/modules")}) {
    const std::string place = (folder / kModuleFile).string();
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
    }
  }
  return places;
}

std::string find_module(const std::string& given) {
  std::error_code ignored;
  if (!given.empty()) {
    if (!fs::is_regular_file(given, ignored)) {
      throw std::runtime_error(
          fmt::format("{}: is no file: give the path of {} to --module", given, kModuleFile));
    }
    return fs::absolute(given).lexically_normal().string();
  }
  const auto places = module_places(own_path());
  for (const std::string& place : places) {
    if (fs::is_regular_file(place, ignored)) {
      return place;
    }
  }
  throw std::runtime_error(
      fmt::format("the nginx module is not here (looked for {}): build it, install the package "
                  "libnginx-mod-http-loadline, or give its path to --module",
                  fmt::join(places, ", ")));
}

std::optional<std::string> test_nginx(const std::string& nginx, const std::string& folder,
                                      const std::string& configuration, const std::string& module) {
  const Output output =
      run_to_end({nginx, "-t", "-q", "-p", folder, "-c", configuration, "-e", "stderr"}, kTestTime);
  if (output.succeeded) {
    return std::nullopt;
  }
  return explain_nginx(output.text, nginx, module);
}

std::string explain_nginx(std::string_view said, std::string_view nginx, std::string_view module) {
  const std::string error = first_error(said);
  if (holds(error, "is not binary compatible") ||
      (holds(error, " version ") && holds(error, " instead of "))) {
    return fmt::format(
        "{} was built for another nginx than {}: build it against this one's headers (nginx-dev), "
        "or give the nginx that it fits to --nginx",
        module, nginx);
  }
  if (holds(error, "dlopen()")) {
    return fmt::format("{} cannot be loaded: {}", module, error);
  }
  if (holds(error, "unknown directive \"loadline")) {
    return fmt::format("{} is not this version's module ({}): give another to --module", module,
                       error);
  }
  return fmt::format("nginx refuses the configuration: {}", error);
}

}  // namespace loadline::tools
