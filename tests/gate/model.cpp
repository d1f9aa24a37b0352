// The model's judgement of an offer, its quotas and its rules. The queue is in model_queue.cpp.
#include "model.h"

#include <algorithm>

namespace loadline::test {

Model::Model(const Policy& policy, std::uint32_t participants, Capacity capacity, Instant now)
    : policy_(policy), capacity_(capacity), decided_(participants), estimated_at_(now) {
  newest_first_.fill(policy.discipline == Discipline::lifo);
  // Rounds begin far from 0, so that a debt can be paid back before there is any.
  round_.fill(std::uint64_t{1} << 40);
  size_queue();
}

// ---- What is in use ----------------------------------------------------------------------------

std::uint32_t Model::in_flight() const {
  std::uint32_t units = 0;
  for (const auto& [id, held] : held_) {
    units += held.request.exempt ? 0 : held.cost;
  }
  for (const auto& line : decided_) {
    for (const Entry& entry : line) {
      units += entry.kind == Settled::Kind::admit ? entry.cost : 0;
    }
  }
  return units;
}

std::uint32_t Model::heavy_in_flight() const {
  std::uint32_t units = 0;
  for (const auto& [id, held] : held_) {
    units += held.heavy ? held.cost : 0;
  }
  for (const auto& line : decided_) {
    for (const Entry& entry : line) {
      units += entry.kind == Settled::Kind::admit && entry.heavy ? entry.cost : 0;
    }
  }
  return units;
}

std::uint32_t Model::exempt_in_flight() const {
  return static_cast<std::uint32_t>(std::count_if(
      held_.begin(), held_.end(), [](const auto& pair) { return pair.second.request.exempt; }));
}

std::uint32_t Model::waiting() const {
  return static_cast<std::uint32_t>(waiting_.size());
}

std::uint32_t Model::waiting(std::uint32_t importance) const {
  return static_cast<std::uint32_t>(
      std::count_if(waiting_.begin(), waiting_.end(),
                    [&](const Entry& entry) { return entry.request.importance == importance; }));
}

std::uint32_t Model::tickets_in_use() const {
  std::size_t used = waiting_.size();
  for (const auto& line : decided_) {
    used += line.size();
  }
  return static_cast<std::uint32_t>(used);
}

// ---- Bounds
// --------------------------------------------------------------------------------------

// A share of the limit, rounded up; never more than a more important class has.
std::uint32_t Model::threshold(std::uint32_t importance) const {
  std::uint64_t share = 1000;
  for (std::uint32_t c = 0; c <= importance; ++c) {
    const std::uint64_t asked = policy_.classes[c].share;
    share = asked == 0 ? share : std::min(share, asked);
  }
  return static_cast<std::uint32_t>((policy_.limit * share + 999) / 1000);
}

std::uint32_t Model::heavy_limit() const {
  return std::max(1U, policy_.limit * policy_.heavy_share / 1000);
}

std::uint32_t Model::charge(const Request& request) const {
  return std::max(1U, std::min({request.cost, threshold(request.importance), heavy_limit()}));
}

// `automatic`: as many as start within the wait budget, ten to a slot before anything is known.
void Model::size_queue() {
  std::uint64_t places = 0;
  switch (policy_.queue.kind) {
    case QueueSize::Kind::off:
      break;
    case QueueSize::Kind::fixed:
      places = policy_.queue.entries;
      break;
    case QueueSize::Kind::automatic: {
      const auto budget = static_cast<std::uint64_t>(policy_.wait_budget.ns);
      const auto mean = static_cast<std::uint64_t>(mean_.ns);
      places = mean == 0 ? policy_.limit * 10 : (budget * policy_.limit + mean - 1) / mean;
      places = std::max<std::uint64_t>(places, 1);
      break;
    }
  }
  queue_limit_ = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(places, capacity_.tickets - Capacity::kSpareTickets));
}

// ---- Judging
// -------------------------------------------------------------------------------------

// Not known before the first window that ends with twenty completions, nor for long after the last.
Duration Model::mean(Instant now) const {
  return now > mean_until_ ? Duration{} : mean_;
}

