// Virtual time: what is to happen, in order. Two things at one instant happen in the order in which
// they were asked for, so a run is a function of its scenario and its seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "loadline/time.h"

namespace loadline::sim {

class EventLoop {
 public:
  [[nodiscard]] Instant now() const noexcept { return now_; }

  // Calls object.*Method(argument) at `when`, or now if that has passed. There is no cancelling:
  // who asks looks at `argument` when the time has come, and ignores what no longer concerns it.
  template <auto Method, class T>
  void at(Instant when, T& object, std::uint64_t argument = 0) {
    if (when == Instant::never()) {
      return;
    }
    push({std::max(when, now_), sequence_++,
          [](void* self, std::uint64_t a) { (static_cast<T*>(self)->*Method)(a); }, &object,
          argument});
  }

  // Runs until nothing is left before `end`, and calls `after` behind each event. If `end` never
  // comes, now() is then the time of the last one.
  template <class After>
  void run_until(Instant end, After after) {
    while (!heap_.empty() && heap_.front().when < end) {
      const Event event = pop();
      now_ = event.when;
      event.call(event.object, event.argument);
      after();
    }
    now_ = end == Instant::never() ? now_ : std::max(now_, end);
  }

 private:
  struct Event {
    Instant when;
    std::uint64_t sequence;
    void (*call)(void*, std::uint64_t);
    void* object;
    std::uint64_t argument;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const noexcept {
      return a.when > b.when || (a.when == b.when && a.sequence > b.sequence);
    }
  };
  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

  Instant now_{};
  std::uint64_t sequence_ = 0;
  std::vector<Event> heap_;
};

}  // namespace loadline::sim
