#include "loadline/cpu_pressure.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "loadline/pieces.h"

namespace loadline {
namespace {

// A file that the kernel makes up, or what of it fits.
class SmallFile {
 public:
  // 0, or why not.
  int read(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (fd < 0) {
      return errno;
    }
    int fault = 0;
    length_ = 0;
    for (ssize_t got = 1; got > 0 && length_ < sizeof text_;) {
      got = ::read(fd, text_ + length_, sizeof text_ - length_);
      length_ += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
      fault = got < 0 ? errno : 0;
    }
    ::close(fd);
    return fault;
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_, length_}; }

 private:
  char text_[4096];
  std::size_t length_ = 0;
};

std::string_view line_of(std::string_view& text) noexcept {
  return detail::cut(text, '\n');
}

std::string_view word_of(std::string_view& line) noexcept {
  return detail::cut(line, ' ');
}

// What follows `prefix`; none where the text does not begin with it.
std::optional<std::string_view> after(std::string_view text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) {
    return std::nullopt;
  }
  text.remove_prefix(prefix.size());
  return text;
}

std::optional<std::uint64_t> number(std::string_view text) noexcept {
  constexpr std::uint64_t kMost = ~std::uint64_t{0} / 10 - 1;
  std::uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || value > kMost) {
      return std::nullopt;
    }
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

// What is too long for it, as paths may be, is cut and ends in dots.
template <class... Values>
CpuPressure::Error fault(const char* format, Values... values) noexcept {
  CpuPressure::Error error;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): bounded, and no libstdc++ inside nginx.
  const int length = std::snprintf(error.text.data(), error.text.size(), format, values...);
  if (length < 0 || static_cast<std::size_t>(length) >= error.text.size()) {
    constexpr char kDots[] = "...";
    std::memcpy(error.text.data() + error.text.size() - sizeof kDots, kDots, sizeof kDots);
  }
  return error;
}

// FOLDER/NAME; empty where it is too long.
struct Path {
  Path(const char* folder, const char* name) noexcept {
    const int length = std::snprintf(text, sizeof text, "%s/%s", folder, name);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof text) {
      text[0] = '\0';
    }
  }
  char text[1200];
};

// A counter that goes back is another's: another cgroup of the same name.
double share_of(std::uint64_t part_before, std::uint64_t part, std::uint64_t all_before,
                std::uint64_t all) noexcept {
  if (part < part_before || all < all_before) {
    return -1;
  }
  const auto whole = static_cast<double>(all - all_before);
  return whole > 0 ? std::min(static_cast<double>(part - part_before) / whole, 1.0) : 0;
}

}  // namespace

bool has_cpu_signal(const Policy& policy) noexcept {
  return find_signal(policy, kCpuPressure) >= 0 || find_signal(policy, kCpuThrottled) >= 0;
}

// "0::/system.slice/api.service"; lines of version 1 have a number and names before the path.
std::optional<std::string_view> CpuPressure::cgroup_of(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto path = after(line_of(text), "0::");
    if (path && path->starts_with('/')) {
      return path;
    }
  }
  return std::nullopt;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"
std::optional<std::uint64_t> CpuPressure::stalled_us(std::string_view text) noexcept {
  while (!text.empty()) {
    std::string_view line = line_of(text);
    if (word_of(line) != "some") {
      continue;
    }
    while (!line.empty()) {
      if (const auto total = after(word_of(line), "total=")) {
        return number(*total);
      }
    }
  }
  return std::nullopt;
}

// "nr_periods 12\nnr_throttled 3\n" among others.
std::optional<CpuPressure::Periods> CpuPressure::periods_of(std::string_view text) noexcept {
  std::optional<std::uint64_t> all;
  std::optional<std::uint64_t> throttled;
  while (!text.empty()) {
    std::string_view line = line_of(text);
    const std::string_view name = word_of(line);
    if (name == "nr_periods") {
      all = number(line);
    } else if (name == "nr_throttled") {
      throttled = number(line);
    }
  }
  return all && throttled ? std::optional(Periods{*all, *throttled}) : std::nullopt;
}

CpuPressure::Error CpuPressure::open(const Policy& policy, const char* root, Instant now) noexcept {
  *this = {};
  SmallFile file;
  const Path self(root, "proc/self/cgroup");
  if (const int why = file.read(self.text)) {
    return fault("the CPU's pressure cannot be read: %s: %s", std::strerror(why), self.text);
  }
  const auto path = cgroup_of(file.text());
  if (!path) {
    return fault("the CPU's pressure cannot be read: %s names no cgroup of version 2", self.text);
  }
  // Where version 1 is in use too, the tree of version 2 lies beside its trees.
  int length = 0;
  for (const char* tree : {"/unified", ""}) {
    length = std::snprintf(folder_.data(), folder_.size(), "%s/sys/fs/cgroup%s%.*s", root, tree,
                           static_cast<int>(path->size()), path->data());
    if (access(folder_.data(), X_OK) == 0) {
      break;
    }
  }
  if (length < 0 || static_cast<std::size_t>(length) >= folder_.size()) {
    folder_ = {};
    return fault("the CPU's pressure cannot be read: %s: the cgroup's name is too long", self.text);
  }
  wants_pressure_ = find_signal(policy, kCpuPressure) >= 0;
  wants_throttled_ = find_signal(policy, kCpuThrottled) >= 0;
  read(now);
  Error error;
  const auto say_of = [&](const char* signal, const char* name) {
    const Path needed(folder_.data(), name);
    const int why = file.read(needed.text);
    // The reason first: the path may be long, and cut off where it is shown.
    error = fault("%s cannot be read: %s: %s", signal,
                  why == 0 ? "it is not in the file" : std::strerror(why), needed.text);
  };
  if (wants_pressure_ && !stalled_us_) {
    say_of("cpu_pressure", "cpu.pressure");
  } else if (wants_throttled_ && !periods_) {
    say_of("cpu_throttled", "cpu.stat");
  }
  return error;
}

CpuPressure::Shares CpuPressure::read(Instant now) noexcept {
  Shares shares;
  if (folder_[0] == '\0') {
    return shares;
  }
  SmallFile file;
  const Duration since = now - read_at_;
  read_at_ = now;
  if (wants_pressure_) {
    const bool there = file.read(Path(folder_.data(), "cpu.pressure").text) == 0;
    const auto stalled = there ? stalled_us(file.text()) : std::nullopt;
    if (stalled && stalled_us_ && since > Duration{}) {
      shares.pressure =
          share_of(*stalled_us_, *stalled, 0, static_cast<std::uint64_t>(since.ns / 1000));
    }
    stalled_us_ = stalled;
  }
  if (wants_throttled_) {
    const bool there = file.read(Path(folder_.data(), "cpu.stat").text) == 0;
    const auto periods = there ? periods_of(file.text()) : std::nullopt;
    if (periods && periods_) {
      shares.throttled =
          share_of(periods_->throttled, periods->throttled, periods_->all, periods->all);
    }
    periods_ = periods;
  }
  return shares;
}

}  // namespace loadline
