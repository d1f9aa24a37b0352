// Requests that are exempt from the limit, in a pool of their own: health probes, administration.
#include <gtest/gtest.h>

#include "gate_box.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

Request exempt_request() {
  Request request = of_class(kCritical);
  request.exempt = true;
  return request;
}

Policy with_exempt(std::uint16_t places) {
  Policy policy = policy_of(1, QueueSize::none());
  policy.exempt = places;
  return policy;
}

TEST(Exempt, IsServedWhileTheLimitIsFullAndLeavesItAlone) {
  GateBox box(with_exempt(16));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, reject);
  Offer probe = box.gate.offer(me, exempt_request(), box.now);
  EXPECT_EQ(probe.kind, admit);
  EXPECT_EQ(box.gate.in_flight(), 1U);
  EXPECT_EQ(box.gate.snapshot().exempt_in_flight, 1U);
  box.gate.release(me, probe.permit, Outcome::success, box.now);
  EXPECT_EQ(box.gate.in_flight(), 1U);
  EXPECT_EQ(box.gate.snapshot().exempt_in_flight, 0U);
}

TEST(Exempt, HasItsOwnBoundForEachParticipant) {
  GateBox box(with_exempt(2));
  const Participant one = box.attach(0);
  const Participant other = box.attach(1);
  Offer first = box.gate.offer(one, exempt_request(), box.now);
  ASSERT_EQ(box.gate.offer(one, exempt_request(), box.now).kind, admit);
  const Offer third = box.gate.offer(one, exempt_request(), box.now);
  EXPECT_EQ(third.kind, reject);
  EXPECT_EQ(third.reason, Reason::limit);
  EXPECT_EQ(box.gate.offer(other, exempt_request(), box.now).kind, admit);
  box.gate.release(one, first.permit, Outcome::success, box.now);
  EXPECT_EQ(box.gate.offer(one, exempt_request(), box.now).kind, admit);
}

TEST(Exempt, IsServedByAGateThatDrains) {
  GateBox box(with_exempt(1));
  const Participant me = box.attach();
  box.gate.set_draining(true, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::draining);
  EXPECT_EQ(box.gate.offer(me, exempt_request(), box.now).kind, admit);
}

TEST(Exempt, SaysNothingAboutTheServiceTime) {
  GateBox box(with_exempt(16));
  const Participant me = box.attach();
  for (int i = 0; i < 30; ++i) {
    Offer probe = box.gate.offer(me, exempt_request(), box.now);
    box.pass(Duration::millis(1));
    box.gate.release(me, probe.permit, Outcome::success, box.now);
  }
  box.pass(Duration::millis(200));
  box.gate.tick(box.now);
  EXPECT_EQ(box.gate.snapshot().service_mean, Duration{});
}

TEST(Exempt, BeyondItsBoundIsAdmittedByAGateThatIsOffOrOnlyObserves) {
  GateBox box(with_exempt(0));
  const Participant me = box.attach();
  box.gate.set_mode(Mode::off, box.now);
  EXPECT_EQ(box.gate.offer(me, exempt_request(), box.now).kind, admit);
  box.gate.set_mode(Mode::observe, box.now);
  const Offer observed = box.gate.offer(me, exempt_request(), box.now);
  EXPECT_EQ(observed.kind, admit);
  EXPECT_EQ(observed.reason, Reason::limit);
  box.gate.set_mode(Mode::on, box.now);
  EXPECT_EQ(box.gate.offer(me, exempt_request(), box.now).kind, reject);
  Request looked_at = exempt_request();
  looked_at.observe = true;
  EXPECT_EQ(box.gate.offer(me, looked_at, box.now).reason, Reason::limit);
  const Snapshot all = box.gate.snapshot();
  EXPECT_EQ(all.exempt_in_flight, 3U);
  EXPECT_EQ(all.classes[kCritical].observed[static_cast<int>(Reason::limit)], 2U);
}

}  // namespace
}  // namespace loadline::test
