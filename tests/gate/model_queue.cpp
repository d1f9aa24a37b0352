// The model's queue: who is next, who gives way, whose turn it is, and what becomes of those who
// wait.
#include <algorithm>

#include "model.h"

namespace loadline::test {

// ---- Order
// ---------------------------------------------------------------------------------------

// As they came; with tenants by rounds, and as they came within a round.
bool Model::earlier(const Entry& one, const Entry& other) const {
  if (tenants() && one.tag / kRound != other.tag / kRound) {
    return one.tag < other.tag;
  }
  return one.id < other.id;
}

// Of the light or of the heavy ones of a class: who is first in line. Null: there is none.
const Model::Entry* Model::next_of(std::uint32_t importance, bool heavy) const {
  const Entry* next = nullptr;
  for (const Entry& entry : waiting_) {
    if (entry.request.importance == importance && entry.heavy == heavy &&
        (next == nullptr || earlier(entry, *next) != newest_first_[importance])) {
      next = &entry;
    }
  }
  return next;
}

// Who would start last.
const Model::Entry* Model::last_of(std::uint32_t importance) const {
  const Entry* last = nullptr;
  for (const Entry& entry : waiting_) {
    if (entry.request.importance == importance &&
        (last == nullptr || earlier(*last, entry) != newest_first_[importance])) {
      last = &entry;
    }
  }
  return last;
}

// What it is charged if it starts now: less than on arrival if the limit has been lowered since.
std::uint32_t Model::charge_now(const Entry& entry) const {
  const std::uint32_t most = threshold(entry.request.importance);
  return std::min({entry.cost, most, entry.heavy ? heavy_limit() : most});
}

// Waits the class's first heavy one for its share of the limit, rather than for room?
bool Model::heavy_is_capped(std::uint32_t importance) const {
  const Entry* heavy = next_of(importance, true);
  return heavy != nullptr && !admits_all() &&
         heavy_in_flight() + charge_now(*heavy) > heavy_limit();
}

// Who of a class starts as soon as there is room: the next, but no heavy one while it, or a more
// important one, waits for the share that they have together. What a class is owed by its guarantee
// it gets before the more important ones.
const Model::Entry* Model::candidate(std::uint32_t importance, bool owed) const {
  const Entry* light = next_of(importance, false);
  const Entry* heavy = next_of(importance, true);
  for (std::uint32_t c = owed ? importance : 0; c <= importance; ++c) {
    heavy = heavy_is_capped(c) ? nullptr : heavy;
  }
  if (light == nullptr || heavy == nullptr) {
    return light == nullptr ? heavy : light;
  }
  return earlier(*light, *heavy) != newest_first_[importance] ? light : heavy;
}

// ---- Who gives way
// -------------------------------------------------------------------------------

// A guaranteed class keeps its share of the places.
std::uint32_t Model::places_kept(std::uint32_t importance) const {
  return (queue_limit_ * policy_.classes[importance].guarantee + 999) / 1000;
}

bool Model::displace_for(const Request& request, Instant now) {
  const Entry* least = nullptr;
  for (std::uint32_t c = request.importance + 1; c < policy_.class_count; ++c) {
    least = waiting(c) > places_kept(c) ? last_of(c) : least;
  }
  if (least == nullptr && may_displace_its_like(request)) {
    least = last_of(request.importance);
  }
  if (least == nullptr) {
    return false;
  }
  refuse(least->id, Reason::displaced, now, ++batch_);
  return true;
}

// A refusal beside a queue that has not been empty for 50 ms: it stands, and the newest come first
// until it is empty again.
bool Model::note_refusal(std::uint32_t importance, Instant now) {
  const bool turns = policy_.discipline == Discipline::adaptive && !tenants() &&
                     waiting(importance) != 0 && !newest_first_[importance] &&
                     now - occupied_since_[importance] > Duration::millis(50);
  newest_first_[importance] = newest_first_[importance] || turns;
  return turns;
}

// ---- Coming and going
// ----------------------------------------------------------------------------

void Model::join(Entry entry) {
  const std::uint32_t importance = entry.request.importance;
  if (waiting(importance) == 0) {
    occupied_since_[importance] = entry.arrival;
  }
  if (tenants()) {
    take_turn(entry);
  }
  waiting_.push_back(entry);
}

Model::Entry Model::leave(RequestId id) {
  const auto it = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const Entry& entry) { return entry.id == id; });
  const Entry entry = *it;
  waiting_.erase(it);
  const std::uint32_t importance = entry.request.importance;
  if (waiting(importance) == 0) {
    if (policy_.discipline == Discipline::adaptive) {
      newest_first_[importance] = false;
    }
    // Nobody has to wait any more for those who asked much.
    round_[importance] = std::max(round_[importance], last_tag_[importance]);
  }
  return entry;
}

