#include "stage.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace loadline::bench::storm {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 20s;
constexpr auto kLookAgain = 20ms;

// A port that is free now.
std::uint16_t free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  if (!bound) {
    throw std::runtime_error("no free port");
  }
  return ntohs(address.sin_port);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::size_t append(const char* data, std::size_t, std::size_t size, void* body) {
  static_cast<std::string*>(body)->append(data, size);
  return size;
}

// The body of a 200, if there is one.
std::optional<std::string> get(const std::string& url) {
  std::string body;
  long status = 0;
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 2000L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
  if (curl_easy_perform(easy) == CURLE_OK) {
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  }
  curl_easy_cleanup(easy);
  return status == 200 ? std::optional(body) : std::nullopt;
}

bool answers(const std::string& url) {
  const auto end = std::chrono::steady_clock::now() + kStartPatience;
  while (!get(url)) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

std::vector<std::string> sidecar_command(const StageOptions& options, const std::string& folder,
                                         const std::string& upstream, std::uint16_t port) {
  std::vector<std::string> command{
      options.command,   "run",    "--name",   "storm",
      "--runtime",       folder,   "--limit",  std::to_string(kLimit),
      "--upstream",      upstream, "--listen", fmt::format("127.0.0.1:{}", port),
      "--drain-timeout", "1s"};
  if (!options.module.empty()) {
    command.insert(command.end(), {"--module", options.module});
  }
  if (!options.gate) {
    command.emplace_back("--observe");
  }
  return command;
}

}  // namespace

// Workers of another user may pass through, but nobody else may write to it.
Folder::Folder() {
  std::string path = (std::filesystem::temp_directory_path() / "loadline-storm.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error(fmt::format("cannot make a folder like {}", path));
  }
  chmod(path.c_str(), 0711);
  path_ = path;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Stage::Stage(const StageOptions& options) {
  const std::uint16_t service_port = free_port();
  service_url_ = fmt::format("http://127.0.0.1:{}", service_port);
  service_ = std::make_unique<Process>(Process::Start{
      .command = {options.command, "serve", "--listen", fmt::format("127.0.0.1:{}", service_port),
                  "--workers", std::to_string(kWorkers), "--service",
                  fmt::format("{}ms", kServiceMs)},
      .cpu = 0,
      .output = folder_.path() / "service.log"});
  service_pid_ = service_->family().front();
  const std::uint16_t port = free_port();
  url_ = fmt::format("http://127.0.0.1:{}/", port);
  sidecar_ = std::make_unique<Process>(Process::Start{
      .command = sidecar_command(options, folder_.path() / "run", service_url_, port),
      .cpu = 0,
      .output = folder_.path() / "sidecar.log"});
  if (!answers(service_url_ + "/healthz") || !answers(url_)) {
    fail("the service or its sidecar did not answer");
  }
}

Stage::~Stage() {
  go_on();
  sidecar_.reset();
  service_.reset();
}

void Stage::stand_still() {
  kill(service_pid_, SIGSTOP);
}

void Stage::go_on() {
  kill(service_pid_, SIGCONT);
}

ServiceCounts Stage::counts() {
  const std::optional<std::string> text = get(service_url_ + "/stats");
  if (!text) {
    fail("the service does not tell its counts");
  }
  const nlohmann::json stats = nlohmann::json::parse(*text);
  return {.completed = stats["completed"], .abandoned = stats["abandoned"]};
}

void Stage::fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("{}:\n{}\n{}", what,
                                       read_file(folder_.path() / "service.log"),
                                       read_file(folder_.path() / "sidecar.log")));
}

}  // namespace loadline::bench::storm
