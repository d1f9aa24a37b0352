#include "sim/distribution.h"

#include <cmath>

#include "sim/seconds.h"

namespace loadline::sim {

Distribution Distribution::fixed(Duration value) noexcept {
  Distribution d;
  d.mean_ = seconds(value);
  return d;
}

Distribution Distribution::exponential(Duration mean) noexcept {
  Distribution d;
  d.kind_ = Kind::exponential;
  d.mean_ = seconds(mean);
  return d;
}

// exp(N(mu, sigma^2)) has the mean exp(mu + sigma^2 / 2) and the cv sqrt(exp(sigma^2) - 1).
Distribution Distribution::lognormal(Duration mean, double cv) noexcept {
  Distribution d;
  const double variance = std::log1p(cv * cv);
  d.kind_ = Kind::lognormal;
  d.mean_ = seconds(mean);
  d.first_ = std::log(d.mean_) - variance / 2;
  d.second_ = std::sqrt(variance);
  return d;
}

Distribution Distribution::bimodal(Duration shorter, Duration longer, double share_long) noexcept {
  Distribution d;
  d.kind_ = Kind::bimodal;
  d.first_ = seconds(shorter);
  d.second_ = seconds(longer);
  d.share_ = share_long;
  d.mean_ = d.first_ * (1 - share_long) + d.second_ * share_long;
  return d;
}

Distribution Distribution::pareto(Duration mean, double shape) noexcept {
  Distribution d;
  d.kind_ = Kind::pareto;
  d.mean_ = seconds(mean);
  d.first_ = d.mean_ * (shape - 1) / shape;
  d.second_ = shape;
  return d;
}

Duration Distribution::mean() const noexcept {
  return duration(mean_);
}

Duration Distribution::draw(Draws& draws) const noexcept {
  switch (kind_) {
    case Kind::fixed:
      return duration(mean_);
    case Kind::exponential:
      return duration(mean_ * draws.exponential());
    case Kind::lognormal:
      return duration(std::exp(first_ + second_ * draws.normal()));
    case Kind::bimodal:
      return duration(draws.uniform() < share_ ? second_ : first_);
    case Kind::pareto:
      return duration(first_ * std::pow(draws.uniform(), -1 / second_));
  }
  return duration(mean_);
}

}  // namespace loadline::sim
