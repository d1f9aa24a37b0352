#include "acts.h"
namespace loadline::explorer {
std::vector<Scenario> account_scenarios() {
  return {};
}
}  // namespace loadline::explorer
