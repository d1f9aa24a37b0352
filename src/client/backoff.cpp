#include "loadline/client/backoff.h"

#include <algorithm>

#include "loadline/client/random.h"

namespace loadline::client {
namespace {

// An even draw from 0 to `most`.
Duration draw_up_to(Duration most, std::uint64_t random) noexcept {
  return {static_cast<std::int64_t>(scaled_down(random, static_cast<std::uint64_t>(most.ns) + 1))};
}

Duration own_wait(const BackoffPolicy& policy, Duration envelope, bool turned_away,
                  std::uint64_t random) noexcept {
  const Duration half{envelope.ns / 2};
  const Duration drawn =
      turned_away ? envelope - half + draw_up_to(half, random) : draw_up_to(envelope, random);
  return std::max(drawn, policy.floor);
}

Duration told_wait(const BackoffPolicy& policy, Duration told, std::uint64_t random) noexcept {
  const Duration least = std::clamp(told, Duration{}, policy.longest_told);
  return least + draw_up_to({least.ns / 1000 * policy.told_jitter}, random);
}

}  // namespace

Duration envelope(const BackoffPolicy& policy, std::uint32_t retry) noexcept {
  const std::uint32_t doublings = retry == 0 ? 0 : retry - 1;
  constexpr std::uint32_t kBits = 63;
  if (doublings >= kBits || policy.base.ns > policy.cap.ns >> doublings) {
    return policy.cap;
  }
  return {policy.base.ns << doublings};
}

Duration backoff(const BackoffPolicy& policy, std::uint32_t retry, Told told, bool turned_away,
                 std::uint64_t random) noexcept {
  const Duration own = own_wait(policy, envelope(policy, retry), turned_away, random);
  if (told.kind != Told::Kind::wait) {
    return own;
  }
  return std::max(own, told_wait(policy, told.after, random));
}

}  // namespace loadline::client