// A tenant whose requests are smaller than most is not judged by the others.
Duration Model::expected(const Request& request, Instant now) const {
  const Duration of_all = mean(now);
  const auto of_class = accounts_[request.importance].find(request.tenant);
  if (!tenants() || of_all.ns == 0 || of_class == accounts_[request.importance].end() ||
      of_class->second.cost_ns == 0) {
    return of_all;
  }
  return std::min(of_all, Duration{static_cast<std::int64_t>(of_class->second.cost_ns)});
}

// A class is not passed by its own kind or by lesser ones, but for heavy requests that wait for
// their share of the limit: those let light ones pass, and no heavy ones.
bool Model::someone_first(std::uint32_t importance, bool heavy) const {
  for (std::uint32_t c = 0; c <= importance; ++c) {
    if (candidate(c, false) != nullptr || (heavy && next_of(c, true) != nullptr)) {
      return true;
    }
  }
  return false;
}

Model::Verdict Model::judge(const Request& request, std::uint32_t cost, Instant now) const {
  const auto no = [](Reason reason, bool for_queue = false) {
    return Verdict{.kind = Offer::Kind::reject, .reason = reason, .for_queue = for_queue};
  };
  if (draining_) {
    return no(Reason::draining);
  }
  if (request.deadline <= now) {
    return no(Reason::deadline_expired);
  }
  if (request.deadline != Instant::never() && request.deadline - now < expected(request, now)) {
    return no(Reason::deadline_unmeetable);
  }
  const bool heavy = cost > 1;
  const bool room = in_flight() + cost <= threshold(request.importance) &&
                    (!heavy || heavy_in_flight() + cost <= heavy_limit());
  if (room && !someone_first(request.importance, heavy)) {
    return {};
  }
  if (!request.may_wait || queue_limit_ == 0) {
    return no(Reason::limit);
  }
  std::uint32_t ahead = newest_first(request.importance) ? 0 : waiting(request.importance);
  for (std::uint32_t c = 0; c < request.importance; ++c) {
    ahead += waiting(c);
  }
  const Verdict wait = judge_wait(request, ahead, now);
  const bool full = waiting() >= queue_limit_;
  if (wait.kind == Offer::Kind::reject || !full || somebody_may_give_way(request)) {
    return wait;
  }
  return no(full_for(request), true);
}

bool Model::somebody_may_give_way(const Request& request) const {
  return may_displace_its_like(request) ||
         std::any_of(waiting_.begin(), waiting_.end(), [&](const Entry& entry) {
           return entry.request.importance > request.importance;
         });
}

// Its tenant's next turn would come later than anybody's: then it is the tenant that has too much.
Reason Model::full_for(const Request& request) const {
  const std::uint64_t far = farthest(request.importance);
  return tenants() && far != 0 && finish_of(request) >= far + kRound ? Reason::tenant_share
                                                                     : Reason::queue_full;
}

Model::Verdict Model::judge_wait(const Request& request, std::uint32_t ahead, Instant now) const {
  const Duration service = expected(request, now);
  Duration budget = policy_.wait_budget;
  Instant by_deadline = Instant::never();
  if (request.deadline != Instant::never()) {
    const Duration left = request.deadline - now;
    budget = std::min(budget, Duration{left.ns / (newest_first(request.importance) ? 4 : 2)});
    by_deadline = request.deadline - service;
  }
  Verdict verdict{
      .kind = Offer::Kind::wait, .late_reason = Reason::queue_timeout, .start_by = now + budget};
  if (by_deadline < verdict.start_by) {
    verdict.late_reason = Reason::deadline_unmeetable;
    verdict.start_by = by_deadline;
  }
  // A slot comes free every mean / limit. Nothing is foretold to a tenant.
  const Duration predicted{service.ns / policy_.limit * (std::int64_t{ahead} + 1)};
  if (service.ns != 0 && !tenants() && now + predicted > verdict.start_by) {
    verdict.kind = Offer::Kind::reject;
    verdict.for_queue = true;
    verdict.reason = verdict.late_reason == Reason::queue_timeout ? Reason::wait_budget
                                                                  : Reason::deadline_unmeetable;
  }
  return verdict;
}

