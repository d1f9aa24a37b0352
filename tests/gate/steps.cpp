#include "steps.h"

#include <algorithm>
#include <ostream>
#include <string>

#include "gate_box.h"

namespace loadline::test {

namespace {

// Draws small numbers, all from one seed: a generator of RapidCheck's for each would cost more than
// the gate and its model together.
class Bits {
 public:
  explicit Bits(std::uint64_t seed) : state_(seed) {}

  std::uint32_t below(std::uint32_t n) {
    state_ += 0x9e3779b97f4a7c15U;  // SplitMix64
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>(((x ^ (x >> 31)) >> 32) * n >> 32);
  }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T one_of(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::uint64_t state_;
};

Draft draft_of(Bits& bits) {
  Draft draft;
  draft.limit = 1 + bits.below(12);
  switch (bits.below(8)) {
    case 0:
      draft.queue = QueueSize::none();
      break;
    case 1:
      draft.queue = QueueSize::sized_by_budget();
      break;
    default:
      draft.queue = QueueSize::at_most(1 + bits.below(12));
  }
  draft.budget_ms = bits.one_of<std::int64_t>({5, 20, 60, 100, 400});
  draft.discipline =
      bits.one_of({Discipline::adaptive, Discipline::adaptive, Discipline::fifo, Discipline::lifo});
  if (bits.one_in(3)) {
    std::uint16_t share = 1000;
    for (std::uint16_t& of_class : draft.shares) {
      share = static_cast<std::uint16_t>(share - bits.below(share / 2));
      of_class = share;
    }
  }
  const bool queue = draft.queue.kind != QueueSize::Kind::off;
  if (queue && bits.one_in(2)) {
    for (std::uint16_t& of_class : draft.guarantees) {
      of_class = bits.one_of<std::uint16_t>({0, 50, 200, 225});
    }
  }
  draft.heavy_share = bits.one_of<std::uint16_t>({1000, 500, 500, 300});
  draft.exempt = static_cast<std::uint16_t>(bits.below(3));
  draft.tenants = queue && draft.discipline != Discipline::lifo && bits.one_in(3);
  draft.quota = bits.one_in(4);
  draft.quota_burst = 1 + bits.below(4);
  return draft;
}

void fill_offer(Step& step, Bits& bits) {
  step.importance = static_cast<std::uint8_t>(bits.below(kClasses));
  step.cost = bits.one_in(3) ? 1 + bits.below(6) : 1;
  if (bits.one_in(4)) {
    step.deadline_us = bits.one_of<std::int64_t>({-1000, 1, 900, 10'000, 30'000, 80'000, 500'000});
  }
  step.may_wait = !bits.one_in(16);
  step.observe = bits.one_in(24);
  step.exempt = bits.one_in(24);
  step.tenant = bits.below(6);
  step.group = bits.one_in(3) ? static_cast<std::uint8_t>(bits.below(3)) : Request::kNoGroup;
  step.quota = bits.one_in(2) ? bits.below(4) : 0;
}

Step step_of(Bits& bits) {
  using enum Step::What;
  constexpr Step::What kOften[] = {offer,   offer,   offer,   offer,   offer,   offer,
                                   offer,   offer,   release, release, release, release,
                                   collect, collect, collect, pass,    pass,    pass,
                                   tick,    tick,    settle,  settle,  cancel,  cancel};
  constexpr Step::What kSeldom[] = {set_limit,     set_limit,    reconfigure,
                                    set_mode,      set_mode,     set_draining,
                                    release_again, settle_stale, settle_stale};
  Step step;
  step.what = bits.one_in(20) ? bits.one_of(kSeldom) : bits.one_of(kOften);
  step.who = bits.below(kParticipants);
  step.which = bits.below(64);
  switch (step.what) {
    case offer:
      fill_offer(step, bits);
      break;
    case release:
      step.ended = bits.one_of({Outcome::success, Outcome::success, Outcome::success,
                                Outcome::failure, Outcome::ignored});
      break;
    case pass:
      step.micros = bits.one_of<std::int64_t>({1, 300, 1000, 1000, 3000, 3000, 10'000, 20'000});
      if (bits.one_in(12)) {
        step.micros = bits.one_of<std::int64_t>({50'000, 51'000, 100'000, 400'000, 2'100'000});
      }
      break;
    case set_limit:
      step.value = 1 + bits.below(12);
      break;
    case set_mode:
      step.value = bits.one_of({0U, 0U, 0U, 0U, 0U, 0U, 1U, 2U});
      break;
    case set_draining:
      step.value = bits.one_in(6) ? 1 : 0;
      break;
    case reconfigure:
      step.draft = draft_of(bits);
      break;
    default:
      break;
  }
  return step;
}

// All that differ from `from` in one field that has been made plain.
template <class T, class... Fields>
std::vector<T> made_plain(const T& from, Fields... fields) {
  std::vector<T> plainer;
  const auto add = [&](auto field) {
    T changed = from;
    if (changed.*field != T{}.*field) {
      changed.*field = T{}.*field;
      plainer.push_back(changed);
    }
  };
  (add(fields), ...);
  return plainer;
}

}  // namespace

Policy Draft::policy() const {
  Policy policy = policy_of(limit, queue, Duration::millis(budget_ms));
  policy.discipline = discipline;
  policy.heavy_share = heavy_share;
  policy.exempt = exempt;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    policy.classes[c].share = shares[c] != 0 ? shares[c] : policy.classes[c].share;
    policy.classes[c].guarantee = guarantees[c];
  }
  if (tenants) {
    policy.tenants = 1024;
    add_group(policy, "one", 1);
    add_group(policy, "three", 3);
  }
  if (quota) {
    policy.quota = {.requests = 20, .per = Duration::seconds(1), .burst = quota_burst, .keys = 40};
  }
  return policy;
}

Request Step::request(Instant now) const {
  Request request;
  request.importance = importance;
  request.cost = cost;
  request.deadline = deadline_us == 0 ? Instant::never() : now + Duration::micros(deadline_us);
  request.may_wait = may_wait;
  request.observe = observe;
  request.exempt = exempt;
  request.tenant = tenant == 0 ? 0 : hash_key("tenant " + std::to_string(tenant));
  request.group = group;
  request.quota = quota == 0 ? 0 : hash_key("key " + std::to_string(quota));
  return request;
}

// ---- Shown
// ---------------------------------------------------------------------------------------

std::ostream& operator<<(std::ostream& out, const Draft& draft) {
  constexpr const char* kDisciplines[] = {"adaptive", "fifo", "lifo"};
  out << "limit " << draft.limit << ", queue ";
  switch (draft.queue.kind) {
    case QueueSize::Kind::off:
      out << "off";
      break;
    case QueueSize::Kind::automatic:
      out << "auto";
      break;
    case QueueSize::Kind::fixed:
      out << draft.queue.entries;
  }
  out << ", " << kDisciplines[static_cast<int>(draft.discipline)] << ", wait budget "
      << draft.budget_ms << " ms";
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if (draft.shares[c] != 0) {
      out << ", class " << c << " share " << draft.shares[c];
    }
    if (draft.guarantees[c] != 0) {
      out << ", class " << c << " guarantee " << draft.guarantees[c];
    }
  }
  out << ", heavy share " << draft.heavy_share << ", exempt " << draft.exempt;
  out << (draft.tenants ? ", tenants" : "");
  if (draft.quota) {
    out << ", quota 20 per s, " << draft.quota_burst << " at once";
  }
  return out;
}

