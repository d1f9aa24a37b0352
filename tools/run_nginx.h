// Finding nginx and the module, and having nginx test a configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace loadline::tools {

// `given` if it is not empty, else where Debian puts nginx, else the first in $PATH. Throws
// std::runtime_error, in a line that says what to do, when it is not there.
std::string find_nginx(const std::string& given);

// `given` if it is not empty, else ../modules beside this command, else /usr/lib/nginx/modules.
// Throws likewise.
std::string find_module(const std::string& given);

// Has nginx read `configuration`. Nothing if it is fine, else one line on what is wrong and what to
// do. `folder` is nginx's prefix.
std::optional<std::string> test_nginx(const std::string& nginx, const std::string& folder,
                                      const std::string& configuration, const std::string& module);

// The line for what `nginx -t` has said.
std::string explain_nginx(std::string_view said, std::string_view nginx, std::string_view module);

}  // namespace loadline::tools
