// Requests that were let in while one limit was full: how long they take under it.
#pragma once

#include <cstdint>

#include "loadline/limit/auto_tuning.h"
#include "loadline/limit/flag.h"
#include "loadline/limit/level.h"
#include "loadline/limit/sample.h"
#include "loadline/limit/times.h"

namespace loadline {

// It grows while the limit is full, with pauses while it is not, until it is large enough; is
// finished once enough of its requests have returned; and tells then what it has measured.
//
// A cohort's times are exact before its last request is back: of the shorter three quarters all are
// known once three quarters have returned and the others are older than the longest of these. It
// is not asked before, or it would know those alone who need no worker, where many do not.
class Cohort {
 public:
  // Not begun. `patience`: means after which who has not returned is no part of it.
  explicit Cohort(std::uint32_t limit = 0, double patience = AutoTuning{}.patience) noexcept
      : patience_(patience), limit_(limit) {}

  void open(const LimitView& view) noexcept;   // the limit is full from now on
  void pause(const LimitView& view) noexcept;  // it is not full any more
  void close(const LimitView& view) noexcept;  // the cohort is large enough
  void grow_on(Instant now) noexcept;          // it was not, after all
  void take(const LimitSample& sample) noexcept;
  void see(const LimitSample& sample) noexcept;  // of anybody who has ended

  [[nodiscard]] double patience() const noexcept { return patience_; }
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  void set_limit(std::uint32_t limit) noexcept { limit_ = limit; }
  [[nodiscard]] bool begun() const noexcept { return from_ != Instant::never(); }
  [[nodiscard]] bool grown() const noexcept { return until_ != Instant::never(); }
  // Those that are back and did not fail.
  [[nodiscard]] std::uint32_t told() const noexcept { return times_.count(); }
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  [[nodiscard]] Instant paused_at() const noexcept { return window_until_; }
  // With those of the window that is open.
  [[nodiscard]] std::int64_t started(const LimitView& view) const noexcept;
  [[nodiscard]] Duration lasted(Instant now) const noexcept;
  // Of those who came since it began and until it was closed, the share that was turned away.
  [[nodiscard]] double share_refused(const LimitView& view) const noexcept;
  [[nodiscard]] std::uint32_t in_flight_at_first() const noexcept { return window_in_flight_; }

  // Mean of the shorter three quarters of those that are back; 0: none are.
  [[nodiscard]] double typical_ns() const noexcept;
  // Of all that have told.
  [[nodiscard]] double mean_ns() const noexcept { return times_.mean_ns(); }
  // False while it is not finished.
  [[nodiscard]] bool level(const LimitView& view, Level& level) noexcept;
  // Nobody of it has returned, and nobody will any more: all have failed, or there was nobody.
  [[nodiscard]] bool is_void(const LimitView& view) const noexcept;
  // Adds its times to `times`, and those that are not back as longer than all.
  void add_to(Times& times) const noexcept;

 private:
  void count_missing(const LimitView& view) noexcept;
  [[nodiscard]] bool is_over(const LimitView& view) const noexcept;

  double patience_;
  std::uint32_t limit_;
  Flag open_ = false;
  Instant from_ = Instant::never();
  Instant until_ = Instant::never();  // never: it still grows
  Duration lasted_{};                 // of the windows that are over
  std::uint32_t started_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t ended_before_ = 0;
  std::uint64_t refused_before_ = 0;
  std::uint64_t refused_ = 0;
  std::uint32_t returned_ = 0;
  std::uint32_t in_time_ = 0;
  std::uint32_t left_ = 0;     // of those in flight when it was closed
  std::uint32_t missing_ = 0;  // not back, as level() last saw it
  Times times_{};              // of those that did not fail

  Instant window_from_{};
  Instant window_until_{};
  std::uint64_t window_ended_ = 0;  // what LimitView::ended was at window_from_
  std::uint32_t window_in_flight_ = 0;
};

}  // namespace loadline
