// The limit that a person chose.
#pragma once

#include <cstdint>

#include "loadline/limit/sample.h"

namespace loadline {

struct FixedLimit {
  std::uint32_t units = 1;

  void take(const LimitSample& /*sample*/, LimitReason& /*why*/) noexcept {}
  void look(const LimitView& /*view*/, LimitReason& /*why*/) noexcept {}
  void disturb(Instant /*now*/) noexcept {}
  [[nodiscard]] std::uint32_t limit() const noexcept { return units; }
  [[nodiscard]] bool searching() const noexcept { return false; }
};

}  // namespace loadline
