// Who came while a limit became full.
#include "loadline/limit/ramp.h"

#include <gtest/gtest.h>

namespace loadline::test {
namespace {

constexpr std::uint32_t kLimit = 40;

class Way : public testing::Test {
 protected:
  void look(std::uint32_t in_flight, bool fills_up = false) {
    now_ = now_ + Duration::millis(10);
    view_ = {.now = now_, .in_flight = in_flight, .ended = ended_};
    ramp_.look(view_, kLimit, fills_up);
  }
  // Came at `started`, and took so long.
  void end(Instant started, Duration time) {
    ++ended_;
    ramp_.take({.started = started, .ended = started + time});
  }
  bool is_told() {
    view_.now = now_;
    view_.ended = ended_;
    return ramp_.level(view_, level_);
  }

  Ramp ramp_;
  Level level_;
  Instant now_{};

 private:
  LimitView view_;
  std::uint64_t ended_ = 0;
};

TEST_F(Way, IsToldOfTheMiddleBetweenItsEnds) {
  look(10);
  const Instant began = now_;
  look(25);
  look(40, true);
  EXPECT_FALSE(is_told()) << "nobody is back";
  for (int i = 0; i < 30; ++i) {
    end(began + Duration::micros(500) * i, Duration::millis(8));
  }
  now_ = now_ + Duration::seconds(1);
  ASSERT_TRUE(is_told());
  EXPECT_EQ(level_.limit, 25U);
  EXPECT_DOUBLE_EQ(level_.time_ns, 8e6);
  EXPECT_EQ(level_.samples, 30U);
}

// Those who came before do not count, nor who came once it was full.
TEST_F(Way, BeginsWhereHalfWasLeftLast) {
  look(10);
  end(now_, Duration::millis(99));
  look(20);
  const Instant began = now_;
  look(30);
  look(40, true);
  end(began - Duration{1}, Duration::millis(99));
  end(now_, Duration::millis(99));
  for (int i = 0; i < 20; ++i) {
    end(began + Duration::millis(1), Duration::millis(8));
  }
  now_ = now_ + Duration::seconds(10);
  ASSERT_TRUE(is_told());
  EXPECT_EQ(level_.limit, 30U);
  EXPECT_EQ(level_.samples, 20U);
  EXPECT_DOUBLE_EQ(level_.time_ns, 8e6);
}

TEST_F(Way, FromAboveHalfIsNone) {
  look(21);
  look(40, true);
  end(now_ - Duration::millis(5), Duration::millis(8));
  now_ = now_ + Duration::seconds(10);
  EXPECT_FALSE(is_told());
}

TEST_F(Way, ThatIsForgottenIsNotTold) {
  look(10);
  const Instant began = now_;
  look(40, true);
  end(began, Duration::millis(8));
  ramp_.forget();
  now_ = now_ + Duration::seconds(10);
  EXPECT_FALSE(is_told());
}

}  // namespace
}  // namespace loadline::test