void Model::hand_over(Entry entry) {
  to_signal_ |= std::uint64_t{1} << entry.who;
  decided_[entry.who].push_back(entry);
}

void Model::refuse(RequestId id, Reason reason, Instant now, std::uint64_t batch) {
  const auto it = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const Entry& entry) { return entry.id == id; });
  note_refusal(it->request.importance, now);
  refund(*it);
  Entry entry = leave(id);
  entry.kind = Settled::Kind::reject;
  entry.reason = reason;
  entry.decided = now;
  entry.batch = batch;
  hand_over(entry);
}

void Model::start(RequestId id, Instant now) {
  Entry entry = leave(id);
  entry.cost = charge_now(entry);
  entry.kind = Settled::Kind::admit;
  entry.decided = now;
  entry.batch = ++batch_;
  credit(entry.request.importance, entry.cost);
  hand_over(entry);
}

// ---- Dispatch
// ------------------------------------------------------------------------------------

// Every start from the queue gives each guaranteed class its share of credit, up to four starts,
// and takes what it cost from the class that started, down to four starts of debt.
void Model::credit(std::uint32_t importance, std::uint32_t units) {
  for (std::uint32_t c = 0; c < policy_.class_count; ++c) {
    const std::int64_t share = policy_.classes[c].guarantee;
    if (share == 0) {
      continue;
    }
    credits_[c] = std::min<std::int64_t>(credits_[c] + share * units, 4000);
    if (c == importance) {
      credits_[c] = std::max<std::int64_t>(credits_[c] - std::int64_t{1000} * units, -4000);
    }
  }
}

// False: it has to go on waiting.
bool Model::decide(const Entry& entry, Instant now) {
  if (now > entry.start_by) {
    advance_round(entry);
    refuse(entry.id, entry.late_reason, now, ++batch_);
    return true;
  }
  if (!admits_all() && in_flight() + charge_now(entry) > threshold(entry.request.importance)) {
    return false;
  }
  advance_round(entry);
  start(entry.id, now);
  return true;
}

// The class that is owed most, then the most important one; whoever has to wait for room is passed
// by nobody. Nobody's turn comes while no slot is free, and those who are past their time are
// dropped when their turn comes, or by a tick.
void Model::dispatch(Instant now) {
  while (admits_all() || in_flight() < policy_.limit) {
    const Entry* owed = nullptr;
    std::int64_t most = 999;
    for (std::uint32_t c = 0; c < policy_.class_count; ++c) {
      if (policy_.classes[c].guarantee != 0 && credits_[c] > most &&
          candidate(c, true) != nullptr) {
        owed = candidate(c, true);
        most = credits_[c];
      }
    }
    if (owed != nullptr && decide(*owed, now)) {
      continue;
    }
    const Entry* first = nullptr;
    for (std::uint32_t c = 0; c < policy_.class_count && first == nullptr; ++c) {
      first = candidate(c, false);
    }
    if (first == nullptr || !decide(*first, now)) {
      return;
    }
  }
}

// ---- Settling
// ------------------------------------------------------------------------------------

void Model::release(RequestId id, Outcome ended, Instant now) {
  to_signal_ = 0;
  const Held held = held_.at(id);
  held_.erase(id);
  if (held.request.exempt) {
    return;
  }
  services_ += ended == Outcome::success && now > held.started ? 1 : 0;
  settle_account(held, ended, now);
  if (held.cost != 0) {
    dispatch(now);
  }
}

