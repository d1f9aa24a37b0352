#include "stop_on_signal.h"

#include <gtest/gtest.h>

#include <csignal>

#include "load_test_server.h"

namespace loadline::tools {
namespace {

TEST(StopOnSignal, AsksForAStopAndSaysWhy) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const StopOnSignal signals;
    EXPECT_FALSE(signals.token().stop_requested());
    EXPECT_FALSE(signals.signal());
    std::raise(signal);
    EXPECT_TRUE(eventually([&] { return signals.token().stop_requested(); }));
    EXPECT_EQ(signals.signal(), signal);
  }
}

}  // namespace
}  // namespace loadline::tools
