// What every subcommand of `loadline` shares: how it is added, and what its exit code means.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace loadline::tools {

// Exit codes of the command. A person's script tells "you asked for something wrong" (2) from "it
// was asked rightly and did not work" (1).
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// What the chosen subcommand does, once the whole command line has been read. Returns an exit code.
using Action = std::function<int()>;

// What is printed when the command line cannot be read: "loadline: ...", and how to get help.
std::string usage_fault(const CLI::App* app, const CLI::Error& error);

// Each adds one subcommand to `app`, with its options and help; when it is the one named on the
// command line, it stores its action in `chosen`.
void add_run(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_set(CLI::App& app, Action& chosen);
void add_serve(CLI::App& app, Action& chosen);
void add_load(CLI::App& app, Action& chosen);
void add_burst(CLI::App& app, Action& chosen);
void add_sim(CLI::App& app, Action& chosen);
void add_demo(CLI::App& app, Action& chosen);

}  // namespace loadline::tools
