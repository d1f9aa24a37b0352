#include "limit_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <limits>

namespace loadline::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr LimitInputs kPair{.low = 12,
                            .high = 24,
                            .time_low = Duration::micros(20'100),
                            .time_high = Duration::micros(20'400),
                            .samples = 96,
                            .rate = 1176,
                            .slope = 0.0149,
                            .share = 0.25};

LimitEvent event_of(LimitCause cause, std::uint32_t from, std::uint32_t to,
                    const LimitInputs& inputs = kPair) {
  return {.at = Instant{1'000'000'000}, .from = from, .to = to, .reason = {cause, inputs}};
}

SignalReading signal(std::string_view name, double value, double at_most) {
  SignalReading reading{.at_most = at_most, .value = value};
  name.copy(reading.name.data(), kMaxSignalName);
  return reading;
}

struct Case {
  LimitCause cause;
  std::uint32_t from;
  std::uint32_t to;
  LimitInputs inputs;
  const char* sentence;
};

class LimitWords : public testing::TestWithParam<Case> {};

TEST_P(LimitWords, SayWhatWasDoneAndWhy) {
  const Case& c = GetParam();
  EXPECT_EQ(explain(event_of(c.cause, c.from, c.to, c.inputs)), c.sentence);
}

constexpr LimitInputs kHigh{
    .high = 30, .time_high = Duration::millis(25), .samples = 64, .rate = 1200};

INSTANTIATE_TEST_SUITE_P(
    OfEachCause, LimitWords,
    testing::Values(
        Case{
            LimitCause::none, 5, 6, {}, "The limit goes from 5 to 6, and nothing is known of why."},
        Case{LimitCause::began, 0, 6, {}, "The limit begins at 6."},
        Case{
            LimitCause::doubled, 24, 48, kPair,
            "The limit was full, and more bring more: of what 24 in flight bring beyond 12, 1 % is "
            "mere waiting (20.1 ms at 12 and 20.4 ms at 24, 96 requests, 1176 answers a "
            "second), so the limit goes from 24 to 48."},
        Case{LimitCause::doubled,
             6,
             12,
             {.high = 6, .time_high = Duration::millis(20)},
             "The limit was full (20 ms at 6), and to see whether more bring more, the limit goes "
             "from 6 to 12."},
        Case{LimitCause::settled,
             48,
             26,
             {.low = 24,
              .high = 48,
              .time_low = Duration::millis(20),
              .time_high = Duration::millis(39),
              .samples = 150,
              .rate = 200,
              .slope = 0.95},
             "More no longer brings more: of what 48 in flight bring beyond 24, 95 % is mere "
             "waiting (20 ms at 24 and 39 ms at 48, 150 requests, 200 answers a second), so the "
             "limit goes from 48 to 26."},
        Case{
            LimitCause::settled,
            3,
            7,
            {.low = 3,
             .high = 5,
             .time_low = Duration::millis(13),
             .time_high = Duration::millis(8),
             .slope = 0},
            "Less brings less: of what 5 in flight bring beyond 3, 0 % is mere waiting (13 ms at 3 "
            "and 8 ms at 5), so the limit goes from 3 to 7."},
        Case{LimitCause::looked_up,
             26,
             30,
             {},
             "To see what some more in flight bring, the limit goes from 26 to 30."},
        Case{LimitCause::looked_down, 30, 26, kHigh,
             "To see what some less in flight bring (25 ms at 30, 64 requests, 1200 answers a "
             "second), the limit goes from 30 to 26."},
        Case{LimitCause::moved,
             26,
             29,
             {.low = 26, .high = 30, .slope = 0.2},
             "The knee was looked for again: of what 30 in flight bring beyond 26, 20 % is mere "
             "waiting, so the limit goes from 26 to 29."},
        Case{LimitCause::late,
             24,
             12,
             {.high = 24, .samples = 16, .share = 0.125},
             "Only 12 % of the last 16 answers were in time, so the limit goes from 24 to 12."},
        Case{LimitCause::healthy,
             20,
             21,
             {.slope = 1.05},
             "The service is well, so the limit goes from 20 to 21, times 1.05."},
        Case{LimitCause::slow,
             20,
             18,
             {.high = 20, .time_high = Duration::seconds(2), .slope = 0.9},
             "The service has become slow (2 s at 20), so the limit goes from 20 to 18, times "
             "0.9."},
        Case{LimitCause::slow,
             20,
             18,
             {.time_low = Duration::millis(45), .time_high = Duration::millis(50)},
             "The service has become slow (45 ms and 50 ms), so the limit goes from 20 to 18."},
        Case{LimitCause::failing,
             20,
             18,
             {.samples = 50, .share = 0.6},
             "Requests failed, 40 % of the last 50, so the limit goes from 20 to 18."},
        Case{LimitCause::failing, 20, 18, {}, "Requests failed, so the limit goes from 20 to 18."},
        Case{LimitCause::probing,
             50,
             5,
             {},
             "To measure the service with few in flight, the limit goes from 50 to 5."},
        Case{LimitCause::disturbed,
             20,
             20,
             {},
             "The clock jumped, nobody looked for a while or a worker died, so what was being "
             "measured is given "
             "up and the limit stays at 20."},
        Case{LimitCause::pressed,
             20,
             15,
             {},
             "A signal from outside is above its set-point, so the limit goes from 20 to 15."},
        Case{LimitCause::pressed,
             20,
             15,
             {.signal = signal("db_latency", 0.075, 0.05)},
             "The signal db_latency is 0.075 and is to be 0.05 at most, so the limit goes from 20 "
             "to 15."},
        Case{LimitCause::relieved,
             15,
             18,
             {.signal = signal("db_latency", 0.0312, 0.05)},
             "The signal db_latency is 0.0312 and may be 0.05, so the limit goes from 15 to 18."},
        Case{LimitCause::relieved,
             15,
             16,
             {},
             "No signal from outside says anything any more, so the limit goes from 15 to 16."},
        Case{LimitCause::repaired,
             0,
             20,
             {},
             "The law's memory was found damaged, so it starts anew from 20."},
        Case{LimitCause::emptied,
             6,
             12,
             {},
             "Fewer come now than were let in to see what less bring, so the limit goes from 6 to "
             "12."}),
    [](const auto& of) {
      return std::string(name(of.param.cause)) + "_" + std::to_string(of.index);
    });

// Whatever law says it, with whatever numbers.
TEST(LimitWordsOfAnything, AreOneSentence) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const LimitInputs odd[] = {
      {},
      kPair,
      {.low = 5, .high = 5, .time_low = Duration{-1}, .rate = kNan, .slope = kNan, .share = kNan},
      {.low = 9, .high = 5, .time_high = Duration::max(), .rate = 1e300, .slope = -1e300}};
  for (std::uint32_t cause = 0; cause < kLimitCauses + 1; ++cause) {
    for (const LimitInputs& inputs : odd) {
      const std::string text = explain(event_of(static_cast<LimitCause>(cause), 5, 6, inputs));
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(text.front()))) << text;
      EXPECT_THAT(text, EndsWith("."));
      EXPECT_THAT(text, HasSubstr("6")) << "where it leads";
      EXPECT_EQ(text.find('\n'), std::string::npos);
    }
  }
}

TEST(LimitHistory, RunsOfProbesAreOneLine) {
  const std::vector<LimitEvent> events{
      event_of(LimitCause::settled, 40, 30),     event_of(LimitCause::looked_down, 30, 26),
      event_of(LimitCause::moved, 26, 31),       event_of(LimitCause::looked_down, 31, 27),
      event_of(LimitCause::moved, 27, 29),       event_of(LimitCause::late, 29, 14),
      event_of(LimitCause::looked_down, 14, 12), event_of(LimitCause::moved, 12, 13)};
  const auto folded = explain(events, Probes::folded);
  ASSERT_EQ(folded.size(), 5U);
  EXPECT_EQ(folded[1].text,
            "In 4 steps of looking around, between 26 and 31, the limit goes from 30 to 29.");
  EXPECT_THAT(folded[3].text, HasSubstr("from 14 to 12"));
  EXPECT_EQ(explain(events, Probes::told).size(), events.size());
  EXPECT_TRUE(explain({}, Probes::folded).empty());
}

}  // namespace
}  // namespace loadline::tools
