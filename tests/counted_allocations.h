// Counts each call of the allocator that is linked into a program. To be included once in a
// program, which is linked with
// -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc. Not under a sanitizer, which
// has its own allocator.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t n, std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);

void* __wrap_malloc(std::size_t bytes) {
  ++allocations;
  return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t n, std::size_t bytes) {
  ++allocations;
  return __real_calloc(n, bytes);
}
void* __wrap_realloc(void* memory, std::size_t bytes) {
  ++allocations;
  return __real_realloc(memory, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __real_aligned_alloc(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
  ++allocations;
  void* const memory = __real_malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
