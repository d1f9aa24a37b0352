// What a caller is told to do: a plain struct, checked once, before any call is made.
//
//   client::Policy policy;
//   policy.retry.attempts = 4;
//   if (const PolicyError error = validate(policy); error.refused()) {
//     ... error.field ("retry.attempts"), error.text (a sentence with the value and what is
//     allowed)
//   }
//
// Why each default is what it is: docs/client.md.
#pragma once

#include <cstdint>

#include "loadline/client/backoff.h"
#include "loadline/client/breaker.h"
#include "loadline/client/budget.h"
#include "loadline/client/deadline.h"
#include "loadline/client/throttle.h"
#include "loadline/policy.h"
#include "loadline/time.h"

namespace loadline::client {

struct RetryPolicy {
  std::uint8_t attempts = 3;  // in all, the first included; 1 (no retries) to 100
  // A refusal speaks for its instance: one retry elsewhere, where there is an elsewhere, at once.
  // It is paid from the budget like every other.
  bool elsewhere_at_once = true;
};

// A second attempt while the first still runs, for calls that are idempotent; whichever succeeds
// first counts (Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013). Off by default: it adds
// load when everything is slow. Each is paid from the budget.
struct HedgePolicy {
  Duration after{};  // since the first was sent; 0: off. Else 1 ms to 1 h: its 95th percentile, say
};

struct Policy {
  RetryPolicy retry{};
  BackoffPolicy backoff{};
  BudgetPolicy budget{};
  BreakerPolicy breaker{};
  ThrottlePolicy throttle{};
  DeadlinePolicy deadline{};
  HedgePolicy hedge{};
  // Of all that is drawn. Callers that begin together should not have the same.
  std::uint64_t seed = 0x6c6f61646c696e65;
};

// Checks every member. Pure. The field is named as it is written: "breaker.window".
PolicyError validate(const Policy& policy) noexcept;

}  // namespace loadline::client