void Model::cancel(RequestId id, Instant now) {
  to_signal_ = 0;
  const auto is_it = [&](const Entry& entry) { return entry.id == id; };
  const auto it = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  if (it != waiting_.end()) {
    refund(*it);
    leave(id);
    dispatch(now);
    return;
  }
  for (auto& line : decided_) {
    const auto decided = std::find_if(line.begin(), line.end(), is_it);
    if (decided != line.end()) {
      if (decided->kind == Settled::Kind::admit) {
        refund(*decided);
      }
      line.erase(decided);
      dispatch(now);
      return;
    }
  }
}

Model::Entry Model::settle(RequestId id, Instant now) {
  to_signal_ = 0;
  const auto is_it = [&](const Entry& entry) { return entry.id == id; };
  const auto it = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  if (it != waiting_.end()) {
    if (now < it->start_by) {
      return *it;
    }
    refuse(id, it->late_reason, now, ++batch_);
  }
  Entry taken;
  taken.kind = Settled::Kind::unknown;
  for (auto& line : decided_) {
    const auto decided = std::find_if(line.begin(), line.end(), is_it);
    if (decided != line.end()) {
      taken = *decided;
      line.erase(decided);
      hold(taken);
      dispatch(now);
      break;
    }
  }
  return taken;
}

void Model::hold(const Entry& entry) {
  if (entry.kind == Settled::Kind::admit) {
    held_[entry.id] = {.who = entry.who,
                       .request = entry.request,
                       .cost = entry.cost,
                       .heavy = entry.heavy,
                       .started = entry.decided,
                       .charged = entry.charged};
  }
}

std::vector<Model::Entry> Model::collect(std::uint32_t who, Instant now) {
  to_signal_ = 0;
  std::vector<Entry> all;
  constexpr std::size_t kAtOnce = 16;
  std::deque<Entry>& line = decided_[who];
  // What the look at the queue decides is there to be collected, too. A single grant is taken
  // without one.
  while (!line.empty()) {
    const bool looks =
        line.size() > 1 || line.front().kind != Settled::Kind::admit || line.front().heavy;
    for (std::size_t left = std::min(line.size(), kAtOnce); left > 0; --left) {
      hold(line.front());
      all.push_back(line.front());
      line.pop_front();
    }
    if (looks) {
      dispatch(now);
    }
  }
  return all;
}

// What a tick finds past its time it refuses, in whatever order it comes by.
void Model::expire(Instant now) {
  const std::uint64_t batch = ++batch_;
  for (auto& line : decided_) {
    for (Entry& entry : line) {
      if (entry.kind == Settled::Kind::admit && now - entry.decided > Duration::millis(50)) {
        refund(entry);
        entry.kind = Settled::Kind::reject;
        entry.reason = Reason::queue_timeout;
        ++taken_back_;
        to_signal_ |= std::uint64_t{1} << entry.who;
      }
    }
  }
  const std::vector<Entry> all = waiting_;
  for (const Entry& entry : all) {
    if (now >= entry.start_by) {
      refuse(entry.id, entry.late_reason, now, batch);
    }
  }
}

// Once in 10 ms. The mean is taken over windows of 100 ms, and believed for a second, or for twice
// what a slot takes to come free. After that twenty completions are waited for.
void Model::tick(Instant now, Duration mean) {
  to_signal_ = 0;
  if (now < next_tick_) {
    return;
  }
  next_tick_ = now + Duration::millis(10);
  expire(now);
  if (now - estimated_at_ >= Duration::millis(100)) {
    estimated_at_ = now;
    const std::uint64_t come = services_ - services_seen_;
    const bool forgotten = mean_.ns != 0 && now > mean_until_;
    if (come != 0 && (!forgotten || come >= 20)) {
      services_seen_ = services_;
      if (services_ >= 20) {
        mean_ = mean;
        const Duration free{(mean + mean).ns / std::max(policy_.limit, 1U)};
        mean_until_ = now + std::max(Duration::seconds(1), free);
      }
      size_queue();
    }
  }
  dispatch(now);
}

// ---- Tenants
// -------------------------------------------------------------------------------------

std::uint64_t Model::finish_of(const Request& request) const {
  const auto& accounts = accounts_[request.importance];
  const auto it = accounts.find(request.tenant);
  return it == accounts.end() ? 0 : it->second.finish;
}

