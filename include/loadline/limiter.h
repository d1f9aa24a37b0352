// The limit and the law that finds it.
//
// A Limiter is plain data of fixed size. It runs under a mutex of its own, outside the path of any
// request: see Gate::tick.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "loadline/limit/aimd.h"
#include "loadline/limit/auto_limit.h"
#include "loadline/limit/brpc.h"
#include "loadline/limit/envoy.h"
#include "loadline/limit/fixed.h"
#include "loadline/limit/gradient2.h"
#include "loadline/limit/pressure.h"
#include "loadline/limit/sample.h"
#include "loadline/limit/trpc.h"
#include "loadline/limit/vegas.h"
#include "loadline/policy.h"
#include "loadline/time.h"

namespace loadline {

constexpr std::string_view name(Law law) noexcept {
  constexpr std::string_view kNames[kLaws] = {"fixed",     "auto",  "aimd", "vegas",
                                              "gradient2", "envoy", "brpc", "trpc"};
  const auto index = static_cast<std::uint32_t>(law);
  return index < kLaws ? kNames[index] : std::string_view("unknown");
}

// The law of that name, if there is one.
constexpr std::optional<Law> law_of(std::string_view wanted) noexcept {
  for (std::uint32_t i = 0; i < kLaws; ++i) {
    const auto law = static_cast<Law>(i);
    if (name(law) == wanted) {
      return law;
    }
  }
  return std::nullopt;
}

// What a law begins with.
struct LimitRules {
  Law law = Law::fixed;
  std::uint32_t from = 0;  // the first limit; 0: the law's own choice
  LimitBounds bounds{};
  std::uint64_t seed = 0;

  friend bool operator==(const LimitRules&, const LimitRules&) noexcept = default;
};

class Limiter {
 public:
  Limiter() noexcept : Limiter(LimitRules{}, Instant{}) {}
  Limiter(const LimitRules& rules, Instant now) noexcept;

  // Requests that have ended, in the order in which that was noted. Samples that cannot be (one
  // ended before it began, began before the last disturbance or lived through one) are counted and
  // left out.
  void take(std::span<const LimitSample> samples) noexcept;
  void take(const LimitSample& sample) noexcept { take({&sample, 1}); }
  // To be called every few milliseconds, after the samples up to `view.now`. Where it was not for a
  // second although something was in flight, or where time has gone back, nobody knows what was
  // measured meanwhile, and it is given up: a disturbance. Who has nothing in flight need not call.
  void look(const LimitView& view) noexcept;

  // Gives up what is being measured, and believes no sample that started before.
  void disturb(Instant now) noexcept;

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  // Whether the limit is still a guess, so that nothing should be foretold by it.
  [[nodiscard]] bool searching() const noexcept;
  [[nodiscard]] const LimitRules& rules() const noexcept { return rules_; }
  [[nodiscard]] const LimitEvents& events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

  // Begins anew from the limit in force, after the memory of the law could have been damaged.
  void repair(const LimitRules& rules, std::uint32_t limit, Instant now) noexcept;

 private:
  union State {
    FixedLimit fixed;
    AutoLimit automatic;
    AimdLimit aimd;
    VegasLimit vegas;
    Gradient2Limit gradient2;
    EnvoyLimit envoy;
    BrpcLimit brpc;
    TrpcLimit trpc;

    State() noexcept : fixed{} {}
  };

  template <class Visit>
  auto with_law(Visit visit) noexcept;
  template <class Visit>
  auto with_law(Visit visit) const noexcept;
  void begin(const LimitRules& rules, Instant now, LimitCause cause) noexcept;
  void note_busy(const LimitSample& sample) noexcept;
  [[nodiscard]] bool is_believed(const LimitSample& sample) const noexcept;
  void note(Instant at, std::uint32_t found, const LimitReason& reason) noexcept;
  [[nodiscard]] std::uint32_t found() const noexcept;  // by the law alone
  [[nodiscard]] bool is_held() const noexcept { return limit_ < found(); }

  LimitRules rules_{};
  std::uint32_t limit_ = 1;
  Instant looked_at_{};
  Instant busy_from_{};  // since when something was in flight without a look; never: nothing was
  Instant believed_from_{};  // samples that started before are left out
  // When fewer were let in than the law would, for a signal's sake; until never: they are.
  Instant held_from_{};
  Instant held_until_{};
  std::uint64_t left_out_ = 0;
  State state_;
  Pressure pressure_{};
  LimitEvents events_{};
};

static_assert(std::is_trivially_copyable_v<Limiter>);

}  // namespace loadline
