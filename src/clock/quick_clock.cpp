#include "loadline/quick_clock.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#endif

namespace loadline {

#if defined(__x86_64__) && defined(__linux__)
namespace {

// AMD64 Architecture Programmer's Manual, volume 3, appendix E.4.7; Intel has the same bit.
bool counter_is_invariant() noexcept {
  constexpr unsigned kPowerManagement = 0x80000007;
  constexpr unsigned kInvariant = 1U << 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariant) != 0;
}

// The kernel watches whether the counters of all processors agree, and leaves them if not.
bool kernel_uses_it() noexcept {
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  constexpr char kWanted[] = "tsc\n";
  char found[sizeof kWanted] = {};
  const ssize_t length = read(file, found, sizeof found);
  close(file);
  return length == ssize_t{sizeof kWanted} - 1 && std::memcmp(found, kWanted, sizeof kWanted) == 0;
}

}  // namespace

bool MachineTime::has_ticks() noexcept {
  // Not a static with an initializer: nginx's module is built without guards for those. Two threads
  // that ask at once find the same.
  enum : int { kUnknown, kYes, kNo };
  static std::atomic<int> known{kUnknown};
  int answer = known.load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    answer = counter_is_invariant() && kernel_uses_it() ? kYes : kNo;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == kYes;
}
#else
bool MachineTime::has_ticks() noexcept {
  return false;
}
#endif

}  // namespace loadline
