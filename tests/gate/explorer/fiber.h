// One thread of an explored program: a stack that is left at every step and whose contents can be
// saved and put back, so that the same moment can be continued in another way.
//
// The stack never moves; only bytes are copied. What lives on it must bear that: no owner of heap
// memory that could be freed twice, no exceptions in flight.
#pragma once

#include <setjmp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace loadline::explorer {

class Fiber {
 public:
  using Body = void (*)(std::uint32_t);

  // Runs `body` up to its first pause. It must never return.
  void start(Body body, std::uint32_t argument);
  void resume();        // until its next pause
  static void pause();  // from within a fiber: back to who resumed it

  // Appends what makes up this moment of the fiber, and puts it back from there. `restore` returns
  // how many bytes it read.
  void save(std::vector<std::byte>& to) const;
  std::size_t restore(const std::byte* from);

 private:
  static constexpr std::size_t kStackBytes = std::size_t{64} * 1024;
  [[nodiscard]] std::byte* top() const { return stack_.get() + kStackBytes; }

  std::unique_ptr<std::byte[]> stack_;
  struct Moment {
    jmp_buf registers;
    std::byte* low;  // the lowest byte of the stack that is in use
  } moment_{};
};

}  // namespace loadline::explorer
