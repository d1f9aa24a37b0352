// The nginx configuration that `loadline run` writes. People read it too: to see what a sidecar
// does, and to take from it for an nginx of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config.h"

namespace loadline::tools {

// What the machine, rather than the configuration, decides.
struct NginxSetup {
  std::string run_name;  // of this run, for the heading
  std::string folder;    // absolute; holds nginx.conf, nginx.pid and control.sock
  std::string scratch;   // absolute; nginx's temporary files; the workers' own
  std::string module;    // path of ngx_http_loadline_module.so
  std::string user;      // "NAME GROUP" that workers run as; empty: as whoever starts nginx
  unsigned workers = 1;
  unsigned long connections = 1024;  // a worker
  unsigned long open_files = 4096;   // a worker

  // Where the upstream is reached, as `server` takes it; empty: as the configuration names it.
  std::vector<std::string> servers;

  bool off = false;  // start with the gate off

  // Told at the control socket, so that a reload can be seen to have happened.
  unsigned generation = 1;

  std::string pid_file() const { return folder + "/nginx.pid"; }
  std::string control_socket() const { return folder + "/control.sock"; }
};

// The name of the gate, and of the upstream behind it.
inline constexpr const char* kGateName = "service";

// The whole configuration. `config` must have a limit and an upstream. Pure.
std::string nginx_conf(const Config& config, const NginxSetup& setup);

// `text` as one token of an nginx configuration: bare where that is safe, else in quotes that it
// cannot leave. A $ stays a $: whether it begins a variable is up to the directive, so a value for
// one that expands variables must not hold any.
std::string nginx_quoted(std::string_view text);

// ADDR:PORT with IPv6 in brackets.
std::string listen_text(const ListenAddress& address);

}  // namespace loadline::tools
