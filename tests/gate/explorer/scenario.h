// What a few people do at one gate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"
#include "loadline/policy.h"

namespace loadline::explorer {

// One thing that a person does. Who has come to hold a permit works with it and gives it back,
// unless the act says that it is kept.
struct Act {
  enum class Kind : std::uint8_t {
    request,      // offer; wait to be told if need be
    ask,          // offer; go on with the next act while waiting
    take,         // as request, and keep the permit
    turned_away,  // offer, and be rejected: anything else is a violation
    give,         // release the kept permit
    finish,       // the same with success, after `at_ms` of work
    cancel,       // the ticket, if it is still mine to cancel
    settle,       // the ticket
    await,        // wait to be told about the ticket
    poll,         // collect without having been told to
    set_limit,    // to `units`
    reconfigure,  // the limit to `units`, and the discipline
    observe,      // admit all from now on
    enforce,      // judge again from now on
    drain,        // take no more from now on
    tick,
    leave,  // detach
    sit,    // attach
  };
  Kind kind = Kind::request;
  std::uint8_t importance = 0;
  std::uint32_t units = 1;
  std::uint32_t at_ms = 0;  // of the scenario's time
  bool may_wait = true;
  bool exempt = false;
  std::uint8_t tenant = 0;  // 0: none
  std::uint8_t quota = 0;   // the key that it counts; 0: none
  Discipline discipline = Discipline::fifo;
};

using Script = std::vector<Act>;

inline constexpr std::uint32_t kNobody = 0xffffffff;

struct Scenario {
  std::string name;
  std::string says;  // what could go wrong here
  std::uint32_t limit = 1;
  std::uint32_t queue = 3;           // 0: automatic
  std::uint16_t low_share = 1000;    // per mille of the limit that class 1 may fill
  std::uint16_t low_guarantee = 0;   // per mille of the starts that class 1 gets at least
  std::uint16_t heavy_share = 1000;  // per mille of the limit that weights above 1 may hold
  Discipline discipline = Discipline::fifo;
  bool tenants = false;
  std::uint32_t quota = 0;    // requests that a key may make, all at once; 0: no quota
  std::uint32_t mean_ms = 0;  // service time that is known from the beginning; 0: none
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

// Their parts, one file each.
std::vector<Scenario> plain_scenarios();    // scenarios.cpp: a limit, classes, a queue
std::vector<Scenario> order_scenarios();    // order_scenarios.cpp: disciplines, guarantees, heavies
std::vector<Scenario> account_scenarios();  // account_scenarios.cpp: tenants, quotas, exempt, rules

// The gate that this program was built with, in a scenario.
std::unique_ptr<Subject> subject_of(const Scenario& scenario);

}  // namespace loadline::explorer
