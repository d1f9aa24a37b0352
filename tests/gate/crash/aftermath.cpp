#include "aftermath.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

namespace loadline::crash {
namespace {

void release_all(Stage& s, Person& who) {
  while (who.permit_count != 0) {
    s.release(who);
  }
}

void expect_all_told(Stage& s) {
  Person& who = s.survivor();
  for (int rounds = 0; who.ticket_count != 0 && rounds < 50; ++rounds) {
    if (who.permit_count != 0) {
      s.release(who);
    }
    s.tick();
    s.collect(who);
  }
  EXPECT_EQ(who.ticket_count, 0U) << "one who waits is never told";
  release_all(s, who);
}

// Each class gets exactly what it may have.
void expect_as_good_as_new(Stage& s) {
  Person& who = s.survivor();
  s.gate.set_mode(Mode::on, s.now());
  s.gate.set_draining(false, s.now());
  const Snapshot all = s.gate.snapshot();
  for (std::uint32_t c = 0; c < all.class_count; ++c) {
    Request request = of(static_cast<std::uint8_t>(c));
    request.may_wait = false;
    std::uint32_t admitted = 0;
    while (s.offer(who, request).kind == Offer::Kind::admit) {
      ++admitted;
    }
    EXPECT_EQ(admitted, all.classes[c].threshold) << "class " << c;
    release_all(s, who);
  }
  EXPECT_EQ(s.gate.in_flight(), 0U);
}

}  // namespace

std::string how_it_ended(int status) {
  if (WIFSTOPPED(status)) {
    return "stopped";
  }
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGKILL ? "killed" : "signal " + std::to_string(WTERMSIG(status));
  }
  return "exit " + std::to_string(WEXITSTATUS(status));
}

void expect_whole(Stage& s, std::uint64_t deaths) {
  EXPECT_EQ(s.what_is_wrong(), "");
  EXPECT_EQ(s.what_went_back(), "");
  EXPECT_EQ(s.what_is_wrong_with_the_rules(), "");
  EXPECT_EQ(s.what_is_wrong_with_the_sums(deaths), "");
  expect_all_told(s);
  EXPECT_EQ(s.what_is_wrong(), "");
  expect_as_good_as_new(s);
  EXPECT_EQ(s.what_is_wrong(), "");
  EXPECT_EQ(s.what_is_wrong_with_the_sums(deaths), "");
}

void leave(Stage& s) {
  if (s.third().seat.valid()) {
    s.gate.detach(s.third().seat, s.now());
  }
  s.end();
}

}  // namespace loadline::crash
