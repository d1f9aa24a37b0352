// What must hold after a process has died or stopped, and has been found.
#pragma once

#include <string>

#include "stage.h"

namespace loadline::crash {

// "killed", "stopped", or "exit 0", from what waitpid says.
std::string how_it_ended(int status);

// The block is in order; the survivor is told of each of his tickets once; nobody is missing from
// the sums but one a death in the middle of something; and the gate is as good as new.
void expect_whole(Stage& s, std::uint64_t deaths);

// Everyone who is still there goes.
void leave(Stage& s);

}  // namespace loadline::crash
