// What happened in a storm, by when each call was due, and what is concluded from it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace loadline::bench::storm {

inline constexpr std::chrono::milliseconds kSlot{100};

// The calls that were due in one slot.
struct Slot {
  std::uint32_t due = 0;
  std::uint32_t good = 0;      // answered within the caller's patience
  std::uint32_t attempts = 0;  // that they made in all
};

// Written by all callers at a time, read when they are done.
class Journal {
 public:
  explicit Journal(std::chrono::milliseconds length)
      : slots_(static_cast<std::size_t>(length / kSlot) + 1) {}

  // A call that was due so long after the beginning; later than the end is not counted.
  void note(std::chrono::nanoseconds due, bool good, std::uint32_t attempts) noexcept;
  [[nodiscard]] std::vector<Slot> read() const;

 private:
  struct Counters {
    std::atomic<std::uint32_t> due{0};
    std::atomic<std::uint32_t> good{0};
    std::atomic<std::uint32_t> attempts{0};
  };
  std::vector<Counters> slots_;
};

// Since the beginning: when what came before counts, as all have begun by then; when the service
// stood still; and how long the callers were watched.
struct Times {
  std::chrono::milliseconds begun;
  std::chrono::milliseconds stall;
  std::chrono::milliseconds back;
  std::chrono::milliseconds end;
};

struct Figures {
  double good_before = 0;     // share of the calls before the stall
  double attempts_stall = 0;  // per call that was due while it stood still
  double attempts_after = 0;  // per call that was due afterwards
  double good_after = 0;      // share of those
  // From the end of the stall until a whole second's calls went as well as before it; none: not in
  // the time that was watched.
  std::optional<double> normal_after_s;
};

// As well as before it: this share of it.
inline constexpr double kNormal = 0.95;

Figures conclude(const std::vector<Slot>& slots, const Times& times);

}  // namespace loadline::bench::storm
