// What `loadline run` finds out from the machine: processors, open files, users, addresses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config.h"

namespace loadline::tools {

// How many processors this process may use, from its affinity and its cgroup's quota, at least 1.
// nginx's own `auto` counts the machine's, which starts 64 workers in a container with one.
unsigned usable_processors();

// The quota in a cgroup v2 cpu.max ("150000 100000": 1.5 processors, so 2), or nothing for "max".
std::optional<unsigned> processors_of_quota(const std::string& cpu_max);

// The hard limit of open files, as far as nginx should go with it.
unsigned long open_files_limit();

// Connections a worker may hold with so many open files.
unsigned long connections_for(unsigned long open_files);

// A sentence when those connections are few for what the configuration lets in, else nothing.
std::optional<std::string> too_few_connections(const Config& config, unsigned long connections,
                                               unsigned long open_files);

struct WorkerUser {
  unsigned user = 0;
  unsigned group = 0;
  std::string directive;  // "www-data www-data"
};

// Who should do the work when root starts nginx: www-data, else nobody. Nothing when not root.
std::optional<WorkerUser> worker_user();

// The addresses of the upstream, as nginx's `server` takes them. A name may have addresses of both
// families while the service listens on one only (localhost is the usual case), and half of the
// requests would fail: the family that takes a connection now is used, else IPv4.
// Throws std::runtime_error when the name does not resolve.
std::vector<std::string> upstream_servers(const Upstream& upstream);

// A sentence on why `address` cannot be listened on now, or nothing.
std::optional<std::string> listen_obstacle(const ListenAddress& address);

}  // namespace loadline::tools
