#include "run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

// glibc 2.36 forgets to say so itself.
extern "C" {
#include <sys/pidfd.h>
}

namespace loadline::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kLeftoverMillis = 5000;
constexpr int kLookAgainMillis = 10;

// A unix socket's path holds 108 bytes with the NUL.
constexpr std::size_t kLongestFolder = 107 - std::string_view("/control.sock").size();

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

void make_folder(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    fail(path, "cannot be made (give --runtime a folder you may write to)");
  }
}

// In /tmp anyone may have made a folder of this name before us, to read or replace what is in it.
void require_ours(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    fail(path, "cannot be looked at");
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
    throw std::runtime_error(
        fmt::format("{}: is not a folder of this user's: give another with --runtime", path));
  }
}

// The base may be anyone's, as long as others cannot rename what we make in it.
void require_safe_base(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    fail(path, "cannot be looked at");
  }
  const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool is_sticky = (status.st_mode & S_ISVTX) != 0;
  if (!S_ISDIR(status.st_mode) || (others_write && !is_sticky)) {
    throw std::runtime_error(fmt::format(
        "{}: is not a folder, or one where others may write: give another with --runtime", path));
  }
}

std::string read_all(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

pid_t read_pid(const std::string& path) {
  const std::string text = read_all(path);
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

// `loadline set` holds the lock for a moment to see whether a run does (look_for_run): that must
// not keep a run from starting.
bool take(int lock) {
  for (int i = 0; i < 10; ++i) {
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
      return true;
    }
    poll(nullptr, 0, kLookAgainMillis);
  }
  return false;
}

}  // namespace

std::string default_runtime_base() {
  if (geteuid() == 0) {
    return "/run/loadline";
  }
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    return fmt::format("{}/loadline", runtime);
  }
  return fmt::format("/tmp/loadline-{}", geteuid());
}

std::string run_folder_path(std::string_view base, std::string_view name) {
  std::string path = fs::absolute(fs::path(base)).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return fmt::format("{}/{}", path, name);
}

RunSeen look_for_run(const std::string& folder) {
  const std::string file = folder + "/lock";
  const int lock = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) {
    return {.forbidden = errno == EACCES};
  }
  const bool held = flock(lock, LOCK_SH | LOCK_NB) != 0;
  close(lock);
  return {.pid = held ? read_pid(file) : 0};
}

RunFolder::RunFolder(std::string_view base, std::string_view name)
    : path_(run_folder_path(base, name)), scratch_(path_ + ".temp") {
  if (path_.size() > kLongestFolder) {
    throw std::runtime_error(fmt::format(
        "{}: is too long for a socket's path (at most {} bytes): give a shorter --runtime", path_,
        kLongestFolder));
  }
  const std::string parent = fs::path(path_).parent_path().string();
  // The workers of a master that is root must get through to their scratch folder.
  make_folder(parent, geteuid() == 0 ? 0711 : 0700);
  require_safe_base(parent);
  make_folder(path_, 0700);
  require_ours(path_);
  chmod(path_.c_str(), 0700);

  lock(name);
  end_leftovers();
  remove_files();
  make_folder(scratch_, 0700);
  require_ours(scratch_);
}

RunFolder::~RunFolder() {
  remove_files();
  if (ftruncate(lock_, 0) != 0) {
    // A stale pid in an unlocked file misleads no one: the lock is what counts.
  }
  close(lock_);
}

void RunFolder::lock(std::string_view name) {
  const std::string file = path_ + "/lock";
  lock_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_ < 0) {
    fail(file, "cannot be opened");
  }
  if (!take(lock_)) {
    const pid_t other = read_pid(file);
    close(lock_);
    throw std::runtime_error(
        fmt::format("'{}' runs already, as pid {} (in {}): stop that one, or give this one another "
                    "--name",
                    name, other, path_));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(lock_, 0) != 0 ||
      pwrite(lock_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const int error = errno;
    close(lock_);
    errno = error;
    fail(file, "cannot be written");
  }
}

// A run that was killed has told its nginx to end, which may take a moment and still holds the
// port. Pids are used again, so only a process that was started with this very folder is touched.
void RunFolder::end_leftovers() const {
  const pid_t pid = read_pid(path_ + "/nginx.pid");
  if (pid <= 1) {
    return;
  }
  const int process = pidfd_open(pid, 0);
  if (process < 0) {
    return;
  }
  const std::string arguments = read_all(fmt::format("/proc/{}/cmdline", pid));
  if (arguments.find(path_ + "/nginx.conf") != std::string::npos) {
    pidfd_send_signal(process, SIGTERM, nullptr, 0);
    pollfd waiting{process, POLLIN, 0};
    poll(&waiting, 1, kLeftoverMillis);
  }
  close(process);
}

void RunFolder::remove_files() const {
  for (const char* file : {"nginx.conf", "nginx.conf.part", "nginx.conf.next",
                           "nginx.conf.next.part", "nginx.pid", "control.sock"}) {
    unlink(fmt::format("{}/{}", path_, file).c_str());
  }
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

void RunFolder::give_scratch_to(unsigned user, unsigned group) const {
  if (chown(scratch_.c_str(), user, group) != 0) {
    fail(scratch_, "cannot be given to the workers' user");
  }
}

void RunFolder::write(std::string_view file, std::string_view text) const {
  const std::string part = fmt::format("{}.part", file);
  const std::string whole = fmt::format("{}/{}", path_, part);
  std::ofstream stream(whole, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) {
    fail(whole, "cannot be written");
  }
  replace(file, part);
}

void RunFolder::replace(std::string_view file, std::string_view with) const {
  const std::string to = fmt::format("{}/{}", path_, file);
  const std::string from = fmt::format("{}/{}", path_, with);
  if (rename(from.c_str(), to.c_str()) != 0) {
    fail(to, "cannot be replaced");
  }
}

}  // namespace loadline::tools
