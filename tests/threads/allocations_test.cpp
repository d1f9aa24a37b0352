// Asking allocates nothing, whether it is admitted, turned away or waits.
#include <cstdlib>
#include <new>

#include "door_box.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  if (counting.load()) {
    allocations.fetch_add(1);
  }
  void* const memory =
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
}  // namespace

// For this whole program; those for arrays call these.
void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace loadline::threads::test {
namespace {

template <class Work>
int allocations_in(Work work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  return allocations;
}

TEST(Allocations, TheCounterCounts) {
  EXPECT_EQ(allocations_in([] { delete new int; }), 1);
}

TEST(Allocations, NoneInTryAcquire) {
  DoorBox box(policy_of(1), {.lease = Duration::seconds(10)});
  const std::stop_source caller;
  EXPECT_EQ(allocations_in([&] {
              Answer first = box.door.try_acquire(box.door.request(), caller.get_token(),
                                                  "a name that is longer than any short string");
              Answer second = box.door.try_acquire(box.door.request());
              first.permit.succeed();
            }),
            0);
}

// The waiting thread, the one that gives back and the background thread together.
TEST(Allocations, NoneInAcquireThatWaits) {
  DoorBox box(policy_of(1, QueueSize::at_most(1), kLongBudget), {.lease = Duration::seconds(10)});
  Answer holder = box.door.try_acquire(box.door.request());
  const std::stop_source caller;
  std::atomic<bool> go{false};
  std::atomic<int> admitted{0};
  std::thread waits([&] {
    while (!go.load()) {
      std::this_thread::yield();
    }
    Answer answer = box.door.acquire(box.door.request(), caller.get_token(), "name");
    admitted.store(answer ? 1 : -1);
  });
  EXPECT_EQ(allocations_in([&] {
              go.store(true);
              EXPECT_TRUE(box.waiting_becomes(1));
              holder.permit.succeed();
              EXPECT_TRUE(within_ten_seconds([&] { return admitted.load() != 0; }));
            }),
            0);
  waits.join();
  EXPECT_EQ(admitted.load(), 1);
}

}  // namespace
}  // namespace loadline::threads::test
