#include "command.h"

#include <fmt/format.h>

#include <vector>

#include "config.h"

namespace loadline::tools {
namespace {

// CLI11 asks for a subcommand before it looks at the words that are none.
std::string missing_command(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  const auto words = app.remaining();
  const std::string fault =
      words.empty()
          ? "a command is needed"
          : fmt::format("unknown {} '{}'", words[0].starts_with('-') ? "option" : "command",
                        printable(words[0]));
  return fmt::format("{}; there are {}", fault, fmt::join(known, ", "));
}

}  // namespace

std::string usage_fault(const CLI::App* app, const CLI::Error& error) {
  const bool chosen = !app->get_subcommands().empty();
  return fmt::format("loadline: {}\nRun with --help for more information.\n",
                     chosen ? error.what() : missing_command(*app));
}

}  // namespace loadline::tools
