#include "sim_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace loadline::tools {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

// No minutes and hours: decades of seconds are round, and those of minutes are not.
constexpr std::array<Unit, 4> kTimeUnits{{{"ns", 1e-9}, {"\u00b5s", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
constexpr std::array<Unit, 4> kClockUnits{{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};
constexpr std::array<Unit, 4> kNumberUnits{{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}}};

using Format = std::string (*)(double);

// 1, 2 or 5 times a power of ten: the least that is not below `value`, but for rounding.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= value * (1 - 1e-9)) {
      return digit * power;
    }
  }
  return 10 * power;
}

double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  for (const double digit : {5.0, 2.0}) {
    if (digit * power <= value * (1 + 1e-9)) {
      return digit * power;
    }
  }
  return power;
}

// The least step of a clock of which `ticks` cover `length`.
double clock_step(double length, std::size_t ticks) {
  const double least = length / static_cast<double>(ticks);
  constexpr auto kSteps = std::to_array<double>(
      {15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400});
  if (least <= 10) {
    return round_up(least);
  }
  for (const double step : kSteps) {
    if (step >= least) {
      return step;
    }
  }
  return 86400 * round_up(least / 86400);
}

std::vector<SimTick> even_ticks(double step, double high, Format format) {
  std::vector<SimTick> ticks;
  for (int i = 0; i * step <= high * (1 + 1e-9); ++i) {
    ticks.push_back({i * step, i == 0 ? "0" : format(i * step)});
  }
  return ticks;
}

SimAxis linear_axis(double most, std::size_t ticks, Format format) {
  if (!(most > 0)) {
    most = 1;
  }
  const double step = round_up(most / static_cast<double>(ticks));
  const double high = step * std::ceil(most / step * (1 - 1e-9));
  return {0, high, false, even_ticks(step, high, format)};
}

// Every decade; between few of them also 2 and 5 times it.
std::vector<SimTick> log_ticks(double low, double high, Format format) {
  const bool few = high / low < 150;
  std::vector<SimTick> ticks;
  const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const auto last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  for (int exponent = first; exponent <= last; ++exponent) {
    const double decade = std::pow(10, exponent);
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * decade;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) && (few || digit == 1)) {
        ticks.push_back({value, format(value)});
      }
    }
  }
  return ticks;
}

SimAxis log_axis(double least, double most, int decades, Format format) {
  if (!(most > 0) || !(least > 0)) {
    return {1, 10, true, {}};
  }
  double high = round_up(most);
  const double low = round_down(std::max(least, most * std::pow(10, -decades)));
  if (high <= low) {
    high = low * 10;
  }
  return {low, high, true, log_ticks(low, high, format)};
}

template <std::size_t N>
const Unit& unit_for(const std::array<Unit, N>& units, double value) {
  const auto above = std::find_if(units.begin() + 1, units.end(), [value](const Unit& unit) {
    return std::abs(value) < unit.size * (1 - 1e-9);
  });
  return *(above - 1);
}

std::string share_text(double share) {
  return fmt::format("{:.6g} %", 100 * share);
}

std::string four_digits(double value) {
  return fmt::format("{:.4g}", value);
}

}  // namespace

double SimAxis::position(double value) const {
  const double share = logarithmic ? std::log(std::max(value, low) / low) / std::log(high / low)
                                   : (value - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

std::string short_number(double value) {
  if (std::abs(value) < 10'000) {
    return four_digits(value);
  }
  const Unit& unit = unit_for(kNumberUnits, value);
  return four_digits(value / unit.size) + std::string(unit.name);
}

std::string short_time(double seconds) {
  if (seconds == 0) {
    return "0";
  }
  const Unit& unit = unit_for(kTimeUnits, seconds);
  const double value = seconds / unit.size;
  return fmt::format("{} {}", value < 1000 ? four_digits(value) : fmt::format("{:.0f}", value),
                     unit.name);
}

SimAxis axis_of_numbers(double most, std::size_t ticks) {
  return linear_axis(most, ticks, short_number);
}

SimAxis axis_of_times(double most, std::size_t ticks) {
  return linear_axis(most, ticks, short_time);
}

SimAxis axis_of_course(double length, std::size_t ticks) {
  if (!(length > 0)) {
    length = 1;
  }
  const double step = clock_step(length, ticks);
  SimAxis axis{0, length, false, even_ticks(step, length, short_time)};
  const Unit& unit = unit_for(kClockUnits, step);
  for (SimTick& tick : axis.ticks) {
    // All in the unit of the first, so that 75 s follows 60 s; but 1.5 s follows 1 s.
    if (step >= 1 && tick.value > 0) {
      tick.label = fmt::format("{:.0f} {}", tick.value / unit.size, unit.name);
    }
  }
  return axis;
}

SimAxis log_axis_of_numbers(double least, double most, int decades) {
  return log_axis(least, most, decades, short_number);
}

SimAxis log_axis_of_times(double least, double most, int decades) {
  return log_axis(least, most, decades, short_time);
}

SimAxis log_axis_of_shares(double least, int decades) {
  return log_axis(least, 1, decades, share_text);
}

}  // namespace loadline::tools
