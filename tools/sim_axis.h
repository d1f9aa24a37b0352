// Axes with round ticks.
#pragma once

#include <string>
#include <vector>

namespace loadline::tools {

struct SimTick {
  double value = 0;
  std::string label;
};

// From a value to a share of an axis' length.
struct SimAxis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<SimTick> ticks;

  // What lies beyond an end lies at it.
  [[nodiscard]] double position(double value) const;
};

// A number in few characters: 0.5, 1500, 20k, 3M; and a time: 250 us, 15 ms, 2 s, 500 s.
std::string short_number(double value);
std::string short_time(double seconds);

// From 0 to at least `most`.
SimAxis axis_of_numbers(double most, std::size_t ticks);
SimAxis axis_of_times(double most, std::size_t ticks);
// From 0 to `length` and no further, in ticks of a clock: 15 s, 5 min, 6 h.
SimAxis axis_of_course(double length, std::size_t ticks);

// Between positive values, but at most so many decades below the greatest of them.
SimAxis log_axis_of_numbers(double least, double most, int decades);
SimAxis log_axis_of_times(double least, double most, int decades);
SimAxis log_axis_of_shares(double least, int decades);

}  // namespace loadline::tools
