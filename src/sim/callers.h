// The client half in virtual time: every client::Caller of a run and what calls they have under
// way. The simulator decides nothing of its own about them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "loadline/client/caller.h"
#include "sim/attempt.h"
#include "sim/client_half.h"
#include "sim/journal.h"
#include "sim/scenario.h"

namespace loadline::sim {

// What the one who asked hears of the end of an attempt.
struct Heard {
  Fate fate = Fate::answered;
  Reason reason = Reason::none;   // with `refused`
  std::uint16_t retry_after = 0;  // seconds, with `refused`; 0: nothing said
};

class Callers {
 public:
  Callers(const Scenario& scenario, std::uint64_t seed) : scenario_(scenario), seed_(seed) {}

  // A new call of a population's, or of `parent`'s by one of its service's links: what its attempts
  // are to keep as `call`. Attempt::kNothing: those callers do without the client half.
  [[nodiscard]] std::uint32_t open(const Attempt& first, Instant now);
  [[nodiscard]] std::uint32_t open(const Attempt& parent, std::size_t link, Instant now);

  // May it go? If so it is told what time it has, and the answer is when to give it up. If not, its
  // call is over.
  [[nodiscard]] std::optional<Instant> send(Attempt& attempt, Instant now);

  // What follows from the end of one that was sent; the call is over unless it is to be retried.
  // `another`: there is an instance beside the one it was sent to.
  client::Next ended(const Attempt& attempt, const Heard& heard, bool another, Instant now);

  // Nobody needs the call any more, which waits or has one under way.
  void leave(const Attempt& attempt, Instant now);

 private:
  struct Place {
    client::Caller* caller = nullptr;
    client::Call call{};
    client::Attempt attempt{};
  };

  [[nodiscard]] std::uint32_t open(const ClientHalf& half, Duration patience, std::uint64_t whose,
                                   Instant deadline, Instant now);
  client::Caller& caller(const ClientHalf& half, Duration patience, std::uint64_t whose,
                         Instant now);

  const Scenario& scenario_;
  std::uint64_t seed_;
  std::unordered_map<std::uint64_t, std::unique_ptr<client::Caller>> callers_;  // by whose they are
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
};

}  // namespace loadline::sim
