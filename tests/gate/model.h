// What a gate should do, written down as plainly as it can be said: after the design and the public
// headers, and not after the gate. Everything is searched where the gate keeps an index, and worked
// out anew where the gate keeps a sum, so that the two have no shortcut in common. One thread, and
// nothing ever fails.
//
// The model does not measure: the mean service time is told to it, as the gate publishes it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "loadline/decision.h"
#include "loadline/gate.h"
#include "loadline/policy.h"

namespace loadline::test {

// A request, by the order of its arrival.
using RequestId = std::uint64_t;

class Model {
 public:
  struct Answer {
    Offer::Kind kind = Offer::Kind::reject;
    Reason reason = Reason::none;
    std::uint32_t cost = 0;         // with admit
    Instant start_by{};             // with wait
    std::uint16_t retry_after = 0;  // with Reason::quota, where it is exact
  };

  // One who waits, or who has been decided about and not collected yet.
  struct Entry {
    RequestId id = 0;
    std::uint32_t who = 0;
    Request request{};
    std::uint32_t cost = 1;
    bool heavy = false;
    Instant arrival{};
    Instant start_by{};
    Reason late_reason = Reason::none;
    std::uint64_t tag = 0;      // with tenants: 1/65536 of a round
    std::uint32_t charged = 0;  // the same, to its tenant's account
    // Once decided:
    Settled::Kind kind = Settled::Kind::waiting;
    Reason reason = Reason::none;
    Instant decided{};
    std::uint64_t batch = 0;  // entries of one batch were decided in an order that nobody promises
  };

  Model(const Policy& policy, std::uint32_t participants, Capacity capacity, Instant now);

  // `foretold`: what the gate says that it would have turned it away for, if it only observes. That
  // is for other tests to judge (tests/sim/observing_test.cpp).
  Answer offer(RequestId id, std::uint32_t who, const Request& request, Instant now,
               Reason foretold = Reason::none);
  void release(RequestId id, Outcome ended, Instant now);
  void cancel(RequestId id, Instant now);
  // `kind` is waiting or unknown if there is nothing to take.
  Entry settle(RequestId id, Instant now);
  // All that `who` has to collect, in order.
  std::vector<Entry> collect(std::uint32_t who, Instant now);
  // `mean` as the gate publishes it afterwards.
  void tick(Instant now, Duration mean);
  bool set_limit(std::uint32_t limit, Instant now);
  bool reconfigure(const Policy& policy, Instant now);
  void set_mode(Mode mode, Instant now);
  void set_draining(bool draining, Instant now);

  [[nodiscard]] std::uint32_t in_flight() const;
  [[nodiscard]] std::uint32_t heavy_in_flight() const;
  [[nodiscard]] std::uint32_t exempt_in_flight() const;
  [[nodiscard]] std::uint32_t waiting() const;
  [[nodiscard]] std::uint32_t waiting(std::uint32_t importance) const;
  [[nodiscard]] std::uint32_t threshold(std::uint32_t importance) const;
  [[nodiscard]] std::uint32_t heavy_limit() const;
  [[nodiscard]] std::uint32_t queue_limit() const { return queue_limit_; }
  [[nodiscard]] bool newest_first(std::uint32_t importance) const {
    return newest_first_[importance];
  }
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] Duration last_mean() const { return mean_; }
  [[nodiscard]] std::uint64_t taken_back() const { return taken_back_; }
  // Participants to whom the last operation gave something to collect.
  [[nodiscard]] std::uint64_t to_signal() const { return to_signal_; }

 private:
  static constexpr std::uint64_t kRound = 65536;

  // What has been admitted and not given back.
  struct Held {
    std::uint32_t who = 0;
    Request request{};
    std::uint32_t cost = 0;
    bool heavy = false;
    Instant started{};
    std::uint32_t charged = 0;
  };
  struct Verdict {
    Offer::Kind kind = Offer::Kind::admit;
    Reason reason = Reason::none;
    Reason late_reason = Reason::none;
    Instant start_by{};
    bool for_queue = false;  // refused because of those who wait
  };
  // A tenant's, in one class.
  struct Account {
    std::uint64_t finish = 0;  // round up to which its work has been charged
    std::uint64_t cost_ns = 0;
  };

