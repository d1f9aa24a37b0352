// The settings of the client half as people write them: `attempts`, `budget.share` and so on, by
// the names of docs/client.md, with units.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "loadline/client/policy.h"

namespace loadline::tools {

// Of all of them, in the order of client::Policy. A name with a dot is a key of a section; the
// sections `breaker` and `throttle` are also settings of their own: on or off.
std::span<const std::string_view> client_settings();

// Sets one of them. Empty, or else what is allowed: "a share from 0% to 100%".
std::string set_client_setting(client::Policy& policy, std::string_view name,
                               std::string_view value);

}  // namespace loadline::tools
