#include "run_supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "run_machine.h"
#include "run_nginx.h"
#include "set_client.h"

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kStartTime(10);
constexpr milliseconds kLookAgain(10);  // SIGCHLD ends the wait at once
constexpr seconds kAnswerTime(2);
constexpr seconds kTermTime(5);
constexpr milliseconds kForever(60'000);

constexpr const char* kConfiguration = "nginx.conf";
constexpr const char* kNextConfiguration = "nginx.conf.next";

// To stderr, and in one piece: nginx writes there too.
template <class... Arguments>
void say(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
  const std::string line =
      "loadline: " + fmt::format(form, std::forward<Arguments>(arguments)...) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool asks_to_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
}

bool is_held(const Config* held, const ListenAddress& address) {
  if (held == nullptr) {
    return false;
  }
  const auto same = [&address](const std::optional<ListenAddress>& other) {
    return other && other->address == address.address && other->port == address.port;
  };
  return same(held->listen) || same(held->admin) || same(held->metrics);
}

std::string runtime_base(const RunOptions& options) {
  return options.runtime.empty() ? default_runtime_base() : options.runtime;
}

}  // namespace

NginxSetup find_setup(const RunOptions& options, const Config& config) {
  NginxSetup setup;
  setup.run_name = options.name;
  setup.folder = run_folder_path(runtime_base(options), options.name);
  setup.scratch = setup.folder + ".temp";
  setup.workers = config.workers.value_or(std::min(usable_processors(), 8u));
  setup.open_files = open_files_limit();
  setup.off = options.off;
  setup.connections = connections_for(setup.open_files);
  if (const auto user = worker_user()) {
    setup.user = user->directive;
  }
  return setup;
}

Supervisor::Supervisor(const RunOptions& options, Config config)
    : options_(options),
      config_(std::move(config)),
      signals_{SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGCHLD},
      nginx_(find_nginx(options.nginx)),
      folder_(runtime_base(options), options.name),
      setup_(find_setup(options, config_)) {
  setup_.module = find_module(options.module);
  setup_.servers = upstream_servers(*config_.upstream);
  if (const auto user = worker_user()) {
    folder_.give_scratch_to(user->user, user->group);
  }
}

int Supervisor::run() {
  require_free_ports(config_, nullptr);
  if (const auto fault = write_and_test(config_, setup_)) {
    throw std::runtime_error(*fault);
  }
  if (const auto warning = too_few_connections(config_, setup_.connections, setup_.open_files)) {
    say("{}", *warning);
  }
  if (!start()) {
    return report_end();
  }
  return watch();
}

void Supervisor::require_free_ports(const Config& config, const Config* held) const {
  const auto require = [held](const char* key, const std::optional<ListenAddress>& address) {
    if (!address || is_held(held, *address)) {
      return;
    }
    if (const auto obstacle = listen_obstacle(*address)) {
      throw std::runtime_error(fmt::format("{}: {}", key, *obstacle));
    }
  };
  require("listen", config.listen);
  require("admin", config.admin);
  require("metrics", config.metrics);
}

// Puts the configuration in place only when nginx accepts it; returns what is wrong with it if not.
std::optional<std::string> Supervisor::write_and_test(const Config& config,
                                                      const NginxSetup& setup) {
  const std::string text = nginx_conf(config, setup);
  folder_.write(kNextConfiguration, text);
  const std::string next = fmt::format("{}/{}", folder_.path(), kNextConfiguration);
  if (auto fault = test_nginx(nginx_, folder_.path(), next, setup.module)) {
    return fault;
  }
  folder_.replace(kConfiguration, kNextConfiguration);
  written_ = text;
  return std::nullopt;
}

// False when nginx has ended before it listened.
bool Supervisor::start() {
  child_.emplace(
      Child::start({nginx_, "-p", folder_.path(), "-c",
                    fmt::format("{}/{}", folder_.path(), kConfiguration), "-e", "stderr"}));
  const Awaited seen = await_generation(setup_.generation);
  if (seen == Awaited::late) {
    throw std::runtime_error(fmt::format("nginx does not listen after {}: what it said is above",
                                         format_time(kStartTime)));
  }
  if (seen == Awaited::ended) {
    return false;
  }
  fmt::print("loadline: {}\n", describe_run(config_, options_.off));
  // Guarding matters more than saying so: a full disk under a log does not count as a failure.
  std::fflush(stdout);
  std::clearerr(stdout);
  return true;
}

