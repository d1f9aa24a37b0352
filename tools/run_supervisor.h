// Stays in front of nginx: starts it, passes signals on, reloads, drains, and ends with it.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "nginx_conf.h"
#include "process.h"
#include "run_folder.h"
#include "run_options.h"

namespace loadline::tools {

// What the machine says about a run of `config`, but for what may be missing: the module and the
// upstream's addresses.
NginxSetup find_setup(const RunOptions& options, const Config& config);

class Supervisor {
 public:
  // Takes the folder and finds nginx and the module; throws std::runtime_error, in a line that says
  // what to do, when something is missing. `options` must outlive it.
  Supervisor(const RunOptions& options, Config config);

  // Returns an exit code once nginx has ended.
  int run();

 private:
  enum class Awaited { there, ended, late };

  void require_free_ports(const Config& config, const Config* held) const;
  std::optional<std::string> write_and_test(const Config& config, const NginxSetup& setup);
  Awaited await_generation(unsigned generation);
  bool answers_with(unsigned generation) const;

  bool start();
  int watch();
  void reload();
  void reload_or_throw();
  int drain();
  bool wait_for_end(std::chrono::milliseconds time, bool hurried_by_signal);
  int report_end();

  const RunOptions& options_;
  Config config_;
  SignalReader signals_;
  std::string nginx_;
  RunFolder folder_;
  NginxSetup setup_;
  std::string written_;         // the text of the configuration that runs
  std::deque<int> put_off_;     // signals that came while another was being acted on
  std::optional<Child> child_;  // last: it ends before its files go
};

}  // namespace loadline::tools
