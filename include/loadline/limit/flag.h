// Yes or no, in memory that others may write to.
#pragma once

#include <cstdint>

namespace loadline {

// Any byte is one or the other. Of a `bool` that is neither 0 nor 1 anything may come, and a law
// lies in a block that may hold anything.
class Flag {
 public:
  constexpr Flag(bool on = false) noexcept : byte_(on ? 1 : 0) {}
  constexpr operator bool() const noexcept { return byte_ != 0; }

 private:
  std::uint8_t byte_;
};

}  // namespace loadline