  // Judging (model.cpp).
  [[nodiscard]] std::uint32_t charge(const Request& request) const;
  [[nodiscard]] Duration mean(Instant now) const;
  [[nodiscard]] Duration expected(const Request& request, Instant now) const;
  [[nodiscard]] Verdict judge(const Request& request, std::uint32_t cost, Instant now) const;
  [[nodiscard]] Verdict judge_wait(const Request& request, std::uint32_t ahead, Instant now) const;
  Verdict judge_at_queue(const Request& request, std::uint32_t cost, Instant now);
  [[nodiscard]] bool someone_first(std::uint32_t importance, bool heavy) const;
  [[nodiscard]] bool admits_all() const { return mode_ != Mode::on; }
  Answer offer_exempt(RequestId id, std::uint32_t who, const Request& request, Instant now);
  Answer offer_observed(RequestId id, std::uint32_t who, const Request& request, Instant now,
                        Reason foretold);
  Reason certain_to_be_foretold(const Request& request, Instant now);
  Answer admit(RequestId id, std::uint32_t who, const Request& request, std::uint32_t cost,
               Instant now);
  Answer turn_away(const Request& request, Reason reason);
  Answer admit_unjudged(RequestId id, std::uint32_t who, const Request& request, std::uint32_t cost,
                        Instant now);
  Reason why_no_place(const Request& request, bool heavy, Instant now);
  [[nodiscard]] bool somebody_may_give_way(const Request& request) const;
  [[nodiscard]] Reason full_for(const Request& request) const;
  void size_queue();
  [[nodiscard]] std::uint32_t tickets_in_use() const;

  // Quotas (model.cpp): microseconds until the key may ask again; 0: it may, and has.
  std::int64_t take_quota(const Request& request, Instant now);
  void return_quota(const Request& request);
  [[nodiscard]] std::int64_t quota_interval() const;

  // Order (model_queue.cpp).
  [[nodiscard]] bool earlier(const Entry& one, const Entry& other) const;
  [[nodiscard]] const Entry* next_of(std::uint32_t importance, bool heavy) const;
  [[nodiscard]] const Entry* last_of(std::uint32_t importance) const;
  [[nodiscard]] bool heavy_is_capped(std::uint32_t importance) const;
  [[nodiscard]] const Entry* candidate(std::uint32_t importance, bool owed) const;
  [[nodiscard]] std::uint32_t charge_now(const Entry& entry) const;
  [[nodiscard]] std::uint32_t places_kept(std::uint32_t importance) const;
  bool displace_for(const Request& request, Instant now);
  bool note_refusal(std::uint32_t importance, Instant now);  // true: the order turns by it
  void refuse(RequestId id, Reason reason, Instant now, std::uint64_t batch);
  void start(RequestId id, Instant now);
  bool decide(const Entry& entry, Instant now);
  void credit(std::uint32_t importance, std::uint32_t units);
  void dispatch(Instant now);
  void expire(Instant now);
  void join(Entry entry);
  Entry leave(RequestId id);
  void hand_over(Entry entry);
  void hold(const Entry& entry);

  // Tenants (model_queue.cpp).
  [[nodiscard]] bool tenants() const { return policy_.tenants != 0; }
  [[nodiscard]] std::uint64_t finish_of(const Request& request) const;
  [[nodiscard]] std::uint64_t turn_of(const Request& request) const;
  [[nodiscard]] std::uint32_t rounds_of(std::uint64_t service_ns) const;
  [[nodiscard]] std::uint64_t farthest(std::uint32_t importance) const;
  [[nodiscard]] bool may_displace_its_like(const Request& request) const;
  [[nodiscard]] bool beyond_horizon(const Request& request, bool heavy) const;
  [[nodiscard]] std::int64_t size_of_group(std::uint8_t group) const;
  void charge_tenant(const Request& request, std::uint64_t from, std::int64_t rounds);
  void take_turn(Entry& entry);
  void refund(const Entry& entry);
  void advance_round(const Entry& entry);
  void settle_account(const Held& held, Outcome ended, Instant now);

  Policy policy_;
  Capacity capacity_;
  Mode mode_ = Mode::on;
  bool draining_ = false;
  std::uint32_t queue_limit_ = 0;

  std::map<RequestId, Held> held_;
  std::vector<Entry> waiting_;              // in order of arrival
  std::vector<std::deque<Entry>> decided_;  // of each participant
  std::uint64_t batch_ = 0;
  std::uint64_t taken_back_ = 0;
  std::uint64_t to_signal_ = 0;

  std::array<bool, kMaxClasses> newest_first_{};
  std::array<Instant, kMaxClasses> occupied_since_{};
  std::array<std::int64_t, kMaxClasses> credits_{};

  Duration mean_{};
  Instant mean_until_{};
  Instant next_tick_{};
  Instant estimated_at_{};
  std::uint64_t services_ = 0;
  std::uint64_t services_seen_ = 0;

  std::map<std::uint64_t, std::int64_t> paid_up_to_us_;  // of each key of the quota

  std::array<std::map<std::uint64_t, Account>, kMaxClasses> accounts_;
  std::array<std::array<std::uint64_t, kMaxGroups>, kMaxClasses> group_finish_{};
  std::array<std::uint64_t, kMaxClasses> round_{};
  std::array<std::uint64_t, kMaxClasses> last_tag_{};
};

}  // namespace loadline::test
