// Textbook disciplines in front of the workers, to check the simulator by. None is the gate's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

#include "sim/door.h"

namespace loadline::sim::test {

struct Discipline {
  enum class Order : std::uint8_t { oldest_first, newest_first };

  Order order = Order::oldest_first;
  std::size_t places = std::numeric_limits<std::size_t>::max();
  // Those with less than this left are dropped when their turn comes; below zero: nobody is.
  Duration least_left{-1};
};

class ReferenceDoor final : public Door {
 public:
  ReferenceDoor(Discipline discipline, std::uint32_t workers, Site& site)
      : discipline_(discipline), idle_(workers), site_(site) {}

  void arrive(AttemptId id) override {
    if (line_.size() >= discipline_.places && idle_ == 0) {
      site_.refuse(id, Reason::queue_full, 0);
      return;
    }
    line_.push_back(id);
    begin();
  }

  void leave(AttemptId) override {}

  void finished(AttemptId id) override {
    site_.answer(id);
    ++idle_;
    begin();
  }

 private:
  void begin() {
    while (idle_ != 0 && !line_.empty()) {
      const AttemptId id = take();
      const Duration left = site_.attempt(id).deadline - site_.loop().now();
      if (discipline_.least_left >= Duration{} && left < discipline_.least_left) {
        site_.refuse(id, Reason::queue_timeout, 0);
        continue;
      }
      --idle_;
      site_.start(id);
    }
  }

  AttemptId take() {
    const bool oldest = discipline_.order == Discipline::Order::oldest_first;
    const AttemptId id = oldest ? line_.front() : line_.back();
    oldest ? line_.pop_front() : line_.pop_back();
    return id;
  }

  Discipline discipline_;
  std::uint32_t idle_;
  Site& site_;
  std::deque<AttemptId> line_;
};

}  // namespace loadline::sim::test
