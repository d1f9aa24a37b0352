// CLOCK_MONOTONIC, read in about half the time.
//
// Whoever asks a gate hands it the time, twice a request. The system's own reading of the clock
// waits until all earlier instructions are done and works the time out anew from the processor's
// counter; that costs more than both decisions. Here the counter is read as it is, and the system
// is asked only every few milliseconds, to which the counter's ticks since are added.
//
// What it promises: never back; within a few microseconds of CLOCK_MONOTONIC, also while that is
// being slewed (500 ppm at most, adjtimex(2)); and no worse than CLOCK_MONOTONIC itself where the
// counter is of no use: on processors without an invariant one, where the kernel has found it not
// to be the same on all of them and uses another clock source, while it is being measured (the
// first 10 ms), and when it turns out to run at another speed than before (a virtual machine that
// moved).
//
// The technique is an old one; see for instance "cpuwide_time" of brpc and Abseil's GetCurrentTime.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "loadline/time.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace loadline {

// The clocks of this machine.
struct MachineTime {
  static std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
  }
  static Instant system() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return {std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
  }
  // Whether ticks() counts at one speed on all processors. Asks the processor and the kernel, once
  // a process.
  static bool has_ticks() noexcept;
};

// One thread's. Costs nothing to make; all of one machine agree. `Time` as MachineTime: a test has
// its own.
template <class Time>
class BasicQuickClock {
 public:
  // Since whenever CLOCK_MONOTONIC counts from.
  [[nodiscard, gnu::always_inline]] Instant now() noexcept {
    // Ticks that have been turned back make this number huge.
    const std::uint64_t gone = Time::ticks() - anchor_ticks_;
    if (gone >= span_) [[unlikely]] {
      return ask_system();
    }
    return {anchor_ns_ + static_cast<std::int64_t>(gone * scale_ >> kShift)};
  }

 private:
  // For how long ticks are believed. At 500 ppm that is 5 us.
  static constexpr std::int64_t kSpan = 10'000'000;
  // Over which their speed is measured: long enough for a good figure, and short enough to follow
  // the system when that is slewed.
  static constexpr std::int64_t kBaseline = 1'000'000'000;
  // Speeds are in nanoseconds a tick times 2^32, so that a span of ticks fits 64 bits with any of
  // them: from a hundredth of a nanosecond to ten.
  static constexpr unsigned kShift = 32;
  static constexpr std::uint64_t kLeastSpeed = (std::uint64_t{1} << kShift) / 100;
  static constexpr std::uint64_t kMostSpeed = std::uint64_t{10} << kShift;

  __extension__ using Wide = __int128;
  __extension__ using UnsignedWide = unsigned __int128;

  enum class State : std::uint8_t { fresh, measuring, running, without };

  struct Reading {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
  };

  static constexpr Wide scaled(std::uint64_t ticks, std::uint64_t speed) noexcept {
    return static_cast<Wide>(static_cast<UnsignedWide>(ticks) * speed >> kShift);
  }

  // Both clocks at the same moment: of some tries the one that took least, since between the two a
  // thread may lose its processor.
  Reading read_both() noexcept {
    constexpr int kTries = 4;
    Reading best;
    std::uint64_t least = 0;
    for (int i = 0; i < kTries; ++i) {
      const std::uint64_t before = Time::ticks();
      const std::int64_t ns = Time::system().ns;
      const std::uint64_t took = Time::ticks() - before;
      if (i == 0 || took < least) {
        least = took;
        best = {before + took / 2, ns};
      }
    }
    return best;
  }

  [[gnu::noinline, gnu::cold]] Instant ask_system() noexcept {
    if (state_ == State::fresh) {
      state_ = Time::has_ticks() ? State::measuring : State::without;
      base_ = read_both();
    }
    if (state_ != State::running) {
      const std::int64_t now = Time::system().ns;
      latest_ = std::max(latest_, now);
      if (state_ == State::without || now - base_.ns < kSpan) {
        return {latest_};
      }
    }
    const Reading reading = read_both();
    if (state_ == State::running) {
      check(reading);
    }
    if (state_ == State::measuring || reading.ns - base_.ns >= kBaseline) {
      measure(reading);
    }
    latest_ = std::max(latest_, reading.ns);
    if (state_ == State::running) {
      anchor(reading);
    }
    return {latest_};
  }

  // Did the ticks since the last anchor go as the system did?
  void check(const Reading& reading) noexcept {
    constexpr std::int64_t kPart = 100;
    const std::uint64_t gone = reading.ticks - anchor_ticks_;
    const std::int64_t elapsed = reading.ns - anchor_ns_;
    const Wide error = scaled(gone, scale_) - elapsed;
    const std::int64_t allowed = std::max(elapsed, kSpan) / kPart;
    // What has been told since is no later than this.
    latest_ = std::max(
        latest_, anchor_ns_ + static_cast<std::int64_t>(scaled(std::min(gone, span_), scale_)));
    if (error > allowed || error < -allowed) {
      start_over(reading);
    }
  }

  void measure(const Reading& reading) noexcept {
    const std::uint64_t ticks = std::max<std::uint64_t>(reading.ticks - base_.ticks, 1);
    const auto ns = static_cast<UnsignedWide>(reading.ns - base_.ns);
    const auto speed = static_cast<std::uint64_t>((ns << kShift) / ticks);
    if (speed < kLeastSpeed || speed > kMostSpeed) {
      start_over(reading);
      return;
    }
    speed_ = speed;
    base_ = reading;
    state_ = State::running;
  }

  // The system is asked each time until the speed has been measured anew.
  void start_over(const Reading& reading) noexcept {
    state_ = State::measuring;
    base_ = reading;
    span_ = 0;
  }

  // Counts on from what is being told. If that is ahead of the system, it must not be set back: it
  // goes slower for a span.
  void anchor(const Reading& reading) noexcept {
    const std::int64_t ahead = std::min(latest_ - reading.ns, kSpan);
    anchor_ticks_ = reading.ticks;
    anchor_ns_ = latest_;
    span_ = static_cast<std::uint64_t>((static_cast<UnsignedWide>(kSpan) << kShift) / speed_);
    scale_ = static_cast<std::uint64_t>(static_cast<UnsignedWide>(speed_) *
                                        static_cast<std::uint64_t>(kSpan - ahead) / kSpan);
  }

  // These four are what now() reads.
  std::uint64_t anchor_ticks_ = 0;
  std::uint64_t span_ = 0;  // in ticks; 0: the system is asked each time
  std::int64_t anchor_ns_ = 0;
  std::uint64_t scale_ = 0;  // the speed at which it goes on from there

  std::uint64_t speed_ = 0;  // as measured
  Reading base_;             // the beginning of the next measurement
  std::int64_t latest_ = 0;  // no later time has been told
  State state_ = State::fresh;
};

using QuickClock = BasicQuickClock<MachineTime>;

}  // namespace loadline