// Waits until the control socket tells of this generation: then nginx listens everywhere, and at
// least one of its new workers is at work. Signals are put off until then: a master that is still
// starting notes a SIGQUIT and then sleeps on it.
Supervisor::Awaited Supervisor::await_generation(unsigned generation) {
  const auto end = steady_clock::now() + kStartTime;
  while (steady_clock::now() < end) {
    if (child_->has_ended()) {
      return Awaited::ended;
    }
    if (answers_with(generation)) {
      return Awaited::there;
    }
    const auto signal = signals_.next(kLookAgain);
    if (signal && *signal != SIGCHLD) {
      put_off_.push_back(*signal);
    }
  }
  return Awaited::late;
}

bool Supervisor::answers_with(unsigned generation) const {
  try {
    const auto answer = ask_control(setup_.control_socket(), "GET", "/generation", kAnswerTime);
    return answer.status == 200 && answer.body == std::to_string(generation);
  } catch (const std::exception&) {
    return false;  // not yet; await_generation knows when it is too late
  }
}

int Supervisor::watch() {
  while (!child_->has_ended()) {
    std::optional<int> signal;
    if (put_off_.empty()) {
      signal = signals_.next(kForever);
    } else {
      signal = put_off_.front();
      put_off_.pop_front();
    }
    if (!signal) {
      continue;
    }
    if (asks_to_stop(*signal)) {
      return drain();
    }
    if (*signal == SIGHUP) {
      reload();
    } else if (*signal == SIGUSR1) {
      child_->send(SIGUSR1);
    }
  }
  return report_end();
}

void Supervisor::reload() {
  try {
    reload_or_throw();
    say("reloaded: {}; what was set at run time no longer holds",
        describe_run(config_, options_.off));
  } catch (const std::exception& error) {
    say("not reloaded, what ran before still runs: {}", error.what());
  }
}

void Supervisor::reload_or_throw() {
  LoadedConfig loaded = load_config(options_);
  if (!loaded.faults.empty()) {
    throw std::runtime_error(fmt::format("{}", fmt::join(loaded.faults, "\n")));
  }
  NginxSetup setup = find_setup(options_, loaded.config);
  setup.module = setup_.module;
  setup.servers = upstream_servers(*loaded.config.upstream);
  setup.generation = setup_.generation + 1;
  require_free_ports(loaded.config, &config_);

  const std::string before = written_;
  if (const auto fault = write_and_test(loaded.config, setup)) {
    throw std::runtime_error(*fault);
  }
  child_->send(SIGHUP);
  setup_.generation = setup.generation;  // even if it comes late, it must not be taken for the next
  if (const auto seen = await_generation(setup.generation); seen != Awaited::there) {
    folder_.write(kConfiguration, before);
    written_ = before;
    throw std::runtime_error("nginx did not take it: what it said is above");
  }
  setup_ = std::move(setup);
  config_ = std::move(loaded.config);
}

// Lets running requests finish, for so long; a second signal hurries.
int Supervisor::drain() {
  if (config_.drain_timeout > milliseconds(0)) {
    say("draining, up to {}; a second signal ends it at once", format_time(config_.drain_timeout));
  }
  child_->send(SIGQUIT);
  if (!wait_for_end(config_.drain_timeout, true)) {
    say("cutting off the requests that still run");
    child_->send(SIGTERM);
    wait_for_end(kTermTime, false);
  }
  child_->kill_group();
  say("ended");
  return 0;
}

bool Supervisor::wait_for_end(milliseconds time, bool hurried_by_signal) {
  const auto end = steady_clock::now() + time;
  while (!child_->has_ended()) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) {
      return false;
    }
    const auto signal = signals_.next(left);
    if (hurried_by_signal && signal && asks_to_stop(*signal)) {
      return false;
    }
  }
  return true;
}

// A master that was killed leaves its workers behind: they go too.
int Supervisor::report_end() {
  child_->kill_group();
  say("nginx has ended by itself, with {}", child_->end_text());
  return 1;
}

}  // namespace loadline::tools
