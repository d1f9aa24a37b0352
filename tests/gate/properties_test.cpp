// What must hold after every operation, whatever the operations are.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

#include "side_by_side.h"

namespace loadline::test {
namespace {

// Sanitizers make every step ten times as long, and find what they find in fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSteps = 200'000;
#else
constexpr std::uint64_t kSteps = 3'000'000;
#endif
constexpr std::uint32_t kLongest = 1000;  // steps of a life: enough for much to be learned

// Lives are of any length up to the longest, so that half of it each is taken, and a little more.
constexpr int kLives = static_cast<int>(kSteps / (kLongest / 2) * 11 / 10);

TEST(Properties, TheGateDoesWhatThePlainModelDoes) {
  std::uint64_t taken = 0;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = kLives;
  const auto result = rc::detail::checkTestable(
      [&] {
        const Life life = *any_life(kLongest);
        if (taken > 2 * kSteps) {
          return;  // a failure is being made plainer, and is plain enough
        }
        SideBySide both(life.draft);
        for (const Step& step : life.steps) {
          both.take(step);
        }
        both.finish();
        taken += life.steps.size();
      },
      rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>())
      << text.str() << "\nThe same again: RC_PARAMS=seed=" << params.seed;
  EXPECT_GE(taken, kSteps);
}

}  // namespace
}  // namespace loadline::test
