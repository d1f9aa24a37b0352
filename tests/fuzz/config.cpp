// A configuration file, as `loadline check` and `loadline run` read it: whatever it holds, the
// answer is a configuration or faults, each on one line and at a place of the file.
#include <string>

#include "config_file.h"
#include "faults.h"
#include "fuzz.h"
#include "nginx_conf.h"

namespace loadline::tools {
namespace {

// Each brace outside of quotes closes one, and at the end all are closed.
void check_nginx_conf(const std::string& conf) {
  int depth = 0;
  char quote = '\0';
  bool comment = false;
  for (std::size_t i = 0; i < conf.size(); ++i) {
    const char c = conf[i];
    if (comment) {
      comment = c != '\n';
    } else if (c == '\\') {
      ++i;
    } else if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      comment = true;
    } else if (c == '{' || c == '}') {
      depth += c == '{' ? 1 : -1;
      FUZZ_EXPECT(depth >= 0);
    }
  }
  FUZZ_EXPECT(depth == 0 && quote == '\0');
}

void check(const std::string& text) {
  const ConfigFile file = read_config_text(text);
  check_faults(text, file.faults);
  const ConfigFile again = read_config_text(text);
  FUZZ_EXPECT(describe_faults("", file.faults) == describe_faults("", again.faults));
  if (!file.faults.empty()) {
    return;
  }
  const auto contradictions = place_contradictions(file);
  for (const FileFault& fault : contradictions) {
    FUZZ_EXPECT(fault.place.line >= 1 && fault.place.column >= 1 && !fault.text.empty());
  }
  if (contradictions.empty() && file.config.limit && file.config.upstream) {
    const NginxSetup setup{.run_name = "fuzz",
                           .folder = "/run/fuzz",
                           .scratch = "/run/fuzz",
                           .module = "/usr/lib/module.so"};
    check_nginx_conf(nginx_conf(file.config, setup));
  }
}

}  // namespace
}  // namespace loadline::tools

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  loadline::tools::check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
