// Random policies and random operations for the properties of the gate, shrunk towards the plainest
// that still fail, and shown as sentences.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "loadline/gate.h"

namespace loadline::test {

inline constexpr std::uint32_t kParticipants = 3;
inline constexpr std::uint32_t kClasses = 4;
inline constexpr std::uint32_t kTickets = Capacity::kSpareTickets + 40;

// A policy by what is unusual about it.
struct Draft {
  std::uint32_t limit = 4;
  QueueSize queue = QueueSize::at_most(8);
  std::int64_t budget_ms = 100;
  Discipline discipline = Discipline::fifo;
  std::uint16_t shares[kClasses] = {};
  std::uint16_t guarantees[kClasses] = {};
  std::uint16_t heavy_share = 1000;
  std::uint16_t exempt = 2;
  bool tenants = false;
  bool quota = false;
  std::uint32_t quota_burst = 3;

  [[nodiscard]] Policy policy() const;
};

struct Step {
  enum class What : std::uint8_t {
    offer,
    release,
    release_again,
    cancel,
    settle,
    settle_stale,
    collect,
    pass,
    tick,
    set_limit,
    reconfigure,
    set_mode,
    set_draining,
  };

  What what = What::collect;
  std::uint32_t who = 0;
  std::uint32_t which = 0;  // of those who hold something or wait
  // offer
  std::uint8_t importance = 1;
  std::uint32_t cost = 1;
  std::int64_t deadline_us = 0;  // 0: none
  bool may_wait = true;
  bool observe = false;
  bool exempt = false;
  std::uint64_t tenant = 0;
  std::uint8_t group = Request::kNoGroup;
  std::uint64_t quota = 0;
  // release
  Outcome ended = Outcome::success;
  // pass
  std::int64_t micros = 0;
  // set_limit, set_mode, set_draining
  std::uint32_t value = 0;
  // reconfigure
  Draft draft{};

  [[nodiscard]] Request request(Instant now) const;
};

// A gate's life: the policy it is made with, and what is done to it.
struct Life {
  Draft draft{};
  std::vector<Step> steps;
};

std::ostream& operator<<(std::ostream& out, const Draft& draft);
std::ostream& operator<<(std::ostream& out, const Step& step);
void showValue(const Life& life, std::ostream& out);

// Of at most `longest` steps.
rc::Gen<Life> any_life(std::uint32_t longest);

}  // namespace loadline::test
