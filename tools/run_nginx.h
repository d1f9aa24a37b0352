// Finding nginx and the module, and having nginx test a configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::tools {

// `given` if it is not empty, else where Debian puts nginx, else the first in $PATH. Throws
// std::runtime_error, in a line that says what to do, when it is not there.
std::string find_nginx(const std::string& given);

// `given` if it is not empty, else the first of the places below where there is one. Throws
// likewise.
std::string find_module(const std::string& given);

// Where a command at this path looks for the module: where the build leaves it, where `cmake
// --install` and the package of the same prefix put it, and where Debian's nginx has its modules.
std::vector<std::string> module_places(const std::string& command);

// Has nginx read `configuration`. Nothing if it is fine, else one line on what is wrong and what to
// do. `folder` is nginx's prefix.
std::optional<std::string> test_nginx(const std::string& nginx, const std::string& folder,
                                      const std::string& configuration, const std::string& module);

// The line for what `nginx -t` has said.
std::string explain_nginx(std::string_view said, std::string_view nginx, std::string_view module);

}  // namespace loadline::tools
