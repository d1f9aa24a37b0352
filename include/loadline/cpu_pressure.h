// What a service wants of its CPUs and does not get, as Linux tells it of a cgroup (version 2): a
// signal from outside for a law that finds the limit (SignalPolicy).
//
//   cpu_pressure    the share of the time in which one of its threads at least waited for a CPU:
//                   cpu.pressure, `some` (the kernel's Documentation/accounting/psi.rst)
//   cpu_throttled   the share of the periods of its quota in which it had used that up and was
//                   stopped: cpu.stat, nr_throttled of nr_periods (admin-guide/cgroup-v2.rst)
//
// Both are of the time since the last reading, and so sooner than the averages over 10 s that the
// kernel works out. To be read about once a second: by the host where it has a thread or a timer of
// its own (loadline/threads.h, nginx), else by the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "loadline/policy.h"
#include "loadline/time.h"

namespace loadline {

inline constexpr std::string_view kCpuPressure = "cpu_pressure";
inline constexpr std::string_view kCpuThrottled = "cpu_throttled";

// Whether the policy has one of the two.
[[nodiscard]] bool has_cpu_signal(const Policy& policy) noexcept;

class CpuPressure {
 public:
  struct Error {
    std::array<char, 320> text{};  // a sentence, without its full stop; empty: none
    [[nodiscard]] bool any() const noexcept { return text[0] != '\0'; }
  };

  // As Gate::report takes it: below 0 where it is not known, as at the first reading.
  struct Shares {
    double pressure = -1;
    double throttled = -1;
  };

  // Finds the cgroup of this process and reads once what those signals need that the policy has.
  // `root` is where proc and sys lie: "" but in tests; at most 100 bytes.
  Error open(const Policy& policy, const char* root, Instant now) noexcept;

  // Since the last reading. Reads two small files that the kernel makes up; allocates nothing.
  Shares read(Instant now) noexcept;

  // Counters of the kernel's, from the text of its files; none where they are not in it.
  static std::optional<std::string_view> cgroup_of(std::string_view proc_self_cgroup) noexcept;
  static std::optional<std::uint64_t> stalled_us(std::string_view cpu_pressure) noexcept;
  struct Periods {
    std::uint64_t all = 0;
    std::uint64_t throttled = 0;
  };
  static std::optional<Periods> periods_of(std::string_view cpu_stat) noexcept;

 private:
  static constexpr std::size_t kLongestPath = 1024;

  std::array<char, kLongestPath> folder_{};  // of the cgroup; empty: not open
  bool wants_pressure_ = false;
  bool wants_throttled_ = false;
  std::optional<std::uint64_t> stalled_us_{};
  std::optional<Periods> periods_{};
  Instant read_at_{};
};

}  // namespace loadline
