// Every operation of a gate, each in the situations that take it along different ways.
#pragma once

#include <span>
#include <string_view>

#include "stage.h"

namespace loadline::crash {

struct Operation {
  const char* name;
  void (*set_up)(Stage&);
  void (*perform)(Stage&);  // by the victim
  Policy (*policy)() = usual_policy;
};

std::span<const Operation> operations();
const Operation& operation_named(std::string_view name);

}  // namespace loadline::crash
