// How long to wait before a retry.
//
// Exponential with jitter (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015):
// the envelope doubles with each retry up to a cap, and the wait is drawn evenly below it ("full
// jitter"), or from its upper half where the other side has said that it has too much to do ("equal
// jitter"): there a short wait is an attack. Never below a floor, since a draw of nothing at all
// makes a retry that is as good as immediate.
//
// What the other side told is a lower bound and no more: some jitter, only ever positive, comes on
// top, because a server that tells everyone "10 s" would have them all back in the same instant.
//
// Pure functions; randomness is an argument. Durations saturate, so any number of retries is fine.
#pragma once

#include <cstdint>

#include "loadline/client/told.h"
#include "loadline/time.h"

namespace loadline::client {

struct BackoffPolicy {
  Duration base = Duration::millis(100);            // envelope of the first retry; 1 ms to 1 min
  Duration cap = Duration::seconds(10);             // of the envelope; base to 1 h
  Duration floor = Duration::millis(1);             // of every wait; 0 to base
  std::uint16_t told_jitter = 200;                  // per mille of what was told, 0 to 1000
  Duration longest_told = Duration::seconds(3600);  // more is taken for this; 1 s to 1 day
};

// min(cap, base * 2^(retry - 1)); retry 0 is taken for 1, the first. Never decreases with `retry`.
Duration envelope(const BackoffPolicy& policy, std::uint32_t retry) noexcept;

// The wait before this retry (1 is the first). `turned_away`: the other side said that it has too
// much to do (refused, quota). `random`: 64 even bits. Told::never counts as nothing told.
// At least floor; at least what was told, up to longest_told, and then at most
// told * (1 + told_jitter/1000) or the envelope, whichever is larger.
Duration backoff(const BackoffPolicy& policy, std::uint32_t retry, Told told, bool turned_away,
                 std::uint64_t random) noexcept;

}  // namespace loadline::client
