// Virtual time: what is to happen, in order. Two things at one instant happen in the order in which
// they were asked for, so a run is a function of its scenario and its seed.
#pragma once

#include <algorithm>
#include <cstddef>
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
  // By time, and of one instant in the order in which they were asked for. No two are equal, so the
  // order does not depend on how they are kept.
  static bool sooner(const Event& a, const Event& b) noexcept {
    return a.when != b.when ? a.when < b.when : a.sequence < b.sequence;
  }

  // A heap of which each has four below it: with tens of thousands of events on their way it is
  // half as deep as with two, and those that are compared lie side by side.
  static constexpr std::size_t kWidth = 4;

  void push(const Event& event) {
    std::size_t place = heap_.size();
    heap_.push_back(event);
    while (place != 0 && sooner(event, heap_[(place - 1) / kWidth])) {
      heap_[place] = heap_[(place - 1) / kWidth];
      place = (place - 1) / kWidth;
    }
    heap_[place] = event;
  }

  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sink(last);
    }
    return first;
  }

  // From the top, which is empty, to where nothing below is sooner.
  void sink(const Event& event) {
    std::size_t place = 0;
    for (std::size_t below = 1; below < heap_.size(); below = place * kWidth + 1) {
      const std::size_t end = std::min(below + kWidth, heap_.size());
      std::size_t next = below;
      for (std::size_t i = below + 1; i < end; ++i) {
        next = sooner(heap_[i], heap_[next]) ? i : next;
      }
      if (!sooner(heap_[next], event)) {
        break;
      }
      heap_[place] = heap_[next];
      place = next;
    }
    heap_[place] = event;
  }

  Instant now_{};
  std::uint64_t sequence_ = 0;
  std::vector<Event> heap_;
};

}  // namespace loadline::sim
