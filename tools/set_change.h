// What `loadline set` is asked to change, and what it says of the state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run_folder.h"

namespace loadline::tools {

// The request target that makes the changes ("/set?limit=20&mode=on"), or, second, a sentence about
// the first word that asks for nothing known. `changes` must not be empty.
struct SetRequest {
  std::string target;
  std::string fault;  // empty: the target holds
};

SetRequest set_request(const std::vector<std::string>& changes);

// The module's status JSON as a line: "mode on, limit 64, 3 in flight, 0 waiting, 1200
// admitted, 34 rejected (queue_full 30, queue_timeout 4)". Throws std::runtime_error if it is not
// such JSON.
std::string describe_state(std::string_view json);

// The last steps of the law that finds its limit, a line each: "  0.8 s ago: The limit ...". Empty
// where there is none.
std::string describe_limit_steps(std::string_view json);

// Why no one is at the control socket of the run so named, as its folder shows it; `fault` is what
// connecting came to.
std::string why_nobody_answers(std::string_view name, std::string_view folder, const RunSeen& seen,
                               std::string_view fault);

}  // namespace loadline::tools
