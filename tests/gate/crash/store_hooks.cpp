// What the compiler calls before each load and store of code that is built with -fsanitize=thread.
// Instead of ThreadSanitizer itself, which is not linked, these count the stores to the block.
//
// Chosen over single steps under ptrace, which need a permission that containers may withhold and
// take 60 us an instruction where a whole process that is made and killed takes 150, and over
// -fsanitize-coverage=trace-stores, which neither GCC 12 nor clang 14 knows.
#include <signal.h>
#include <unistd.h>

#include "crashing_sync.h"

namespace loadline::crash {
namespace {

// Of this process; children inherit it disarmed.
struct State {
  bool armed = false;
  Fate fate = Fate::die;
  std::uint32_t chosen = kNoStep;
  std::uint32_t seen = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
State state;

}  // namespace

void arm(std::uint32_t chosen, Fate fate, std::span<const std::byte> block) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
  state = {true, fate, chosen, 0, begin, begin + block.size()};
}

std::uint32_t disarm() noexcept {
  state.armed = false;
  return state.seen;
}

void step() noexcept {
  if (!state.armed || ++state.seen != state.chosen) {
    return;
  }
  kill(getpid(), state.fate == Fate::die ? SIGKILL : SIGSTOP);
}

namespace {

void stores_to(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (state.armed && at >= state.begin && at < state.end) {
    step();
  }
}

}  // namespace
}  // namespace loadline::crash

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler names them.
#define LOADLINE_LOAD(name) \
  void name(void*) {}
#define LOADLINE_STORE(name)             \
  void name(void* address) {             \
    loadline::crash::stores_to(address); \
  }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
LOADLINE_LOAD(__tsan_read1)
LOADLINE_LOAD(__tsan_read2)
LOADLINE_LOAD(__tsan_read4)
LOADLINE_LOAD(__tsan_read8)
LOADLINE_LOAD(__tsan_read16)
LOADLINE_LOAD(__tsan_unaligned_read2)
LOADLINE_LOAD(__tsan_unaligned_read4)
LOADLINE_LOAD(__tsan_unaligned_read8)
LOADLINE_LOAD(__tsan_unaligned_read16)
void __tsan_read_range(void*, std::size_t) {}
LOADLINE_STORE(__tsan_write1)
LOADLINE_STORE(__tsan_write2)
LOADLINE_STORE(__tsan_write4)
LOADLINE_STORE(__tsan_write8)
LOADLINE_STORE(__tsan_write16)
LOADLINE_STORE(__tsan_unaligned_write2)
LOADLINE_STORE(__tsan_unaligned_write4)
LOADLINE_STORE(__tsan_unaligned_write8)
LOADLINE_STORE(__tsan_unaligned_write16)
void __tsan_write_range(void* address, std::size_t) {
  loadline::crash::stores_to(address);
}
}
// NOLINTEND(bugprone-reserved-identifier)
