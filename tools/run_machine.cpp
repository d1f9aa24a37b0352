#include "run_machine.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "nginx_conf.h"

namespace loadline::tools {
namespace {

constexpr unsigned long kMostOpenFiles = 1'048'576;
constexpr unsigned long kMostConnections = 32'768;  // about 14 MB a worker

// Logs, listening sockets, the module's wake-up descriptors.
constexpr unsigned long kReservedFiles = 128;

constexpr int kProbeMillis = 250;

// A socket that closes itself.
class Socket {
 public:
  explicit Socket(int family)
      : descriptor_(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct AddressList {
  addrinfo* first = nullptr;
  ~AddressList() {
    if (first != nullptr) {
      freeaddrinfo(first);
    }
  }
};

bool accepts_connection(const addrinfo& address) {
  const Socket probe(address.ai_family);
  if (connect(probe.get(), address.ai_addr, address.ai_addrlen) == 0) {
    return true;
  }
  if (errno != EINPROGRESS) {
    return false;
  }
  pollfd waiting{probe.get(), POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  return poll(&waiting, 1, kProbeMillis) == 1 &&
         getsockopt(probe.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

std::string address_text(const addrinfo& address, std::uint16_t port) {
  std::array<char, NI_MAXHOST> host{};
  getnameinfo(address.ai_addr, address.ai_addrlen, host.data(), host.size(), nullptr, 0,
              NI_NUMERICHOST);
  return listen_text({host.data(), port});
}

// The addresses of one family, and whether any of them takes a connection.
struct Family {
  std::vector<std::string> servers;
  bool answers = false;
};

Family collect(const addrinfo* first, int family, std::uint16_t port, bool probe) {
  Family found;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    if (each->ai_family != family) {
      continue;
    }
    const std::string text = address_text(*each, port);
    if (std::find(found.servers.begin(), found.servers.end(), text) == found.servers.end()) {
      found.servers.push_back(text);
    }
    found.answers = found.answers || (probe && accepts_connection(*each));
  }
  return found;
}

bool has_family(const addrinfo* first, int family) {
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    if (each->ai_family == family) {
      return true;
    }
  }
  return false;
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Where this process's cgroup v2 is mounted: "0::/path" in /proc/self/cgroup.
std::string own_cpu_max() {
  std::istringstream lines(read_file("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::")) {
      return read_file("/sys/fs/cgroup" + line.substr(3) + "/cpu.max");
    }
  }
  return "";
}

std::string why_not_bound(const ListenAddress& address, int error) {
  const std::string text = listen_text(address);
  switch (error) {
    case EADDRINUSE:
      return fmt::format(
          "{} is in use: choose another port, or see who has it with: ss -ltnp 'sport = :{}'", text,
          address.port);
    case EACCES:
      return fmt::format("{} needs root or CAP_NET_BIND_SERVICE: choose a port from 1024 on", text);
    case EADDRNOTAVAIL:
      return fmt::format("{} is no address of this machine: see them with: ip address", text);
    default:
      return fmt::format("{} cannot be listened on: {}", text, std::strerror(error));
  }
}

}  // namespace

unsigned usable_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const auto count = known ? static_cast<unsigned>(CPU_COUNT(&allowed)) : 1u;
  const auto quota = processors_of_quota(own_cpu_max());
  return std::max(1u, std::min(count, quota.value_or(count)));
}

std::optional<unsigned> processors_of_quota(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0;
  double period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  const double processors = std::clamp(quota / period, 1.0, 4096.0);
  const auto whole = static_cast<unsigned>(processors);
  return whole < processors ? whole + 1 : whole;
}

unsigned long open_files_limit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
    return 1024;
  }
  return std::min<unsigned long>(files.rlim_max, kMostOpenFiles);
}

unsigned long connections_for(unsigned long open_files) {
  const unsigned long left = open_files > kReservedFiles ? open_files - kReservedFiles : 0;
  return std::clamp(left, 64ul, kMostConnections);
}

std::optional<std::string> too_few_connections(const Config& config, unsigned long connections,
                                               unsigned long open_files) {
  // An admitted request holds two, a waiting one holds one; and those to be refused must get in.
  const auto limit = most_at_once(config);
  if (!limit || connections >= 2ul * *limit + 512) {
    return std::nullopt;
  }
  return fmt::format(
      "a worker can hold {} connections, two for each request, which is little for limit {}: {}",
      connections, *limit,
      connections == kMostConnections
          ? "give more --workers"
          : fmt::format("raise the limit of open files from {} (ulimit -Hn, LimitNOFILE=)",
                        open_files));
}

std::optional<WorkerUser> worker_user() {
  if (geteuid() != 0) {
    return std::nullopt;
  }
  for (const char* name : {"www-data", "nobody"}) {
    const passwd* user = getpwnam(name);
    const group* own_group = user == nullptr ? nullptr : getgrgid(user->pw_gid);
    if (own_group != nullptr) {
      return WorkerUser{user->pw_uid, user->pw_gid, fmt::format("{} {}", name, own_group->gr_name)};
    }
  }
  throw std::runtime_error(
      "neither user www-data nor nobody is here, and workers must not be root: start as another "
      "user");
}

std::vector<std::string> upstream_servers(const Upstream& upstream) {
  if (upstream.is_numeric()) {
    return {upstream.endpoint()};
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  AddressList list;
  const std::string port = std::to_string(upstream.port);
  const int error = getaddrinfo(upstream.host.c_str(), port.c_str(), &wanted, &list.first);
  if (error != 0) {
    throw std::runtime_error(fmt::format(
        "upstream {}: '{}' does not resolve: {}: it must when the command starts; check the name, "
        "or give an address",
        upstream.text(), upstream.host, gai_strerror(error)));
  }
  const bool mixed = has_family(list.first, AF_INET) && has_family(list.first, AF_INET6);
  const Family v4 = collect(list.first, AF_INET, upstream.port, mixed);
  const Family v6 = collect(list.first, AF_INET6, upstream.port, mixed);
  const bool use_v6 = v4.servers.empty() || (v6.answers && !v4.answers);
  return use_v6 ? v6.servers : v4.servers;
}

std::optional<std::string> listen_obstacle(const ListenAddress& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  AddressList list;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.address.c_str(), port.c_str(), &wanted, &list.first) != 0) {
    return fmt::format("{} is no address", listen_text(address));
  }
  const Socket probe(list.first->ai_family);
  if (probe.get() < 0) {
    return why_not_bound(address, errno);
  }
  const int yes = 1;
  const int no = 0;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.address == "::") {
    setsockopt(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  // SO_REUSEADDR lets two sockets bind to a port as long as neither listens: so this one does.
  if (bind(probe.get(), list.first->ai_addr, list.first->ai_addrlen) != 0 ||
      listen(probe.get(), 1) != 0) {
    return why_not_bound(address, errno);
  }
  return std::nullopt;
}

}  // namespace loadline::tools
