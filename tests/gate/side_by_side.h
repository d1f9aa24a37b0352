// A gate and its model, taken through the same operations, and compared after each. What was asked
// and answered is counted here as well, outside of both.
#pragma once

#include <map>
#include <sstream>
#include <vector>

#include "gate_box.h"
#include "model.h"
#include "steps.h"

namespace loadline::test {

class SideBySide {
 public:
  explicit SideBySide(const Draft& draft);

  void take(const Step& step);
  // All is released and waited for: then nothing may be left.
  void finish();

 private:
  struct HeldPermit {
    std::uint32_t who;
    Permit permit;
  };
  struct KnownTicket {
    std::uint32_t who;
    Ticket ticket;
    std::uint8_t importance;
  };
  struct Counts {
    std::uint64_t offered = 0;
    std::uint64_t admitted = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t undecided = 0;  // tickets, decided or not
    std::array<std::uint64_t, kReasons> rejected{};
    std::array<std::uint64_t, kReasons> observed{};
  };

  void offer(const Step& step);
  void release(const Step& step);
  void release_again();
  void cancel(const Step& step);
  void settle(const Step& step);
  void settle_stale(const Step& step);
  void collect(std::uint32_t who);
  void tick();
  void reconfigure(const Draft& draft);

  void compare_offers(const Offer& gate, const Model::Answer& model);
  // The same one, and the same end of it.
  void compare_decision(Settled& gate, const Model::Entry& model);
  void compare_batch(std::vector<Settled>& gate, std::vector<Model::Entry>& model);
  void compare_states();
  void compare_counts(const Snapshot& all);
  void signalled(Signals signals);
  RequestId id_of(const Settled& settled);

  template <class A, class B>
  void same(const char* what, const A& gate, const B& model) {
    if (gate != model) {
      std::ostringstream text;
      text << what << ": gate " << +gate << ", model " << +model;
      differ(text.str());
    }
  }
  [[noreturn]] void differ(const std::string& what);

  GateBox box_;
  Model model_;
  std::vector<Participant> who_;
  std::map<RequestId, HeldPermit> held_;
  std::map<RequestId, KnownTicket> tickets_;
  std::vector<RequestId> at_index_;  // of each ticket, who has it
  Permit last_released_;
  std::uint32_t last_released_by_ = 0;
  KnownTicket stale_{0, {}, 0};
  std::array<Counts, kMaxClasses> counts_{};
  std::uint64_t released_twice_ = 0;
  RequestId next_id_ = 1;
  std::uint64_t taken_ = 0;
  Step last_step_;
};

}  // namespace loadline::test
