#include "demo_stage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "run_folder.h"
#include "set_client.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;

constexpr const char* kRunName = "demo";
constexpr auto kStartPatience = 10s;
constexpr auto kQuietPatience = 5s;
constexpr auto kAskPatience = 2s;
constexpr auto kLookAgain = 20ms;

// A folder that workers of another user may pass through, but nobody else may write to.
std::string make_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "loadline-demo.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error(fmt::format("cannot make a folder like {}", path));
  }
  chmod(path.c_str(), 0711);
  return path;
}

// A port that is free now. nginx cannot be asked to choose one.
std::uint16_t free_port() {
  boost::asio::io_context context;
  const boost::asio::ip::tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
  return boost::asio::ip::tcp::acceptor(context, any).local_endpoint().port();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Looks again and again until `condition` holds; false when it did not within `patience`.
template <class Condition>
bool await(std::chrono::milliseconds patience, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

}  // namespace

DemoStage::DemoStage(Options options) : options_(std::move(options)), folder_(make_folder()) {
  options_.service.listen = {};
  try {
    service_ = std::make_unique<DemoService>(options_.service);
    service_port_ = service_->port();
    sidecar_port_ = free_port();
    start_sidecar();
    await_sidecar();
  } catch (...) {
    sidecar_.reset();
    std::filesystem::remove_all(folder_);
    throw;
  }
}

DemoStage::~DemoStage() {
  if (sidecar_ && !sidecar_->has_ended()) {
    sidecar_->send(SIGTERM);
    await(kQuietPatience, [this] { return sidecar_->has_ended(); });
  }
  sidecar_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void DemoStage::start_sidecar() {
  const std::string log = folder_ + "/log";
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (output < 0) {
    throw std::runtime_error(fmt::format("cannot write {}", log));
  }
  sidecar_ = std::make_unique<Child>(
      Child::start({std::filesystem::read_symlink("/proc/self/exe").string(), "run", "--name",
                    kRunName, "--runtime", folder_, "--limit", options_.limit, "--upstream",
                    fmt::format("http://127.0.0.1:{}", service_port_), "--listen",
                    std::to_string(sidecar_port_), "--drain-timeout", "1s"},
                   output));
  close(output);
}

void DemoStage::await_sidecar() {
  const bool answers = await(kStartPatience, [this] {
    if (sidecar_->has_ended()) {
      fail("the sidecar ended at once");
    }
    try {
      ask("GET", "/status");
      return true;
    } catch (const NotRunning&) {
      return false;
    }
  });
  if (!answers) {
    fail("the sidecar did not answer");
  }
}

std::string DemoStage::ask(const std::string& method, const std::string& target) const {
  const ControlAnswer answer = ask_control(run_folder_path(folder_, kRunName) + "/control.sock",
                                           method, target, kAskPatience);
  if (answer.status != 200) {
    throw std::runtime_error(
        fmt::format("{} {} was answered with {}: {}", method, target, answer.status, answer.body));
  }
  return answer.body;
}

void DemoStage::fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("{}:\n{}", what, read_file(folder_ + "/log")));
}

void DemoStage::prepare(bool gate_on) {
  service_.reset();
  ServiceOptions again = options_.service;
  again.listen = {.address = "127.0.0.1", .port = service_port_};
  service_ = std::make_unique<DemoService>(again);
  const bool quiet = await(kQuietPatience, [this] { return gate()["in_flight"] == 0; });
  if (!quiet) {
    fail("requests stayed in flight at the gate though the service was gone");
  }
  ask("POST", gate_on ? "/set?mode=on" : "/set?mode=off");
}

nlohmann::json DemoStage::gate() const {
  return nlohmann::json::parse(ask("GET", "/status"))["gates"][0];
}

Url DemoStage::url() const {
  return Url{.host = "127.0.0.1", .port = sidecar_port_, .target = "/"};
}

}  // namespace loadline::tools
