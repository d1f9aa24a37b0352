#include "sim/distribution.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/seconds.h"

namespace loadline::sim {
namespace {

// Of scale 1: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables" (ACM TOMS
// 26(3), 2000). It needs a shape of at least 1; below, one of a shape above by 1 is made smaller
// (their section 6).
double standard_gamma(double shape, Draws& draws) noexcept {
  if (shape < 1) {
    const double larger = standard_gamma(shape + 1, draws);
    return larger * std::pow(draws.uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draws.normal();
    const double root = 1 + c * x;
    const double v = root * root * root;
    if (v > 0 && std::log(draws.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

}  // namespace

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

// Of the shape k and the scale s the mean is k s and the cv 1 / sqrt(k).
Distribution Distribution::gamma(Duration mean, double cv) noexcept {
  Distribution d;
  d.kind_ = Kind::gamma;
  d.mean_ = seconds(mean);
  d.first_ = 1 / (cv * cv);
  d.second_ = d.mean_ / d.first_;
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

Distribution Distribution::empirical(std::vector<Duration> values) {
  Distribution d;
  d.kind_ = Kind::empirical;
  for (const Duration value : values) {
    d.mean_ += seconds(value) / static_cast<double>(values.size());
  }
  d.values_ = std::make_shared<const std::vector<Duration>>(std::move(values));
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
    case Kind::gamma:
      return duration(second_ * standard_gamma(first_, draws));
    case Kind::bimodal:
      return duration(draws.uniform() < share_ ? second_ : first_);
    case Kind::pareto:
      return duration(first_ * std::pow(draws.uniform(), -1 / second_));
    case Kind::empirical: {
      const auto n = static_cast<double>(values_->size());
      return (
          *values_)[std::min(static_cast<std::size_t>(draws.uniform() * n), values_->size() - 1)];
    }
  }
  return duration(mean_);
}

}  // namespace loadline::sim
