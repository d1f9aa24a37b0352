// What a gate says of an offer that is not made yet.
#include <gtest/gtest.h>

#include "gate_box.h"
#include "loadline/gate.h"

namespace loadline::test {
namespace {

// Asks first, then makes the offer: at the same moment both must say the same.
Reason preview_and_offer(GateBox& box, Participant me, const Request& request) {
  const Reason previewed = box.gate.preview(request, box.now);
  const Offer answer = box.gate.offer(me, request, box.now);
  EXPECT_EQ(previewed, answer.kind == Offer::Kind::reject ? answer.reason : Reason::none);
  return previewed;
}

TEST(Preview, SaysWhatAnOfferWouldBeTurnedAwayFor) {
  GateBox box(policy_of(1, QueueSize::at_most(1)));
  const Participant me = box.attach();
  EXPECT_EQ(preview_and_offer(box, me, of_class(kCritical)), Reason::none);  // let in
  Request impatient = of_class(kCritical);
  impatient.may_wait = false;
  EXPECT_EQ(preview_and_offer(box, me, impatient), Reason::limit);
  EXPECT_EQ(preview_and_offer(box, me, of_class(kCritical)), Reason::none);  // waits
  EXPECT_EQ(preview_and_offer(box, me, of_class(kCritical)), Reason::queue_full);
  Request late = of_class(kCritical);
  late.deadline = box.now;
  EXPECT_EQ(preview_and_offer(box, me, late), Reason::deadline_expired);
  box.gate.set_draining(true, box.now);
  EXPECT_EQ(preview_and_offer(box, me, of_class(kCriticalPlus)), Reason::draining);
}

TEST(Preview, HasNoEffect) {
  GateBox box(policy_of(1, QueueSize::none()));
  const Participant me = box.attach();
  const Offer held = box.gate.offer(me, of_class(kCritical), box.now);
  ASSERT_EQ(held.kind, Offer::Kind::admit);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(box.gate.preview(of_class(kCritical), box.now), Reason::limit);
  }
  const Snapshot seen = box.gate.snapshot();
  EXPECT_EQ(seen.classes[kCritical].admitted, 1U);
  EXPECT_EQ(seen.classes[kCritical].rejected[static_cast<std::size_t>(Reason::limit)], 0U);
  EXPECT_EQ(seen.in_flight, 1U);
}

TEST(Preview, TurnsNobodyAwayWhereTheGateWouldNot) {
  GateBox box(policy_of(1, QueueSize::none()));
  const Participant me = box.attach();
  const Offer held = box.gate.offer(me, of_class(kCritical), box.now);
  ASSERT_EQ(held.kind, Offer::Kind::admit);
  Request exempt = of_class(kCritical);
  exempt.exempt = true;
  EXPECT_EQ(box.gate.preview(exempt, box.now), Reason::none);
  Request observed = of_class(kCritical);
  observed.observe = true;
  EXPECT_EQ(box.gate.preview(observed, box.now), Reason::none);
  for (const Mode mode : {Mode::observe, Mode::off}) {
    box.gate.set_mode(mode, box.now);
    EXPECT_EQ(box.gate.preview(of_class(kCritical), box.now), Reason::none);
  }
}

}  // namespace
}  // namespace loadline::test
