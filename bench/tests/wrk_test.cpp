#include "nginx/wrk.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace loadline::bench {
namespace {

TEST(ParseWrk, CountsRequests) {
  const LoadResult result = parse_wrk(
      "Running 2s test @ http://127.0.0.1:8080/\n"
      "  1 threads and 64 connections\n"
      "  347211 requests in 2.00s, 58.94MB read\n"
      "Requests/sec: 173605.50\n");
  EXPECT_EQ(result.requests, 347211U);
  EXPECT_EQ(result.refused, 0U);
  EXPECT_EQ(result.errors, 0U);
}

TEST(ParseWrk, CountsRefusalsAndErrors) {
  const LoadResult result = parse_wrk(
      "  1000 requests in 2.00s, 58.94MB read\n"
      "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
      "  Non-2xx or 3xx responses: 998\n");
  EXPECT_EQ(result.requests, 1000U);
  EXPECT_EQ(result.refused, 998U);
  EXPECT_EQ(result.errors, 10U);
}

TEST(ParseWrk, RefusesWhatIsNoSummary) {
  EXPECT_THROW(parse_wrk("unable to connect to 127.0.0.1:8080 Connection refused"),
               std::runtime_error);
}

}  // namespace
}  // namespace loadline::bench
