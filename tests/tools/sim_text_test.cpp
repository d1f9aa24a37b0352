#include "sim_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "markup_check.h"
#include "sim_axis.h"

namespace loadline::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SimText, KeepsWhatIsUtf8) {
  EXPECT_EQ(one_line("Gate \u00e4 \u2026 \U0001f6a2"), "Gate \u00e4 \u2026 \U0001f6a2");
  EXPECT_EQ(one_line("two\nlines\tand a tab"), "two lines and a tab");
}

// By the table of well-formed sequences (Unicode 15, 3-7), and what XML 1.0 calls a Char.
TEST(SimText, ReplacesWhatIsNot) {
  constexpr const char* kReplaced = "\ufffd";
  EXPECT_EQ(one_line("\xff"), kReplaced);
  EXPECT_EQ(one_line("\x80"), kReplaced);                        // continues nothing
  EXPECT_EQ(one_line("\xc3"), kReplaced);                        // cut off
  EXPECT_EQ(one_line("\xc0\xaf").find('/'), std::string::npos);  // overlong
  EXPECT_EQ(one_line("\xe0\x80\xaf").find('/'), std::string::npos);
  EXPECT_EQ(one_line("\xed\xa0\x80").find("\xed"), std::string::npos);      // half of a pair
  EXPECT_EQ(one_line("\xf4\x90\x80\x80").find("\xf4"), std::string::npos);  // beyond the last
  EXPECT_EQ(one_line("\x1b"), kReplaced);
  EXPECT_EQ(one_line("\x7f"), kReplaced);
  EXPECT_EQ(one_line("\uffff"), kReplaced);
  EXPECT_EQ(one_line(std::string_view("\0", 1)), kReplaced);
}

TEST(SimText, CountsAndCutsByCharacter) {
  EXPECT_EQ(columns_of("\u00e4\u2026x"), 3U);
  EXPECT_EQ(cut_to("\u00e4bcd", 4), "\u00e4bcd");
  EXPECT_EQ(cut_to("\u00e4bcde", 4), "\u00e4bc\u2026");
  EXPECT_EQ(cut_to("ab", 1), "\u2026");
}

TEST(SimText, WrapsAtBlanks) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("one two three", 6), ElementsAre("one", "two", "three"));
  EXPECT_THAT(wrap("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  EXPECT_THAT(wrap("\u00e4\u00e4\u00e4 b", 3), ElementsAre("\u00e4\u00e4\u00e4", "b"));
  EXPECT_THAT(wrap("", 3), ElementsAre(""));
}

TEST(SimText, EscapesMarkup) {
  EXPECT_EQ(escape_markup("<a href='x'>\"&\"</a>"),
            "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
}

std::vector<std::string> labels(const SimAxis& axis) {
  std::vector<std::string> labels;
  for (const SimTick& tick : axis.ticks) {
    labels.push_back(tick.label);
  }
  return labels;
}

TEST(SimAxis, TicksAreRound) {
  EXPECT_THAT(labels(axis_of_numbers(1003, 4)), ElementsAre("0", "500", "1000", "1500"));
  EXPECT_THAT(labels(axis_of_numbers(12, 4)), ElementsAre("0", "5", "10", "15"));
  EXPECT_THAT(labels(axis_of_numbers(0.3, 4)), ElementsAre("0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(labels(axis_of_numbers(40'000, 4)), ElementsAre("0", "10k", "20k", "30k", "40k"));
  EXPECT_THAT(labels(axis_of_times(0.2, 4)),
              ElementsAre("0", "50 ms", "100 ms", "150 ms", "200 ms"));
  EXPECT_THAT(labels(axis_of_times(3, 4)), ElementsAre("0", "1 s", "2 s", "3 s"));
  EXPECT_DOUBLE_EQ(axis_of_numbers(1003, 4).position(750), 0.5);
}

TEST(SimAxis, ACourseHasTicksOfAClock) {
  EXPECT_THAT(labels(axis_of_course(10, 5)), ElementsAre("0", "2 s", "4 s", "6 s", "8 s", "10 s"));
  EXPECT_THAT(labels(axis_of_course(70, 5)), ElementsAre("0", "15 s", "30 s", "45 s", "60 s"));
  EXPECT_THAT(labels(axis_of_course(600, 2)), ElementsAre("0", "5 min", "10 min"));
  EXPECT_THAT(labels(axis_of_course(21600, 6)),
              ElementsAre("0", "1 h", "2 h", "3 h", "4 h", "5 h", "6 h"));
  EXPECT_THAT(labels(axis_of_course(5 * 86400, 3)), ElementsAre("0", "2 d", "4 d"));
  EXPECT_THAT(labels(axis_of_course(0.5, 2)), ElementsAre("0", "500 ms"));
  EXPECT_EQ(axis_of_course(70, 5).high, 70);  // no further than it is
}

TEST(SimAxis, LogarithmicOnesHaveDecades) {
  const SimAxis axis = log_axis_of_times(0.0011, 0.9, 6);
  EXPECT_THAT(labels(axis), ElementsAre("1 ms", "10 ms", "100 ms", "1 s"));
  EXPECT_NEAR(axis.position(0.01), 1.0 / 3, 1e-12);
  EXPECT_EQ(axis.position(0), 0);
  EXPECT_EQ(axis.position(5), 1);
  EXPECT_THAT(labels(log_axis_of_times(0.01, 0.05, 6)), ElementsAre("10 ms", "20 ms", "50 ms"));
  EXPECT_THAT(labels(log_axis_of_shares(1e-9, 2)),
              ElementsAre("1 %", "2 %", "5 %", "10 %", "20 %", "50 %", "100 %"));
}

TEST(SimAxis, NothingStillHasAnAxis) {
  for (const SimAxis& axis : {axis_of_numbers(0, 4), axis_of_times(0, 4), axis_of_course(0, 4),
                              log_axis_of_numbers(0, 0, 4), log_axis_of_times(1, 1, 4)}) {
    EXPECT_GE(axis.position(0.5), 0);
    EXPECT_LE(axis.position(0.5), 1);
  }
}

// The check that the pictures' tests lean on.
TEST(MarkupCheck, FindsWhatIsNotWellFormed) {
  using test::MarkupCheck;
  EXPECT_THAT(MarkupCheck::fault_of("<a b=\"c\"><d/>e &lt; f</a>\n"), IsEmpty());
  for (const char* const bad :
       {"<a>", "<a></b>", "<a b=c/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>", "<a>&nbsp;</a>",
        "<a/><b/>", "x<a/>", "<a>\x01</a>", "<a>\xff</a>", "<a b=\"<\"/>", "</a>", "<a", ""}) {
    EXPECT_NE(MarkupCheck::fault_of(bad), "") << bad;
  }
}

}  // namespace
}  // namespace loadline::tools