// The round up to which its tenant and its group have been charged, or the one being served.
std::uint64_t Model::turn_of(const Request& request) const {
  std::uint64_t turn = std::max(round_[request.importance], finish_of(request));
  if (request.group < kMaxGroups) {
    turn = std::max(turn, group_finish_[request.importance][request.group]);
  }
  return turn;
}

// A request of mean cost is a round; none counts for less than a sixteenth or more than 64.
std::uint32_t Model::rounds_of(std::uint64_t service_ns) const {
  if (mean_.ns == 0 || service_ns == 0) {
    return kRound;
  }
  const std::uint64_t rounds = service_ns * kRound / static_cast<std::uint64_t>(mean_.ns);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rounds, kRound / 16, kRound * 64));
}

std::uint64_t Model::farthest(std::uint32_t importance) const {
  const Entry* last = last_of(importance);
  return last == nullptr ? 0 : last->tag;
}

bool Model::may_displace_its_like(const Request& request) const {
  return tenants() && waiting(request.importance) != 0 &&
         turn_of(request) / kRound < farthest(request.importance) / kRound;
}

// Not more than 256 rounds are looked ahead, from the first that still has somebody in it.
bool Model::beyond_horizon(const Request& request, bool heavy) const {
  if (!tenants() || waiting(request.importance) == 0) {
    return false;
  }
  std::uint64_t first = round_[request.importance];
  if (const Entry* next = next_of(request.importance, heavy); next != nullptr) {
    first = std::min(first, next->tag);
  }
  return turn_of(request) / kRound - first / kRound >= 256;
}

std::int64_t Model::size_of_group(std::uint8_t group) const {
  return group < policy_.group_count ? policy_.groups[group].tenants : 1;
}

void Model::charge_tenant(const Request& request, std::uint64_t from, std::int64_t rounds) {
  const auto charge = [&](std::uint64_t& finish, std::int64_t amount) {
    finish = std::max(finish, from) + static_cast<std::uint64_t>(amount);
  };
  charge(accounts_[request.importance][request.tenant].finish, rounds);
  if (request.group < kMaxGroups) {
    charge(group_finish_[request.importance][request.group], rounds / size_of_group(request.group));
  }
}

// Who is alone in the queue is served next, whatever it owes: nobody waits for it to pay.
void Model::take_turn(Entry& entry) {
  const std::uint32_t importance = entry.request.importance;
  entry.tag = turn_of(entry.request);
  if (waiting(importance) == 0) {
    round_[importance] = entry.tag;
  }
  entry.charged = rounds_of(accounts_[importance][entry.request.tenant].cost_ns);
  charge_tenant(entry.request, round_[importance], entry.charged);
  last_tag_[importance] = std::max(last_tag_[importance], entry.tag + entry.charged);
}

void Model::refund(const Entry& entry) {
  if (tenants()) {
    charge_tenant(entry.request, 0, -std::int64_t{entry.charged});
  }
}

void Model::advance_round(const Entry& entry) {
  std::uint64_t& round = round_[entry.request.importance];
  round = std::max(round, entry.tag);
}

// What it has cost is known now: its tenant's mean moves by an eighth, and the difference to what
// was charged is made up.
void Model::settle_account(const Held& held, Outcome ended, Instant now) {
  const Duration service = now - held.started;
  if (!tenants() || held.request.tenant == 0 || ended == Outcome::ignored || service.ns <= 0) {
    return;
  }
  const auto cost = static_cast<std::uint64_t>(service.ns);
  Account& account = accounts_[held.request.importance][held.request.tenant];
  account.cost_ns = account.cost_ns == 0 ? cost : account.cost_ns - account.cost_ns / 8 + cost / 8;
  if (held.charged != 0) {
    const std::int64_t owed = std::int64_t{rounds_of(cost)} - std::int64_t{held.charged};
    account.finish += static_cast<std::uint64_t>(owed);
    if (held.request.group < kMaxGroups) {
      group_finish_[held.request.importance][held.request.group] +=
          static_cast<std::uint64_t>(owed / size_of_group(held.request.group));
    }
  }
}

}  // namespace loadline::test
