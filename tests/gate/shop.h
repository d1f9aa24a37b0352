// A server behind a gate, in virtual time: who comes, who is served, who is sent away. For
// properties of many requests together; the simulator proper is in src/sim.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <queue>
#include <random>
#include <vector>

#include "gate_box.h"

namespace loadline::test {

class Shop {
 public:
  // All that there is to know about the visitors of one kind.
  struct Visitors {
    double per_second = 0;    // Poisson
    Duration service{};       // each takes as long
    Request request{};        // as they ask; deadline and tenant are filled in by the next two
    std::uint32_t names = 0;  // tenants that they are spread over at random; 0: as in `request`
  };
  struct Outcome {
    std::uint64_t came = 0;
    std::uint64_t served = 0;
    std::uint64_t sent_away = 0;
    std::array<std::uint64_t, kReasons> reasons{};

    [[nodiscard]] double share_served() const {
      return came == 0 ? 1.0 : static_cast<double>(served) / static_cast<double>(came);
    }
  };

  explicit Shop(const Policy& policy, std::uint64_t seed = 1)
      : box_(policy, 1, 4096), me_(box_.attach()), random_(seed) {}

  // Returns their number, by which outcome() knows them.
  std::size_t expect(const Visitors& visitors) {
    visitors_.push_back(visitors);
    outcomes_.emplace_back();
    at(gap(visitors), Event::Kind::arrival, visitors_.size() - 1);
    return visitors_.size() - 1;
  }

  void run(Duration time) {
    const Instant end = box_.now + time;
    if (!ticking_) {
      at(Duration::millis(10), Event::Kind::tick, 0);
      ticking_ = true;
    }
    while (!events_.empty() && events_.top().when <= end) {
      const Event event = events_.top();
      events_.pop();
      box_.now = event.when;
      happen(event);
    }
    box_.now = end;
  }

  // What came from now on is counted from now on.
  void forget_outcomes() { std::fill(outcomes_.begin(), outcomes_.end(), Outcome{}); }
  [[nodiscard]] const Outcome& outcome(std::size_t visitors) const { return outcomes_[visitors]; }
  GateBox& box() { return box_; }

 private:
  struct Event {
    enum class Kind : std::uint8_t { arrival, completion, tick };
    Instant when;
    std::uint64_t order;
    Kind kind;
    std::size_t which;
    friend bool operator<(const Event& a, const Event& b) {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };

  void at(Duration from_now, Event::Kind kind, std::size_t which) {
    events_.push({box_.now + from_now, next_order_++, kind, which});
  }

  Duration gap(const Visitors& visitors) {
    std::exponential_distribution<double> draw(visitors.per_second);
    return Duration{static_cast<std::int64_t>(draw(random_) * 1e9)};
  }

  void happen(const Event& event) {
    switch (event.kind) {
      case Event::Kind::arrival:
        arrive(event.which);
        break;
      case Event::Kind::completion: {
        auto it = running_.find(event.which);
        box_.gate.release(me_, it->second.permit, loadline::Outcome::success, box_.now);
        ++outcomes_[it->second.visitors].served;
        running_.erase(it);
        break;
      }
      case Event::Kind::tick:
        box_.gate.tick(box_.now);
        at(Duration::millis(10), Event::Kind::tick, 0);
        break;
    }
    collect();
  }

  void arrive(std::size_t which) {
    const Visitors& visitors = visitors_[which];
    at(gap(visitors), Event::Kind::arrival, which);
    ++outcomes_[which].came;
    Request request = visitors.request;
    if (visitors.names != 0) {
      request.tenant = hash_key("name " + std::to_string(which) + "/" +
                                std::to_string(random_() % visitors.names));
    }
    Offer answer = box_.gate.offer(me_, request, box_.now);
    switch (answer.kind) {
      case Offer::Kind::admit:
        start(which, std::move(answer.permit));
        break;
      case Offer::Kind::wait:
        waiting_[answer.ticket.index] = which;
        break;
      case Offer::Kind::reject:
        send_away(which, answer.reason);
        break;
    }
  }

  void collect() {
    for (Settled& settled : box_.collect(me_)) {
      const std::size_t which = waiting_.at(settled.ticket.index);
      if (settled.kind == Settled::Kind::admit) {
        start(which, std::move(settled.permit));
      } else {
        send_away(which, settled.reason);
      }
    }
  }

  void start(std::size_t which, Permit permit) {
    const std::size_t id = next_order_;
    at(visitors_[which].service, Event::Kind::completion, id);
    running_.emplace(id, Running{which, std::move(permit)});
  }

  void send_away(std::size_t which, Reason reason) {
    ++outcomes_[which].sent_away;
    ++outcomes_[which].reasons[static_cast<std::size_t>(reason)];
  }

  struct Running {
    std::size_t visitors;
    Permit permit;
  };

  GateBox box_;
  Participant me_;
  std::mt19937_64 random_;
  std::priority_queue<Event> events_;
  std::uint64_t next_order_ = 0;
  bool ticking_ = false;
  std::vector<Visitors> visitors_;
  std::vector<Outcome> outcomes_;
  std::map<std::size_t, Running> running_;
  std::map<std::uint32_t, std::size_t> waiting_;
};

}  // namespace loadline::test
