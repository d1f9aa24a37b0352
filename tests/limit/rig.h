// A law and the service in front of which it stands, without chance: requests take as long as is
// said for so many in flight, from one moment to the next.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include "loadline/limiter.h"

namespace loadline {

inline void PrintTo(Law law, std::ostream* out) {
  *out << name(law);
}

namespace test {

inline constexpr Law kAllLaws[] = {Law::fixed,     Law::automatic, Law::aimd, Law::vegas,
                                   Law::gradient2, Law::envoy,     Law::brpc, Law::trpc};

// As a parameter of a test is called.
template <class Info>
std::string law_name(const Info& info) {
  return std::string(name(info.param));
}

// So many in flight take so long each.
using TimeOf = std::function<Duration(std::uint32_t in_flight)>;

// `workers` at work at once, the others wait for them.
inline TimeOf queue_of(std::uint32_t workers, Duration work) {
  return [=](std::uint32_t in_flight) {
    return std::max(work, Duration{work.ns * in_flight / workers});
  };
}

// It takes as long however many there are.
inline TimeOf always(Duration time) {
  return [=](std::uint32_t) { return time; };
}

struct Load {
  TimeOf time;
  double per_second = 0;           // that ask; 0: more than are let in
  std::uint32_t callers = 10'000;  // that there are, where they ask for more
  Duration deadline = Duration::max();
  Outcome outcome = Outcome::success;  // of those in time
  // A signal from outside, which is to be 1 at most; null: there is none.
  std::function<double(std::uint32_t in_flight)> signal{};
};

// A law by itself, where a test needs more of it than Limiter lets through.
template <class Chosen>
class Bare {
 public:
  explicit Bare(Chosen law) : law_(std::move(law)) {}
  void take(const LimitSample& sample) {
    LimitReason why;
    law_.take(sample, why);
  }
  void look(const LimitView& view) {
    LimitReason why;
    law_.look(view, why);
  }
  void disturb(Instant now) { law_.disturb(now); }
  [[nodiscard]] std::uint32_t limit() const { return law_.limit(); }
  [[nodiscard]] const Chosen& law() const { return law_; }

 private:
  Chosen law_;
};

template <class Controlled = Limiter>
class Rig {
 public:
  static constexpr Instant kBegin{0};
  static constexpr Duration kTick = Duration::millis(10);

  explicit Rig(Controlled limiter) : limiter_(std::move(limiter)) {}

  [[nodiscard]] Controlled& limiter() { return limiter_; }
  [[nodiscard]] std::uint32_t limit() const { return limiter_.limit(); }
  [[nodiscard]] Instant now() const { return view_.now; }
  [[nodiscard]] const LimitView& view() const { return view_; }
  [[nodiscard]] std::uint32_t highest() const { return highest_; }
  [[nodiscard]] std::uint32_t lowest() const { return lowest_; }
  void forget_extremes() { highest_ = lowest_ = limit(); }

  void run(Duration length, const Load& load) {
    for (const Instant until = view_.now + length; view_.now < until;) {
      tick(load);
      highest_ = std::max(highest_, limit());
      lowest_ = std::min(lowest_, limit());
    }
  }

  // As Limiter would do it to a law by itself.
  void set_back(Duration by) {
    view_.now = view_.now - by;
    limiter_.disturb(view_.now);
  }

 private:
  void tick(const Load& load) {
    const std::uint32_t limit = std::min(limiter_.limit(), load.callers);
    const double asked = load.per_second * seconds(load.time(1));
    const bool full = load.per_second == 0 || asked >= limit;
    view_.in_flight = full ? limit : static_cast<std::uint32_t>(std::ceil(asked));
    const Duration time = load.time(view_.in_flight);
    const double rate = full ? limit / seconds(time) : load.per_second;
    owed_ += rate * seconds(kTick);
    const auto count = static_cast<std::int64_t>(owed_);
    owed_ -= static_cast<double>(count);
    view_.refused += full ? static_cast<std::uint64_t>(count) : 0;  // as many as are let in
    for (std::int64_t i = 1; i <= count; ++i) {
      end(view_.now + Duration{kTick.ns * i / count}, time, full, load);
    }
    view_.now = view_.now + kTick;
    tell_signal(load);
    limiter_.look(view_);
  }

  void tell_signal(const Load& load) {
    LimitSignal& signal = view_.signals[0];
    signal.reading.at_most = load.signal ? 1 : 0;
    signal.reading.value = load.signal ? load.signal(view_.in_flight) : 0;
    signal.at = view_.now;
  }

  void end(Instant ended, Duration time, bool full, const Load& load) {
    ++view_.ended;
    limiter_.take({.started = ended - time,
                   .ended = ended,
                   .outcome = time > load.deadline ? Outcome::late : load.outcome,
                   .bound = full});
  }

  static double seconds(Duration d) { return static_cast<double>(d.ns) * 1e-9; }

  Controlled limiter_;
  LimitView view_{.now = kBegin};
  double owed_ = 0;  // of one that has not ended yet
  std::uint32_t highest_ = 0;
  std::uint32_t lowest_ = ~0U;
};

// A limiter of that law and no bounds but its own.
inline Rig<> rig_of(Law law, std::uint32_t from = 0, LimitBounds bounds = {1, kMaxLimit},
                    std::uint64_t seed = 1) {
  return Rig<>(Limiter({.law = law, .from = from, .bounds = bounds, .seed = seed}, Rig<>::kBegin));
}

inline std::uint64_t count_of(const Limiter& limiter, LimitCause cause) {
  const LimitEvents& all = limiter.events();
  std::uint64_t found = 0;
  const std::uint64_t kept = std::min<std::uint64_t>(all.count, LimitEvents::kKept);
  for (std::uint64_t i = 0; i < kept; ++i) {
    found += all.events[i].reason.cause == cause ? 1 : 0;
  }
  return found;
}

// The last event of that cause; one that never was: at the time never.
inline LimitEvent last_of(const Limiter& limiter, LimitCause cause) {
  const LimitEvents& all = limiter.events();
  const std::uint64_t kept = std::min<std::uint64_t>(all.count, LimitEvents::kKept);
  for (std::uint64_t i = 1; i <= kept; ++i) {
    const LimitEvent& event = all.events[(all.count - i) % LimitEvents::kKept];
    if (event.reason.cause == cause) {
      return event;
    }
  }
  return {.at = Instant::never()};
}

}  // namespace test
}  // namespace loadline
