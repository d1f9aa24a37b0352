#include "nginx/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "nginx/stop.h"

namespace loadline::bench {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kStartTime = 5s;
constexpr auto kBetweenTries = 5ms;

// One worker and, for both sides, keep-alive without end: nginx would otherwise close each
// connection after 1000 requests. All else is as nginx has it; the temporary paths only because
// Debian's need root.
std::string nginx_config(const Variant& variant, std::uint16_t port) {
  const std::string hold =
      variant.hold.empty() ? "" : fmt::format("    location = /hold {{ {} }}\n", variant.hold);
  return fmt::format(
      "daemon off;\n"
      "pid nginx.pid;\n"
      "error_log error.log;\n"
      "worker_processes 1;\n"
      "{user}{main}"
      "events {{ worker_connections 2048; }}\n"
      "http {{\n"
      "  client_body_temp_path client_body;\n"
      "  proxy_temp_path proxy;\n"
      "  fastcgi_temp_path fastcgi;\n"
      "  uwsgi_temp_path uwsgi;\n"
      "  scgi_temp_path scgi;\n"
      "  access_log off;\n"
      "  keepalive_requests 1000000000;\n"
      "{http}"
      "  server {{\n"
      "    listen 127.0.0.1:{port};\n"
      "{hold}"
      "    location / {{\n{answer}    }}\n"
      "  }}\n"
      "}}\n",
      fmt::arg("user", geteuid() == 0 ? "user root root;\n" : ""), fmt::arg("main", variant.main),
      fmt::arg("http", variant.http), fmt::arg("port", port), fmt::arg("hold", hold),
      fmt::arg("answer", variant.answer));
}

// One thread, as nginx has one worker.
std::string haproxy_config(const Variant& variant, std::uint16_t port) {
  return fmt::format(
      "global\n"
      "  nbthread 1\n"
      "  maxconn 2048\n"
      "defaults\n"
      "  mode http\n"
      "  timeout connect 5s\n"
      "  timeout client 60s\n"
      "  timeout server 60s\n"
      "frontend bench\n"
      "  bind 127.0.0.1:{}\n{}",
      port, variant.answer);
}

std::vector<std::string> command_for(const Variant& variant, const fs::path& folder,
                                     std::uint16_t port) {
  const fs::path config = folder / "server.conf";
  if (variant.software == Variant::Software::haproxy) {
    std::ofstream(config) << haproxy_config(variant, port);
    return {"haproxy", "-db", "-f", config};
  }
  std::ofstream(config) << nginx_config(variant, port);
  return {"nginx", "-p", folder, "-e", "error.log", "-c", config};
}

void append_file(std::string& text, const fs::path& file) {
  std::ostringstream contents;
  contents << std::ifstream(file).rdbuf();
  text += contents.str();
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = fs::temp_directory_path() / "loadline-bench-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Server::Server(const Variant& variant, int cpu)
    : port_(free_port()),
      process_({.command = command_for(variant, folder_.path(), port_),
                .cpu = cpu,
                .output = folder_.path() / "server.out"}) {
  wait_until_it_listens();
  if (!variant.hold.empty()) {
    held_ = std::make_unique<Connection>(port_);
    held_->send("/hold");
  }
  wait_for_right_answer(variant);
  warm_up();
  process_.family();  // its workers are there by now
}

void Server::fail(const std::string& what) {
  std::string said;
  append_file(said, folder() / "server.out");
  append_file(said, folder() / "error.log");
  throw std::runtime_error(said.empty() ? what : what + "; it said:\n" + said);
}

void Server::wait_until_it_listens() {
  const auto until = Clock::now() + kStartTime;
  while (!accepts_connections(port_)) {
    throw_if_stopped();
    if (process_.ended() || Clock::now() > until) {
      fail("the server did not start");
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

// Not at once where a request must first be left hanging.
void Server::wait_for_right_answer(const Variant& variant) {
  const auto until = Clock::now() + kStartTime;
  Connection connection(port_);
  for (;;) {
    throw_if_stopped();
    const Answer answer = connection.get("/");
    if (answer.status == variant.status && (variant.body.empty() || answer.body == variant.body)) {
      return;
    }
    if (Clock::now() > until) {
      fail(fmt::format("{}: expected {} and \"{}\", got \"{}\n{}\"", variant.name, variant.status,
                       variant.body, answer.head, answer.body));
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

// Pages that are touched for the first time are not what is compared.
void Server::warm_up() {
  constexpr int kRequests = 500;
  Connection connection(port_);
  for (int i = 0; i < kRequests; ++i) {
    connection.get("/");
  }
}

}  // namespace loadline::bench
