#include "sim_trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sim_trace_log.h"
#include "sim_trace_reader.h"
#include "sim_trace_records.h"

namespace loadline::tools {
namespace {

using sim::Listed;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMs = 1'000'000;

Trace read(std::string_view text, TraceFormat format = TraceFormat::automatic) {
  return read_trace_text(text, {.format = format});
}

std::vector<double> arrivals(const Trace& trace) {
  std::vector<double> times;
  for (const Listed& caller : trace.callers) {
    times.push_back(static_cast<double>(caller.at.ns) / 1e9);
  }
  return times;
}

// Seconds; negative: not known.
std::vector<double> works(const Trace& trace) {
  std::vector<double> times;
  for (const Listed& caller : trace.callers) {
    times.push_back(caller.work == Listed::kUnknown ? -1
                                                    : static_cast<double>(caller.work.ns) * 1e-9);
  }
  return times;
}

std::string faults_of(const Trace& trace) {
  return describe_faults("f", trace.faults);
}

std::string line(std::string_view time, std::string_view status, std::string_view rest) {
  return fmt::format(
      "203.0.113.7 - - [{}] \"GET /a?b=c HTTP/1.1\" {} 512 \"-\" \"curl/7.88.1\"{}\n", time, status,
      rest);
}

// A line at this second of a minute.
std::string at(int second, std::string_view rest) {
  return line(fmt::format("16/Nov/2023:18:15:{:02} +0000", second), "200", rest);
}

std::int64_t second_of(std::string_view time) {
  LogLineReader reader;
  LogLine read;
  std::string text = line(time, "200", "");
  text.pop_back();
  const auto fault = reader.read(text, read);
  return fault ? -1 : read.second;
}

std::int64_t by_the_library(int year, int month, int day, int hour, int minute, int second) {
  tm t{};
  t.tm_year = year - 1900;
  t.tm_mon = month - 1;
  t.tm_mday = day;
  t.tm_hour = hour;
  t.tm_min = minute;
  t.tm_sec = second;
  return timegm(&t);
}

// ---- Times -------------------------------------------------------------------------------------

TEST(TraceTime, IsWhatTheLibrarySays) {
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (const int year : {1970, 1999, 2000, 2023, 2024, 2100, 2199}) {
    for (int month = 1; month <= 12; ++month) {
      for (const int day : {1, 15, 28}) {
        EXPECT_EQ(
            second_of(fmt::format("{:02}/{}/{}:23:59:58 +0000", day, kMonths[month - 1], year)),
            by_the_library(year, month, day, 23, 59, 58));
      }
    }
  }
}

TEST(TraceTime, KnowsLeapDays) {
  EXPECT_EQ(second_of("29/Feb/2024:12:00:00 +0000"), by_the_library(2024, 2, 29, 12, 0, 0));
  EXPECT_EQ(second_of("29/Feb/2000:12:00:00 +0000"), by_the_library(2000, 2, 29, 12, 0, 0));
  EXPECT_EQ(second_of("29/Feb/2023:12:00:00 +0000"), -1);
  EXPECT_EQ(second_of("29/Feb/2100:12:00:00 +0000"), -1);
  EXPECT_EQ(second_of("31/Apr/2024:12:00:00 +0000"), -1);
}

TEST(TraceTime, KnowsZones) {
  const std::int64_t noon = by_the_library(2023, 6, 1, 12, 0, 0);
  EXPECT_EQ(second_of("01/Jun/2023:14:00:00 +0200"), noon);
  EXPECT_EQ(second_of("01/Jun/2023:17:30:00 +0530"), noon);
  EXPECT_EQ(second_of("01/Jun/2023:02:30:00 -0930"), noon);
  EXPECT_EQ(second_of("31/Dec/1969:23:00:00 -0200"), -1);  // it begins with 1970
}

TEST(TraceTime, RefusesWhatIsNone) {
  for (const char* time :
       {"00/Nov/2023:18:15:46 +0000", "32/Nov/2023:18:15:46 +0000", "16/Nvo/2023:18:15:46 +0000",
        "16/ovD/2023:18:15:46 +0000", "16/Nov/2023:24:15:46 +0000", "16/Nov/2023:18:60:46 +0000",
        "16/Nov/2023:18:15:61 +0000", "16/Nov/2023:18:15:46 0000", "16/Nov/2023:18:15:46",
        "16/Nov/2023:18:15:46 +00000", "16/Nov/2023:18:15:46 +2400", "16/Nov/1969:18:15:46 +0000",
        "16/Nov/2200:18:15:46 +0000", "16/11/2023:18:15:46 +0000", "6/Nov/2023:18:15:46 +0000"}) {
    EXPECT_EQ(second_of(time), -1) << time;
  }
}

// At the end of summer time the clock shows an hour twice, and the zone says which is which.
TEST(TraceTime, AnHourThatComesTwiceIsTwoHours) {
  const auto trace = read(line("29/Oct/2023:02:59:59 +0200", "200", " 0.000") +
                          line("29/Oct/2023:02:00:00 +0100", "200", " 0.000"));
  EXPECT_THAT(arrivals(trace), ElementsAre(0, 1));
  EXPECT_EQ(faults_of(trace), "");
}

// ---- nginx --------------------------------------------------------------------------------------

// The time is that of the end: three that end in second 46 do so at 1/6, 3/6 and 5/6 of it.
TEST(TraceNginx, SpreadsTheEndsOfASecondAndGoesBackByTheTimeTaken) {
  const auto trace =
      read(at(46, " 0.100") + at(46, " 0.500") + at(46, " 0.000") + at(48, " 1.750"));
  EXPECT_EQ(trace.format, TraceFormat::nginx);
  // Ends: 46.1667, 46.5, 46.8333, 48.5; less what they took: 46.0667, 46.0, 46.8333, 46.75.
  const double third = 1.0 / 3;
  EXPECT_THAT(arrivals(trace),
              testing::Pointwise(testing::DoubleNear(1e-8), {0.0, third / 5, 0.75, third * 2.5}));
  EXPECT_THAT(works(trace), ElementsAre(0.5, 0.1, 1.75, 0.0));
  EXPECT_EQ(trace.without_time, 0U);
  EXPECT_EQ(trace.refusal, "");
}

TEST(TraceNginx, TakesTheTimeByItsName) {
  for (const char* rest :
       {" 0.250", " rt=0.250", " request_time=0.250", " rt=\"0.250\"", " \"-\" 0.250",
        " rt=0.250 uct=0.001 uht=\"0.200\" 0.240", " HIT - 0.250", " 12 0.250", " rt=0.25"}) {
    const auto trace = read(at(46, rest));
    EXPECT_THAT(works(trace), ElementsAre(0.25)) << rest << faults_of(trace);
  }
}

TEST(TraceNginx, MayNotKnowTheTime) {
  for (const char* rest : {"", " -", " rt=-", " request_time=-", " \"10.0.0.1, 10.0.0.2\"", " 3.21",
                           " \"0.123\"", " HIT", " .123", " 1.2.3"}) {
    const auto trace = read(at(46, rest));
    EXPECT_THAT(works(trace), ElementsAre(-1)) << rest << faults_of(trace);
    EXPECT_EQ(trace.without_time, 1U);
    EXPECT_EQ(trace.refusal, "") << rest;
  }
}

TEST(TraceNginx, TwoTimesOfWhichNoneSaysWhichItIsAreAFault) {
  const auto trace = read(at(46, " 0.250 0.240"));
  EXPECT_THAT(faults_of(trace), HasSubstr("two times at the end"));
  EXPECT_THAT(faults_of(read(at(46, " 0.250 -"))), HasSubstr("two times at the end"));
}

TEST(TraceNginx, ReadsWhateverCallersSend) {
  const std::string time = "[16/Nov/2023:18:15:46 +0000]";
  for (const std::string& text : {
           R"(2001:db8::1 - - )" + time + R"( "GET / HTTP/2.0" 200 5 "-" "-" 0.250)",
           R"(unix: - - )" + time + R"( "GET / HTTP/2.0" 200 5 "-" "-" 0.250)",
           R"(1.2.3.4 - a [b] c )" + time + R"( "GET / HTTP/2.0" 200 5 "-" "-" 0.250)",
           R"(1.2.3.4 - - )" + time +
               R"( "GET /\x22 HTTP/2.0" 200 5 "-" "a \x22b\x22 [c] 9.999" 0.250)",
           R"(1.2.3.4 - - )" + time + R"( "GET /\"x\" HTTP/1.1" 200 5 "-" "a \" 9.999\\" 0.250)",
           R"(1.2.3.4 - - )" + time + R"( "GET / HTTP/1.1" 200 5 "-" "no "escape" 9.999" 0.250)",
           R"(1.2.3.4 - - )" + time + R"( "GET / HTTP/1.1" 200 5 "-" "rt=9.999 rt=8.888" 0.250)",
           R"(1.2.3.4 - - )" + time + R"( "GET / HTTP/1.1" 200 - "" "" 0.250)",
           "1.2.3.4 - - " + time + " \"GET /\xc3\xa9\xff HTTP/1.1\" 200 5 \"-\" \"\xf0\x9f\" 0.250",
           "1.2.3.4 - - " + time + " \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" 0.250\r",
       }) {
    const auto trace = read(text);
    EXPECT_THAT(works(trace), ElementsAre(0.25)) << text << faults_of(trace);
  }
}

TEST(TraceNginx, ConnectionsWithoutARequestAreNoCallers) {
  const std::string begin = "1.2.3.4 - - [16/Nov/2023:18:15:46 +0000] ";
  const auto trace =
      read(begin + "\"\" 400 0 \"-\" \"-\" 0.000\n" + begin + "\"-\" 408 - \"-\" \"-\"\n" + begin +
           R"("\x16\x03\x01\x02\x00\x01\x00\x01\xFC" 400 157 "-" "-" 0.120)"
           "\n" +
           at(46, " 0.010"));
  EXPECT_EQ(trace.no_calls, 3U);
  EXPECT_EQ(trace.callers.size(), 1U);
  EXPECT_EQ(trace.unreadable(), 0U);
}

// Their time says how long they were kept, not what they would have taken; when they came is known.
TEST(TraceNginx, TheWorkOfARefusedRequestIsNotKnown) {
  const std::string time = "16/Nov/2023:18:15:46 +0000";
  std::string text = line("16/Nov/2023:18:15:44 +0000", "200", " 0.000");
  for (const char* status : {"429", "499", "503", "504"}) {
    text += line(time, status, " 0.500");
  }
  for (const char* status : {"200", "404", "500", "502"}) {
    text += line(time, status, " 0.500");
  }
  const auto trace = read(text);
  EXPECT_THAT(works(trace), ElementsAre(0, -1, -1, -1, -1, 0.5, 0.5, 0.5, 0.5));
  EXPECT_EQ(trace.refused, 4U);
  EXPECT_EQ(trace.without_time, 4U);
  EXPECT_NEAR(arrivals(trace)[1], 46.0 + 1.0 / 16 - 0.5 - 44.5, 1e-8);
}

TEST(TraceNginx, MendsTheDisorderOfWorkers) {
  const auto trace = read(line("16/Nov/2023:18:16:40 +0000", "200", "") +
                          line("16/Nov/2023:18:15:40 +0000", "200", "") +
                          line("16/Nov/2023:18:16:10 +0000", "200", ""));
  EXPECT_THAT(arrivals(trace), ElementsAre(0, 30, 60));
  EXPECT_EQ(faults_of(trace), "");
}

TEST(TraceNginx, MoreDisorderIsAFaultOfItsLine) {
  const auto trace = read("# night\n" + line("16/Nov/2023:18:18:40 +0000", "200", "") +
                          "\nnonsense\n" + line("16/Nov/2023:16:15:40 +0000", "200", "") +
                          line("16/Nov/2023:18:17:39 +0000", "200", ""));
  EXPECT_THAT(faults_of(trace),
              "f:4:1: no line of an access log: allowed has a time as in "
              "[16/Nov/2023:18:15:46 +0000]\n"
              "f:5:1: goes back 2 h 3 min: allowed is 1 min, so sort the file by time, or cut it "
              "where it was rotated\n"
              "f:6:1: goes back 1 min 1 s: allowed is 1 min, so sort the file by time, or cut it "
              "where it was rotated\n");
  EXPECT_EQ(trace.callers.size(), 1U);
  EXPECT_EQ(trace.skipped, 2U);
  EXPECT_EQ(trace.lines, 6U);
}

TEST(TraceNginx, SaysWhatIsWrongWithALine) {
  const auto fault = [](std::string_view text) { return faults_of(read(text)); };
  const std::string begin = "1.2.3.4 - - [16/Nov/2023:18:15:46 +0000] ";
  EXPECT_THAT(fault("1.2.3.4 - - [16/Nov/2023:25:15:46 +0000] \"GET / HTTP/1.1\" 200 5"),
              HasSubstr("f:1:13: time '16/Nov/2023:25:15:46 +0000': allowed is a date from 1970"));
  EXPECT_THAT(fault("1.2.3.4 - - [16/Nov/2023:18:15:46 +0000"), HasSubstr("f:1:13: time ''"));
  EXPECT_THAT(fault(begin + "GET"), HasSubstr("f:1:42: no request in quotes"));
  EXPECT_THAT(fault(begin), HasSubstr("no request in quotes"));
  EXPECT_THAT(fault(begin + "\"GET / HTTP"), HasSubstr("f:1:42: the request has no closing quote"));
  EXPECT_THAT(fault(begin + "\"GET / HTTP/1.1\" 20 5"), HasSubstr("f:1:59: status '20'"));
  EXPECT_THAT(fault(begin + "\"GET / HTTP/1.1\" 200 x"), HasSubstr("f:1:63: bytes 'x'"));
  EXPECT_THAT(fault(begin + "\"GET / HTTP/1.1\" 200"), HasSubstr("bytes ''"));
  EXPECT_THAT(fault(begin + "\"GET / HTTP/1.1\" 200 5 \"-"), HasSubstr("a quote that nothing"));
  EXPECT_THAT(fault(at(46, " rt=1e3")), HasSubstr("'rt=1e3': allowed is a time in seconds"));
  EXPECT_THAT(fault(at(46, " rt=-1.000")), HasSubstr("'rt=-1.000': allowed is a time"));
  EXPECT_THAT(fault(at(46, " 2592000.000")), HasSubstr("allowed is a time up to 30 days"));
  EXPECT_THAT(fault(at(46, " 99999999999999999999.000")), HasSubstr("up to 30 days"));
}

// ---- Apache ------------------------------------------------------------------------------------

TEST(TraceApache, ReadsTheCommonFormat) {
  const auto trace = read(
      "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326\n");
  EXPECT_THAT(works(trace), ElementsAre(-1));
}

// Apache writes when a request came, so nothing is taken off.
TEST(TraceApache, TheTimeIsThatOfTheBeginning) {
  const std::string text = at(40, " 250000") + at(41, " 3000000");
  const auto trace = read(text, TraceFormat::apache_us);
  EXPECT_THAT(arrivals(trace), ElementsAre(0, 1));
  EXPECT_THAT(works(trace), ElementsAre(0.25, 3));
  EXPECT_THAT(works(read(at(40, " 250"), TraceFormat::apache_ms)), ElementsAre(0.25));
  EXPECT_THAT(works(read(at(40, " 2"), TraceFormat::apache_s)), ElementsAre(2));
  EXPECT_THAT(works(read(at(40, " -"), TraceFormat::apache_us)), ElementsAre(-1));
}

// Written when it ended, an hour after it came: its place is right.
TEST(TraceApache, ALongRequestIsNotOutOfOrder) {
  const auto trace = read(line("16/Nov/2023:19:15:00 +0000", "200", " 1000") +
                              line("16/Nov/2023:18:15:00 +0000", "200", " 3600000000"),
                          TraceFormat::apache_us);
  EXPECT_EQ(faults_of(trace), "");
  EXPECT_THAT(works(trace), ElementsAre(3600, 0.001));
}

// 2000 requests, 20 a second, of 1 ms to 5 s, written as they end; `unit` in nanoseconds.
std::string apache_log(std::int64_t unit, std::int64_t shortest_ns, std::int64_t longest_ns) {
  std::vector<std::pair<std::int64_t, std::string>> ends;
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double share = static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
    const auto took =
        shortest_ns + static_cast<std::int64_t>(share * share * share * share *
                                                static_cast<double>(longest_ns - shortest_ns));
    const std::int64_t start = i * 50 * kMs;
    const std::int64_t second = start / (1000 * kMs);
    ends.emplace_back(start + took, line(fmt::format("16/Nov/2023:18:{:02}:{:02} +0000",
                                                     second / 60, second % 60),
                                         "200", fmt::format(" {}", took / unit)));
  }
  std::sort(ends.begin(), ends.end());
  std::string text;
  for (const auto& [end, one] : ends) {
    text += one;
  }
  return text;
}

