// What a few people do at one gate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"

namespace loadline::explorer {

// One thing that a person does. Who has come to hold a permit works with it and gives it back,
// unless the act says that it is kept.
struct Act {
  enum class Kind : std::uint8_t {
    request,    // offer; wait to be told if need be
    ask,        // offer; go on with the next act while waiting
    take,       // as request, and keep the permit
    give,       // release the kept permit
    cancel,     // the ticket, if it is still mine to cancel
    settle,     // the ticket
    await,      // wait to be told about the ticket
    poll,       // collect without having been told to
    set_limit,  // to `units`
    observe,    // admit all from now on
    tick,
    leave,  // detach
    sit,    // attach
  };
  Kind kind = Kind::request;
  std::uint8_t importance = 0;
  std::uint32_t units = 1;
  std::uint32_t at_ms = 0;  // of the scenario's time
};

using Script = std::vector<Act>;

inline constexpr std::uint32_t kNobody = 0xffffffff;

struct Scenario {
  std::string name;
  std::string says;  // what could go wrong here
  std::uint32_t limit = 1;
  std::uint32_t queue = 3;
  std::uint16_t low_share = 1000;  // per mille of the limit that class 1 may fill
  // One thread each. The acts of `before` are done person after person before the search begins;
  // who takes there must be admitted, and who asks must come to wait.
  std::vector<Script> scripts = {};
  std::vector<Script> before = {};
  std::uint32_t timeouts = 0;      // so many locks may fail, whichever
  std::uint32_t victim = kNobody;  // may be killed before any of its steps
  std::uint32_t dead = kNobody;    // has been killed before the search begins
  bool in_short_form = true;
  bool every_step = false;  // even those that no other thread could tell: to check the reduction
};

const std::vector<Scenario>& scenarios();

// The gate that this program was built with, in a scenario.
std::unique_ptr<Subject> subject_of(const Scenario& scenario);

}  // namespace loadline::explorer
