// A configuration file, as `loadline check` and `loadline run` read it: whatever it holds, the
// answer is a configuration or faults, each on one line and at a place of the file.
#include <algorithm>
#include <string>

#include "config_file.h"
#include "fuzz.h"
#include "nginx_conf.h"

namespace loadline::tools {
namespace {

void check_faults(const std::string& text, const std::vector<FileFault>& faults) {
  const auto lines =
      1 + std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r');
  for (const FileFault& fault : faults) {
    FUZZ_EXPECT(fault.place.line >= 1 && fault.place.line <= lines + 1);
    FUZZ_EXPECT(fault.place.column >= 1);
    // The YAML library counts bytes of UTF-8, of which it makes three from one that is none, and a
    // little past an end that it did not expect.
    FUZZ_EXPECT(static_cast<std::size_t>(fault.place.column) <= 3 * text.size() + 4);
    FUZZ_EXPECT(!fault.text.empty());
    FUZZ_EXPECT(std::none_of(fault.text.begin(), fault.text.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    }));
  }
  FUZZ_EXPECT(
      std::is_sorted(faults.begin(), faults.end(),
                     [](const FileFault& a, const FileFault& b) { return a.place < b.place; }));
  const std::string described = describe_faults("F", faults);
  FUZZ_EXPECT(static_cast<std::size_t>(std::count(described.begin(), described.end(), '\n')) ==
              faults.size());
}

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
