// How statuses are read.
#include "loadline/client/answer.h"

#include <gtest/gtest.h>

namespace loadline::client {
namespace {

Signs signs_of(std::string_view name, std::string_view value) {
  Signs signs;
  signs.see(name, value, {});
  return signs;
}

TEST(AnswerOfHttp, FollowsTheTable) {
  const struct {
    std::uint32_t status;
    Ended ended;
  } rows[] = {
      {200, Ended::success},      {204, Ended::success},      {304, Ended::success},
      {400, Ended::caller_fault}, {404, Ended::caller_fault}, {409, Ended::caller_fault},
      {408, Ended::timed_out},    {429, Ended::quota},        {499, Ended::cancelled},
      {500, Ended::failed},       {501, Ended::failed},       {502, Ended::unavailable},
      {503, Ended::unavailable},  {504, Ended::timed_out},    {505, Ended::failed},
      {0, Ended::failed},         {101, Ended::failed},       {700, Ended::failed},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(answer_of_http(row.status, {}).ended, row.ended) << row.status;
  }
}

TEST(AnswerOfHttp, A503IsARefusalWhereItSaysSo) {
  const Answer told = answer_of_http(503, signs_of("retry-after", "7"));
  EXPECT_EQ(told.ended, Ended::refused);
  EXPECT_EQ(told.told, Told::wait(Duration::seconds(7)));
  EXPECT_EQ(answer_of_http(503, signs_of("retry-after", "7"), false).ended, Ended::unavailable);
  EXPECT_EQ(answer_of_http(503, signs_of("x-loadline-refused", "limit"), false).ended,
            Ended::refused);
  EXPECT_EQ(answer_of_http(503, signs_of("x-envoy-overloaded", "true")).ended, Ended::refused);
  const Answer malformed = answer_of_http(503, signs_of("retry-after", "soon"));
  EXPECT_EQ(malformed.ended, Ended::unavailable);
  EXPECT_EQ(malformed.malformed, 1);
  EXPECT_EQ(answer_of_http(500, signs_of("retry-after", "7")).ended, Ended::failed);
}

TEST(AnswerOfHttp, AGatesNoForADeadlineIsARefusalThatWaitingDoesNotHelp) {
  const Answer answer = answer_of_http(504, signs_of("x-loadline-refused", "deadline_unmeetable"));
  EXPECT_EQ(answer.ended, Ended::refused);
  EXPECT_EQ(answer.told, Told::never());
}

TEST(AnswerOfHttp, TellsAFailureFromFurtherDown) {
  EXPECT_TRUE(answer_of_http(503, signs_of("x-loadline-further-down", "1")).further_down);
  EXPECT_FALSE(answer_of_http(503, {}).further_down);
}

TEST(AnswerOfGrpc, FollowsTheTable) {
  constexpr Ended kEnded[17] = {Ended::success,      Ended::cancelled,    Ended::failed,
                                Ended::caller_fault, Ended::timed_out,    Ended::caller_fault,
                                Ended::caller_fault, Ended::caller_fault, Ended::quota,
                                Ended::caller_fault, Ended::caller_fault, Ended::caller_fault,
                                Ended::caller_fault, Ended::failed,       Ended::unavailable,
                                Ended::failed,       Ended::caller_fault};
  for (std::uint32_t code = 0; code < 17; ++code) {
    EXPECT_EQ(answer_of_grpc(code, {}).ended, kEnded[code]) << code;
  }
  EXPECT_EQ(answer_of_grpc(17, {}).ended, Ended::failed);
}

TEST(AnswerOfGrpc, UnavailableWithAPushbackIsARefusal) {
  const Answer waits = answer_of_grpc(14, signs_of("grpc-retry-pushback-ms", "150"));
  EXPECT_EQ(waits.ended, Ended::refused);
  EXPECT_EQ(waits.told, Told::wait(Duration::millis(150)));
  const Answer forbids = answer_of_grpc(14, signs_of("grpc-retry-pushback-ms", "-1"));
  EXPECT_EQ(forbids.ended, Ended::refused);
  EXPECT_EQ(forbids.told, Told::never());
  EXPECT_EQ(answer_of_grpc(4, signs_of("x-loadline-refused", "deadline_expired")).told,
            Told::never());
}

TEST(Ends, HaveNames) {
  EXPECT_EQ(name(Ended::success), "success");
  EXPECT_EQ(name(Ended::cancelled), "cancelled");
  EXPECT_EQ(name(static_cast<Ended>(99)), "unknown");
}

}  // namespace
}  // namespace loadline::client