namespace {

void show_offer(const Step& step, std::ostream& out) {
  out << step.who << " offers class " << int{step.importance};
  if (step.cost != 1) {
    out << " weight " << step.cost;
  }
  if (step.deadline_us != 0) {
    out << " deadline in " << step.deadline_us << " us";
  }
  out << (step.may_wait ? "" : " may not wait") << (step.observe ? " observed" : "")
      << (step.exempt ? " exempt" : "");
  if (step.tenant != 0) {
    out << " tenant " << step.tenant;
  }
  if (step.group != Request::kNoGroup) {
    out << " group " << int{step.group};
  }
  if (step.quota != 0) {
    out << " quota key " << step.quota;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Step& step) {
  using enum Step::What;
  constexpr const char* kModes[] = {"on", "observe", "off"};
  constexpr const char* kEnds[] = {"success", "failure", "ignored"};
  switch (step.what) {
    case offer:
      show_offer(step, out);
      break;
    case release:
      out << "permit " << step.which << " is released: " << kEnds[static_cast<int>(step.ended)];
      break;
    case release_again:
      out << "the last permit is released again";
      break;
    case cancel:
      out << "ticket " << step.which << " is cancelled";
      break;
    case settle:
      out << "ticket " << step.which << " is settled";
      break;
    case settle_stale:
      out << "a ticket that is used up, or not " << step.who << "'s, is settled and cancelled";
      break;
    case collect:
      out << step.who << " collects";
      break;
    case pass:
      out << step.micros << " us pass";
      break;
    case tick:
      out << "tick";
      break;
    case set_limit:
      out << "limit " << step.value;
      break;
    case reconfigure:
      out << "reconfigured to " << step.draft;
      break;
    case set_mode:
      out << "mode " << kModes[step.value];
      break;
    case set_draining:
      out << (step.value != 0 ? "drains" : "drains no more");
      break;
  }
  return out;
}

void showValue(const Life& life, std::ostream& out) {
  out << life.draft;
  for (std::size_t i = 0; i < life.steps.size(); ++i) {
    out << "\n  " << i << ": " << life.steps[i];
  }
}

// ---- Generated
// -----------------------------------------------------------------------------------

namespace {

std::vector<Draft> plainer_drafts(const Draft& draft) {
  std::vector<Draft> plainer =
      made_plain(draft, &Draft::limit, &Draft::budget_ms, &Draft::discipline, &Draft::heavy_share,
                 &Draft::exempt, &Draft::tenants, &Draft::quota);
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    Draft changed = draft;
    changed.shares[c] = changed.guarantees[c] = 0;
    if (draft.shares[c] != 0 || draft.guarantees[c] != 0) {
      plainer.push_back(changed);
    }
  }
  return plainer;
}

std::vector<Step> plainer_steps(const Step& step) {
  return made_plain(step, &Step::who, &Step::which, &Step::importance, &Step::cost,
                    &Step::deadline_us, &Step::may_wait, &Step::observe, &Step::exempt,
                    &Step::tenant, &Step::group, &Step::quota, &Step::ended);
}

// What is left without a chunk, the last half first, then quarters, and so on: all chunks there are
// would be as many as the square of the steps.
rc::Seq<std::vector<Step>> fewer_steps(const std::vector<Step>& steps) {
  struct Chunk {
    std::ptrdiff_t from, size;
  };
  std::vector<Chunk> chunks;
  const auto all = static_cast<std::ptrdiff_t>(steps.size());
  for (std::ptrdiff_t size = (all + 1) / 2; size > 0; size /= 2) {
    for (std::ptrdiff_t end = all; end > 0; end -= size) {
      const std::ptrdiff_t from = std::max(end - size, std::ptrdiff_t{0});
      chunks.push_back({from, end - from});
    }
  }
  return rc::seq::map(rc::seq::fromContainer(chunks), [steps](Chunk chunk) {
    std::vector<Step> left = steps;
    left.erase(left.begin() + chunk.from, left.begin() + chunk.from + chunk.size);
    return left;
  });
}

// First fewer steps, then a plainer policy, then plainer steps.
rc::Seq<Life> plainer_lives(const Life& life) {
  const auto with_steps = [draft = life.draft](std::vector<Step> steps) {
    return Life{draft, std::move(steps)};
  };
  std::vector<Life> other_drafts;
  for (const Draft& draft : plainer_drafts(life.draft)) {
    other_drafts.push_back({draft, life.steps});
  }
  return rc::seq::concat(
      rc::seq::map(fewer_steps(life.steps), with_steps), rc::seq::fromContainer(other_drafts),
      rc::seq::map(rc::shrink::eachElement(life.steps,
                                           [](const Step& step) {
                                             return rc::seq::fromContainer(plainer_steps(step));
                                           }),
                   with_steps));
}

}  // namespace

rc::Gen<Life> any_life(std::uint32_t longest) {
  return [longest](const rc::Random& random, int) {
    rc::Random source = random;
    Bits bits(source.next());
    Life life{draft_of(bits), std::vector<Step>(bits.below(longest + 1))};
    for (Step& step : life.steps) {
      step = step_of(bits);
    }
    return rc::shrinkable::shrinkRecur(std::move(life), plainer_lives);
  };
}

}  // namespace loadline::test
