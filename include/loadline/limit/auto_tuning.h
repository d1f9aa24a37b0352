// The constants of `auto`.
#pragma once

namespace loadline {

// Each with its reason. They are the same for every service; what a change of each does is in
// docs/auto-study.md.
struct AutoTuning {
  // The first limit. Twice this is the most that is ever tried without a comparison: not three
  // times the knee of a pool of four.
  double first = 6;
  // Requests in the smallest cohort: two generations of the first limit.
  double fewest = 12;
  // So many times the fewest are asked for while a slope can still be anything.
  double most_of_fewest = 4;
  double widest = 2;          // ratio of two limits: no more is risked at a step
  double narrowest = 1.0905;  // three halvings of it, in logarithms: 2 ^ (1/8)
  // The lower limit is to lie at the knee, but for what a cohort errs by.
  double margin = 0.97;
  double gain = 0.3;  // of a step while holding: a slope errs by half of the distance
  double more = 0.5;  // slope below which more in flight bring more than they cost
  double less = 0.9;  // slope above which the knee is not above the lower
  // Sums of what slopes lean beyond `more`, and beyond where they lie when all is well: so much
  // makes the next step a wide one.
  double leans_up = 0.75;
  double leans_down = 1.0;
  double well = 0.85;
  double accuracy = 0.16;      // wanted of a slope; of what cohorts are sized by
  double cycle_s = 3;          // seconds in which the two limits are to be compared once
  double bias_share = 0.05;    // memory of what times alone miss of a slope: 20 comparisons
  double spread_share = 0.25;  // memory of the times' spread: 4 comparisons
  double of_use = 0.2;  // share in time below which answers are no use: most had better not begun
  double judged = 4;    // fewest requests by which that is told; and a generation, for those that
                        // take long end together
  double few_refused = 0.01;  // share turned away up to which nothing is wrong
  double many_refused = 0.1;  // and from which it is overload, so that looking down costs nobody
  double standing_s = 0.1;    // a burst is shorter, as for the queue
  double apart_s = 2;         // bursts farther apart have nothing to do with each other
  double forget_s = 10;       // after which the knee may be anywhere
  // Means after which who has not returned is taken to be no part of what was measured: counted
  // while it came and went, or never heard of again. And typical times without being full until a
  // lower limit is given up.
  double patience = 4;
  double of_a_moment = 20;  // typical times for which what was measured is of the same moment
};

}  // namespace loadline