TEST(TraceApache, TellsTheUnitByTheOrderOfTheLines) {
  const auto us = read(apache_log(1000, kMs, 5000 * kMs));
  EXPECT_EQ(us.format, TraceFormat::apache_us) << us.refusal;
  const auto ms = read(apache_log(kMs, kMs, 50'000 * kMs));
  EXPECT_EQ(ms.format, TraceFormat::apache_ms) << ms.refusal;
  EXPECT_EQ(ms.callers.size(), 2000U);
  const auto s = read(apache_log(1000 * kMs, 1000 * kMs, 50'000 * kMs));
  EXPECT_EQ(s.format, TraceFormat::apache_s) << s.refusal;
}

TEST(TraceApache, RefusesWhatCannotBeTold) {
  // Half a second in milliseconds or half a millisecond in microseconds: both are in order.
  const auto short_ones = read(apache_log(1000, kMs / 2, 2 * kMs));
  EXPECT_THAT(short_ones.refusal, HasSubstr("may be microseconds or milliseconds"));
  EXPECT_THAT(short_ones.refusal, HasSubstr("apache-us, apache-ms or apache-s"));
  EXPECT_THAT(short_ones.callers, IsEmpty());
  // Whole seconds of a service that never takes one.
  EXPECT_THAT(read(apache_log(1000 * kMs, kMs, 900 * kMs)).refusal,
              HasSubstr("may be milliseconds or seconds"));
  EXPECT_THAT(read(at(1, " 1500") + at(2, " 1700")).refusal, HasSubstr("may be"));
  EXPECT_EQ(read(apache_log(1000, kMs / 2, 2 * kMs), TraceFormat::apache_us).refusal, "");
}

// Its numbers are lengths.
TEST(TraceApache, NginxHasNoWholeNumbersForTimes) {
  const auto trace = read(at(1, " 1500") + at(2, " 0.250"), TraceFormat::nginx);
  EXPECT_EQ(trace.without_time, 1U);
  EXPECT_EQ(trace.refusal, "");
}

TEST(TraceApache, TimesOfTwoKindsAreAFault) {
  EXPECT_THAT(faults_of(read(at(1, " 0.250") + at(2, " 1500"))),
              HasSubstr("f:2:1: the time at its end is a whole number: allowed is seconds with a "
                        "point, as above"));
  EXPECT_THAT(faults_of(read(at(1, " 0.250"), TraceFormat::apache_us)),
              HasSubstr("allowed is a whole number, as the format has it"));
}

// ---- CSV ---------------------------------------------------------------------------------------

TEST(TraceCsv, ReadsColumnsByName) {
  const auto trace = read(
      "\xef\xbb\xbf"
      "class,Service, arrival \r\n"
      "critical,0.25,1700000000.5\r\n"
      "# a comment\n"
      "\"a, \"\"b\"\"\",\"1e-3\",1700000001.75\n"
      ",,\"1700000001.75\"");
  EXPECT_EQ(trace.format, TraceFormat::csv);
  EXPECT_EQ(faults_of(trace), "");
  EXPECT_THAT(arrivals(trace), ElementsAre(0, 1.25, 1.25));
  EXPECT_THAT(works(trace), ElementsAre(0.25, 0.001, -1));
  EXPECT_EQ(trace.lines, 5U);
  EXPECT_EQ(trace.skipped, 2U);
}

TEST(TraceCsv, NeedNotKnowTimes) {
  EXPECT_THAT(works(read("arrival\n0\n1\n")), ElementsAre(-1, -1));
}

TEST(TraceCsv, SaysWhatIsWrongWithALine) {
  const auto fault = [](std::string_view text) {
    return faults_of(read(fmt::format("arrival,service,class\n5,1,a\n{}\n", text)));
  };
  for (const char* number :
       {"nan", "inf", "-1", "-0", "0x10", "7000000001", "1e300", "", "+6", "6 7", "1e999", "6s"}) {
    EXPECT_EQ(fault(fmt::format("{},1,a", number)),
              fmt::format("f:3:1: arrival '{}': allowed is a number of seconds from 0 to "
                          "7000000000\n",
                          number));
  }
  for (const char* number : {"nan", "NaN", "inf", "-1", "2592001", "1,5"}) {
    EXPECT_THAT(
        fault(fmt::format("6,\"{}\",a", number)),
        fmt::format("f:3:3: service '{}': allowed is a number of seconds from 0 to 2592000, "
                    "or nothing\n",
                    number));
  }
  EXPECT_EQ(fault("6,1"), "f:3:3: 2 fields: the header has 3\n");
  EXPECT_EQ(fault("6,1,a,b"), "f:3:7: 4 fields: the header has 3\n");
  EXPECT_EQ(fault("6,1,\"a"), "f:3:5: a quote that nothing closes on its line\n");
  EXPECT_EQ(fault("\"6\"1,1,a"), "f:3:4: after a closing quote: allowed is a comma\n");
  EXPECT_THAT(fault("4.5,1,a"),
              HasSubstr("f:3:1: '4.5' comes 0.500000 s before a line above it: allowed is rising"));
}

TEST(TraceCsv, NeedsAHeader) {
  EXPECT_THAT(read("0,1\n1,1\n", TraceFormat::csv).refusal, HasSubstr("no column 'arrival'"));
  EXPECT_THAT(read("time,service\n0,1\n", TraceFormat::csv).refusal,
              HasSubstr("no column 'arrival'"));
  EXPECT_NE(read("time,service\n0,1\n").refusal, "");
}

// ---- Azure -------------------------------------------------------------------------------------

TEST(TraceAzure, TokensAreTime) {
  const auto trace = read_trace_text(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 18:15:46.6805900,374,44\r\n"
      "2023-11-16 18:15:50.9951690,396,109\r\n"
      "2023-11-16T18:15:51,0,0\r\n"
      "2023-11-16 19:15:51.500000+01:00,10,1\r\n",
      {.context_token_seconds = 0.001, .generated_token_seconds = 0.1});
  EXPECT_EQ(trace.format, TraceFormat::azure_llm);
  EXPECT_EQ(faults_of(trace), "");
  EXPECT_THAT(arrivals(trace),
              testing::Pointwise(testing::DoubleEq(), {0.0, 4.314579, 4.31941, 4.81941}));
  EXPECT_THAT(works(trace),
              testing::Pointwise(testing::DoubleNear(1e-9), {4.774, 11.296, 0.0, 0.11}));
}

TEST(TraceAzure, WithoutWhatATokenTakesNoTimeIsKnown) {
  EXPECT_EQ(read("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,2\n").without_time,
            1U);
}

TEST(TraceAzure, SaysWhatIsWrongWithALine) {
  const auto fault = [](std::string_view text) {
    return faults_of(read(fmt::format("TIMESTAMP,ContextTokens,GeneratedTokens\n{}\n", text)));
  };
  EXPECT_THAT(fault("2023-11-31 18:15:46,1,2"),
              HasSubstr("f:2:1: TIMESTAMP '2023-11-31 18:15:46'"));
  EXPECT_THAT(fault("2023-11-16 18:15:46.,1,2"), HasSubstr("f:2:1: TIMESTAMP"));
  EXPECT_THAT(fault("2023-11-16 18:15:46,-1,2"), HasSubstr("f:2:21: ContextTokens '-1'"));
  EXPECT_THAT(fault("2023-11-16 18:15:46,1,2.5"), HasSubstr("f:2:23: GeneratedTokens '2.5'"));
  EXPECT_THAT(fault("2023-11-16 18:15:46,1,2\n2023-11-16 18:15:45,1,2"),
              HasSubstr("f:3:1: '2023-11-16 18:15:45' comes 1.000000 s before"));
  EXPECT_THAT(read("TIMESTAMP,ContextTokens\n").refusal, HasSubstr("no column 'GeneratedTokens'"));
}

// ---- Files -------------------------------------------------------------------------------------

TEST(TraceLines, AreNoLongerThanTheyMayBe) {
  const auto of_bytes = [](std::size_t bytes) {
    const std::string begin = at(46, " \"");
    return begin.substr(0, begin.size() - 1) + std::string(bytes - begin.size(), 'a') + "\"\n";
  };
  EXPECT_EQ(faults_of(read(of_bytes(kLongestTraceLine))), "");
  EXPECT_EQ(faults_of(read(at(46, "") + of_bytes(kLongestTraceLine + 1) + at(46, ""))),
            "f:2:65537: a line of more than 65536 bytes\n");
  EXPECT_EQ(read(std::string(1'000'000, 'x')).refusal,
            "1 of 1 lines cannot be read: allowed is 1 %");
}

TEST(TraceLines, KeepsTheFirstFaultsAndCountsTheRest) {
  std::string text = at(46, "");
  for (int i = 0; i < 50; ++i) {
    text += "nonsense\n";
  }
  const auto trace = read(text);
  EXPECT_EQ(trace.faults.size(), 20U);
  EXPECT_EQ(trace.faults.back().place.line, 21);
  EXPECT_EQ(trace.more_faults, 30U);
  EXPECT_EQ(trace.unreadable(), 50U);
  EXPECT_EQ(trace.refusal, "50 of 51 lines cannot be read: allowed is 1 %");
}

TEST(TraceLines, OneInAHundredMayBeUnreadable) {
  std::string text = "nonsense\n";
  for (int i = 0; i < 99; ++i) {
    text += at(46, "");
  }
  EXPECT_EQ(read(text).refusal, "");
  EXPECT_EQ(read("nonsense\n" + text).refusal, "2 of 101 lines cannot be read: allowed is 1 %");
}

TEST(TraceLines, GivesUpWhereNothingFits) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "nonsense\n";
  }
  const auto trace = read(text);
  EXPECT_EQ(trace.refusal, "none of the first 100 lines can be read");
  EXPECT_EQ(trace.lines, 100U);
}

TEST(TraceLines, ThereMayBeTooManyRequests) {
  const auto trace = read_trace_text("arrival\n0\n1\n2\n3\n", {.most_callers = 3});
  EXPECT_THAT(trace.refusal, HasSubstr("more than 3 requests"));
  EXPECT_EQ(read_trace_text("arrival\n0\n1\n2\n", {.most_callers = 3}).refusal, "");
}

TEST(TraceLines, NobodyMayHaveCome) {
  EXPECT_EQ(read("").refusal, "no requests in it");
  EXPECT_EQ(read("\n\n# nothing\n").refusal, "no requests in it");
  EXPECT_EQ(read("arrival,service\n").refusal, "no requests in it");
}

// However the file's bytes come.
TEST(TraceLines, PiecesMakeNoDifference) {
  std::string text = at(46, " 0.100") + "nonsense\r\n\n";
  text += at(46, " 0.250") + at(47, " 1.000");
  const auto whole = read(text);
  for (const std::size_t size : {1UL, 7UL, 64UL, 100UL}) {
    TraceReader reader({});
    for (std::size_t from = 0; from < text.size(); from += size) {
      reader.feed(std::string_view(text).substr(from, size));
    }
    const auto trace = reader.finish();
    EXPECT_EQ(arrivals(trace), arrivals(whole));
    EXPECT_EQ(faults_of(trace), faults_of(whole));
    EXPECT_EQ(trace.lines, whole.lines);
  }
}

TEST(TraceNames, AreReadAndWritten) {
  for (const char* name :
       {"auto", "nginx", "apache", "apache-us", "apache-ms", "apache-s", "csv", "azure-llm"}) {
    EXPECT_EQ(trace_format_name(parse_trace_format(name).value()), name);
  }
  EXPECT_FALSE(parse_trace_format("iis"));
}

TEST(TraceSpans, AreDescribed) {
  EXPECT_EQ(describe_span(0), "0 s");
  EXPECT_EQ(describe_span(59), "59 s");
  EXPECT_EQ(describe_span(60), "1 min");
  EXPECT_EQ(describe_span(7380), "2 h 3 min");
  EXPECT_EQ(describe_span(86'400 + 59), "1 d");
}

class TraceFile : public testing::Test {
 protected:
  TraceFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "traceXXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TraceFile() override { std::filesystem::remove_all(folder_); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  [[nodiscard]] std::string path() const { return (folder_ / "access.log").string(); }
  std::string write(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }
  [[nodiscard]] std::string write_gzip(const std::string& text) const {
    const gzFile file = gzopen(path().c_str(), "ab");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path();
  }
  static std::string why_not(const std::string& path) {
    try {
      read_trace(path, {});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

std::string many_lines() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += at(i / 400, " 0.100");
  }
  return text;
}

TEST_F(TraceFile, IsReadAsItIsAndGzipped) {
  const auto expected = arrivals(read(many_lines()));
  EXPECT_EQ(expected.size(), 20'000U);
  EXPECT_EQ(arrivals(read_trace(write(many_lines()), {})), expected);
  std::filesystem::remove(path());
  EXPECT_EQ(arrivals(read_trace(write_gzip(many_lines()), {})), expected);
  // As cat makes of several.
  EXPECT_EQ(read_trace(write_gzip(at(50, " 0.100")), {}).callers.size(), 20'001U);
}

TEST_F(TraceFile, MayBeAPipe) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  std::thread writer([&] { write(many_lines()); });
  EXPECT_EQ(read_trace(path(), {}).callers.size(), 20'000U);
  writer.join();
}

TEST_F(TraceFile, SaysWhyItCannotBeRead) {
  EXPECT_THAT(why_not(folder_ / "none"), HasSubstr("none: cannot be read: No such file"));
  EXPECT_THAT(why_not(folder_), HasSubstr("is a folder"));
  EXPECT_THAT(why_not("/dev/zero"), HasSubstr("is a device"));
  EXPECT_THAT(why_not(write("\x28\xb5\x2f\xfd....")), HasSubstr("is compressed with zstd"));
  EXPECT_THAT(why_not(write("BZh9....")), HasSubstr("is compressed with bzip2"));
  std::filesystem::remove(path());
  const auto size = std::filesystem::file_size(write_gzip(many_lines()));
  std::filesystem::resize_file(path(), size / 2);
  EXPECT_THAT(why_not(path()), HasSubstr("its compressed data is cut off"));
}

TEST_F(TraceFile, EmptyHasNoRequests) {
  EXPECT_EQ(read_trace(write(""), {}).refusal, "no requests in it");
}

}  // namespace
}  // namespace loadline::tools
