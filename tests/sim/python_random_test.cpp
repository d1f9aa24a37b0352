// Beside CPython itself: the figures below are what its random module prints.
#include "sim/python_random.h"

#include <gtest/gtest.h>

#include "sim/seconds.h"

namespace loadline::sim::test {
namespace {

// python3 -c 'import random; r = random.Random(1); print([r.random() for _ in range(3)])'
TEST(PythonRandom, DrawsWhatCPythonDraws) {
  PythonRandom one(1);
  EXPECT_EQ(one.uniform(), 0.13436424411240122);
  EXPECT_EQ(one.uniform(), 0.8474337369372327);
  EXPECT_EQ(one.uniform(), 0.763774618976614);
  PythonRandom zero(0);
  EXPECT_EQ(zero.uniform(), 0.8444218515250481);
  PythonRandom last(4294967295);
  EXPECT_EQ(last.uniform(), 0.6353574441341173);
  PythonRandom later(1);
  double x = 0;
  for (int i = 0; i < 1000; ++i) {  // past the first 624 words
    x = later.uniform();
  }
  EXPECT_EQ(x, 0.7062615472551386);
}

TEST(PythonRandom, ArrivesAsThePublishedLoopDoes) {
  const std::vector<Listed> callers = python_poisson(1, 120, Duration::seconds(60));
  ASSERT_EQ(callers.size(), 7152U);
  EXPECT_EQ(callers.front().at, at(0.0012024255342459101));
  EXPECT_EQ(callers.back().at, at(60.00025181811486));
  EXPECT_LT(callers[7150].at, at(60));
}

}  // namespace
}  // namespace loadline::sim::test
