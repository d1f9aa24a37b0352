// How much work a request brings.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "loadline/time.h"
#include "sim/random.h"

namespace loadline::sim {

class Distribution {
 public:
  static Distribution fixed(Duration value) noexcept;
  static Distribution exponential(Duration mean) noexcept;
  // `cv`: standard deviation over mean.
  static Distribution lognormal(Duration mean, double cv) noexcept;
  static Distribution gamma(Duration mean, double cv) noexcept;
  // `share_long` of the requests take `longer`, the others `shorter`.
  static Distribution bimodal(Duration shorter, Duration longer, double share_long) noexcept;
  // P(work > x) = (least / x)^shape; shape above 1, or there is no mean.
  static Distribution pareto(Duration mean, double shape) noexcept;
  // Each of `values`, of which there is at least one, as often as any other.
  static Distribution empirical(std::vector<Duration> values);

  [[nodiscard]] Duration mean() const noexcept;
  [[nodiscard]] Duration draw(Draws& draws) const noexcept;

 private:
  enum class Kind : std::uint8_t {
    fixed,
    exponential,
    lognormal,
    gamma,
    bimodal,
    pareto,
    empirical
  };

  Kind kind_ = Kind::fixed;
  double mean_ = 0;    // seconds
  double first_ = 0;   // lognormal: mu; gamma: shape; bimodal: shorter; pareto: least
  double second_ = 0;  // lognormal: sigma; gamma: scale; bimodal: longer; pareto: shape
  double share_ = 0;   // bimodal: of the longer
  std::shared_ptr<const std::vector<Duration>> values_;  // empirical
};

}  // namespace loadline::sim
