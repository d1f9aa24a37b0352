// How the limit is found: the interface of every control law, and the simplest one.
//
// A law is plain data, chosen by an enum and kept inside the gate's block, so that it survives in
// shared memory and is the same for every worker. It knows nothing of who asked; it is given
// windows of samples, with the time, and says the limit. It runs under the gate's mutex, outside
// the fast path.
#pragma once

#include <cstdint>

#include "loadline/time.h"

namespace loadline {

// What happened in one window.
struct LimitSample {
  Instant now{};
  std::uint64_t completions = 0;  // with Outcome::success
  Duration service_mean{};        // of those
  std::uint32_t in_flight = 0;    // at the window's end
};

// `fixed`: the limit a person chose.
struct FixedLimit {
  std::uint32_t units = 1;

  void take(const LimitSample&) noexcept {}
  [[nodiscard]] std::uint32_t limit() const noexcept { return units; }
};

class Limiter {
 public:
  enum class Law : std::uint8_t { fixed };

  Limiter() noexcept = default;
  explicit Limiter(FixedLimit law) noexcept : fixed_(law) {}

  void take(const LimitSample& sample) noexcept {
    switch (law_) {
      case Law::fixed:
        fixed_.take(sample);
    }
  }

  [[nodiscard]] std::uint32_t limit() const noexcept {
    switch (law_) {
      case Law::fixed:
        return fixed_.limit();
    }
    return fixed_.limit();
  }

  [[nodiscard]] Law law() const noexcept { return law_; }

 private:
  Law law_ = Law::fixed;
  FixedLimit fixed_{};
};

}  // namespace loadline
