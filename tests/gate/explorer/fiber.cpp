#include "fiber.h"

#include <ucontext.h>

#include <cstring>

namespace loadline::explorer {
namespace {

jmp_buf resumer;
Fiber* running = nullptr;
Fiber::Body body_to_start = nullptr;
std::uint32_t argument_to_start = 0;

void enter() {
  body_to_start(argument_to_start);
}

// The frame of a callee lies below all that its caller may still need.
[[gnu::noinline]] std::byte* below_the_caller() {
  return static_cast<std::byte*>(__builtin_frame_address(0));
}

}  // namespace

void Fiber::start(Body body, std::uint32_t argument) {
  stack_ = std::make_unique<std::byte[]>(kStackBytes);
  body_to_start = body;
  argument_to_start = argument;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack_.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, &enter, 0);
  running = this;
  if (_setjmp(resumer) == 0) {
    setcontext(&context);
  }
}

// setjmp and longjmp rather than swapcontext: that one asks the kernel for the signal mask each
// time, and an exploration switches a hundred million times.
[[gnu::noinline]] void Fiber::resume() {
  running = this;
  if (_setjmp(resumer) == 0) {
    _longjmp(moment_.registers, 1);
  }
}

[[gnu::noinline]] void Fiber::pause() {
  running->moment_.low = below_the_caller();
  if (_setjmp(running->moment_.registers) == 0) {
    _longjmp(resumer, 1);
  }
}

void Fiber::save(std::vector<std::byte>& to) const {
  const auto* const moment = reinterpret_cast<const std::byte*>(&moment_);
  to.insert(to.end(), moment, moment + sizeof moment_);
  to.insert(to.end(), moment_.low, top());
}

std::size_t Fiber::restore(const std::byte* from) {
  std::memcpy(&moment_, from, sizeof moment_);
  const auto used = static_cast<std::size_t>(top() - moment_.low);
  std::memcpy(moment_.low, from + sizeof moment_, used);
  return sizeof moment_ + used;
}

}  // namespace loadline::explorer