// ---- Offers
// --------------------------------------------------------------------------------------

Model::Answer Model::offer(RequestId id, std::uint32_t who, const Request& request, Instant now,
                           Reason foretold) {
  to_signal_ = 0;
  if (request.exempt) {
    return offer_exempt(id, who, request, now);
  }
  if (request.observe || admits_all()) {
    return offer_observed(id, who, request, now, foretold);
  }
  if (!draining_) {
    if (const std::int64_t wait_us = take_quota(request, now); wait_us != 0) {
      const std::int64_t seconds = (wait_us + 999'999) / 1'000'000;
      return {.reason = Reason::quota,
              .retry_after =
                  static_cast<std::uint16_t>(std::min<std::int64_t>(seconds, kMaxRetryAfter))};
    }
  }
  const std::uint32_t cost = charge(request);
  const Verdict first = judge(request, cost, now);
  const bool turned = first.for_queue && note_refusal(request.importance, now);
  if (first.kind == Offer::Kind::reject && !turned) {
    return turn_away(request, first.reason);
  }
  if (first.kind == Offer::Kind::admit && cost == 1) {
    return admit(id, who, request, cost, now);
  }
  // The others are not answered without a look at the queue.
  const Verdict verdict = judge_at_queue(request, cost, now);
  Answer answer;
  switch (verdict.kind) {
    case Offer::Kind::admit:
      answer = admit(id, who, request, cost, now);
      break;
    case Offer::Kind::reject:
      answer = turn_away(request, verdict.reason);
      break;
    case Offer::Kind::wait:
      answer = {.kind = Offer::Kind::wait, .start_by = verdict.start_by};
      join({.id = id,
            .who = who,
            .request = request,
            .cost = cost,
            .heavy = cost > 1,
            .arrival = now,
            .start_by = verdict.start_by,
            .late_reason = verdict.late_reason});
      break;
  }
  dispatch(now);
  return answer;
}

// Judged again as long as that changes what it is judged by: somebody may have to give way, and any
// refusal for the queue's sake may turn the order.
Model::Verdict Model::judge_at_queue(const Request& request, std::uint32_t cost, Instant now) {
  for (;;) {
    Verdict verdict = judge(request, cost, now);
    if (verdict.kind == Offer::Kind::wait) {
      const bool full = waiting() >= queue_limit_;
      const Reason no = why_no_place(request, cost > 1, now);
      if (no == Reason::none && full) {
        continue;
      }
      if (no != Reason::none) {
        verdict = {.kind = Offer::Kind::reject, .reason = no, .for_queue = true};
      }
    }
    if (!verdict.for_queue || !note_refusal(request.importance, now)) {
      return verdict;
    }
  }
}

// Somebody else may have to give way.
Reason Model::why_no_place(const Request& request, bool heavy, Instant now) {
  if (beyond_horizon(request, heavy)) {
    return Reason::tenant_share;
  }
  const bool full = waiting() >= queue_limit_;
  if (tickets_in_use() == capacity_.tickets || (full && !displace_for(request, now))) {
    return full_for(request);
  }
  return Reason::none;
}

Model::Answer Model::offer_exempt(RequestId id, std::uint32_t who, const Request& request,
                                  Instant now) {
  const auto mine = std::count_if(held_.begin(), held_.end(), [&](const auto& pair) {
    return pair.second.request.exempt && pair.second.who == who;
  });
  const bool full = mine >= policy_.exempt;
  if (full && !request.observe && !admits_all()) {
    return {.reason = Reason::limit};
  }
  Answer answer = admit(id, who, request, 0, now);
  answer.reason = full && mode_ != Mode::off ? Reason::limit : Reason::none;
  return answer;
}

Model::Answer Model::offer_observed(RequestId id, std::uint32_t who, const Request& request,
                                    Instant now, Reason foretold) {
  if (mode_ == Mode::off) {
    return admit_unjudged(id, who, request, charge(request), now);
  }
  Reason reason = certain_to_be_foretold(request, now);
  if (reason == Reason::none) {
    reason = foretold;
  }
  if (reason != Reason::none && reason != Reason::quota) {
    return_quota(request);
  }
  // Where others are judged, one who would have been turned away takes no place of theirs.
  const bool beside = reason != Reason::none && mode_ == Mode::on;
  Answer answer = admit_unjudged(id, who, request, beside ? 0 : charge(request), now);
  answer.reason = reason;
  return answer;
}

// What does not depend on the gate that it would have been.
Reason Model::certain_to_be_foretold(const Request& request, Instant now) {
  if (draining_) {
    return Reason::draining;
  }
  if (take_quota(request, now) != 0) {
    return Reason::quota;
  }
  return request.deadline <= now ? Reason::deadline_expired : Reason::none;
}

// A heavy one changes who may pass those who wait for their share.
Model::Answer Model::admit_unjudged(RequestId id, std::uint32_t who, const Request& request,
                                    std::uint32_t cost, Instant now) {
  Answer answer = admit(id, who, request, cost, now);
  if (cost > 1) {
    dispatch(now);
  }
  return answer;
}

Model::Answer Model::admit(RequestId id, std::uint32_t who, const Request& request,
                           std::uint32_t cost, Instant now) {
  held_[id] = {.who = who, .request = request, .cost = cost, .heavy = cost > 1, .started = now};
  return {.kind = Offer::Kind::admit, .cost = cost};
}

// What it asked for is not used, so its key may ask again.
Model::Answer Model::turn_away(const Request& request, Reason reason) {
  return_quota(request);
  return {.reason = reason};
}

// ---- Quotas
// --------------------------------------------------------------------------------------

std::int64_t Model::quota_interval() const {
  return policy_.quota.any() ? policy_.quota.per.ns / policy_.quota.requests / 1000 : 0;
}

// A bucket of `burst` that fills by one each interval, kept as the time at which it will be full.
std::int64_t Model::take_quota(const Request& request, Instant now) {
  if (request.quota == 0 || !policy_.quota.any()) {
    return 0;
  }
  const std::int64_t interval = quota_interval();
  const std::int64_t now_us = now.ns / 1000;
  std::int64_t& full_at = paid_up_to_us_[request.quota];
  const std::int64_t owed = std::max<std::int64_t>(full_at - now_us, 0);
  const std::int64_t most = interval * (policy_.quota.burst - 1);
  if (owed > most) {
    return owed - most;
  }
  full_at = now_us + owed + interval;
  return 0;
}

void Model::return_quota(const Request& request) {
  if (request.quota != 0 && !draining_) {
    paid_up_to_us_[request.quota] -= quota_interval();
  }
}

// ---- Rules
// ---------------------------------------------------------------------------------------

bool Model::set_limit(std::uint32_t limit, Instant now) {
  to_signal_ = 0;
  policy_.limit = limit;
  size_queue();
  dispatch(now);
  return true;
}

bool Model::reconfigure(const Policy& policy, Instant now) {
  to_signal_ = 0;
  const bool fits = policy.queue.kind != QueueSize::Kind::fixed ||
                    policy.queue.entries + Capacity::kSpareTickets <= capacity_.tickets;
  const bool tables =
      (policy.tenants != 0) == tenants() && (!policy.quota.any() || capacity_.quota_keys != 0);
  if (validate(policy).refused() || !fits || !tables || policy.class_count != policy_.class_count) {
    return false;
  }
  if (policy.discipline != policy_.discipline) {
    newest_first_.fill(policy.discipline == Discipline::lifo);
    occupied_since_.fill(now);  // a queue stands from the moment on from which it matters
  }
  policy_ = policy;
  size_queue();
  dispatch(now);
  return true;
}

void Model::set_mode(Mode mode, Instant now) {
  to_signal_ = 0;
  mode_ = mode;
  dispatch(now);
}

void Model::set_draining(bool draining, Instant now) {
  to_signal_ = 0;
  draining_ = draining;
  dispatch(now);
}

}  // namespace loadline::test
