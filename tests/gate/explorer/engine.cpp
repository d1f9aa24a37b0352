#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace loadline::explorer {

Engine& engine() {
  static auto* const only = new Engine;  // never destroyed: fibers may still lie on its stacks
  return *only;
}

// The finalizer of MurmurHash3 (Appleby), over a running product.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = hash * 0x9e3779b97f4a7c15 + value;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

// Four lanes, so that the multiplications overlap. Whole words only.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::array<std::uint64_t, 4> lanes = {seed, seed + 1, seed + 2, seed + 3};
  std::array<std::uint64_t, 4> words{};
  std::size_t at = 0;
  for (; at + sizeof words <= bytes.size(); at += sizeof words) {
    std::memcpy(words.data(), bytes.data() + at, sizeof words);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] = (lanes[i] ^ words[i]) * 0x9fb21c651e98df25;
      lanes[i] ^= lanes[i] >> 32;
    }
  }
  words = {};
  std::memcpy(words.data(), bytes.data() + at, bytes.size() - at);
  std::uint64_t hash = bytes.size();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    hash = mix(mix(hash, lanes[i]), words[i]);
  }
  return hash;
}

bool HashSet::put(std::uint64_t hash) {
  const std::size_t mask = places_.size() - 1;
  std::size_t at = hash & mask;
  while (places_[at] != 0) {
    if (places_[at] == hash) {
      return false;
    }
    at = (at + 1) & mask;
  }
  places_[at] = hash;
  return true;
}

bool HashSet::insert(std::uint64_t hash) {
  if (!put(hash == 0 ? 1 : hash)) {
    return false;
  }
  if (++size_ * 2 > places_.size()) {
    std::vector<std::uint64_t> old(places_.size() * 2);
    old.swap(places_);
    for (const std::uint64_t one : old) {
      if (one != 0) {
        put(one);
      }
    }
  }
  return true;
}

// ---- From within ------------------------------------------------------------------------------

Weight Engine::before(Step step, const void* address) {
  if (!stepping_) {
    return Weight::blind;
  }
  const Weight weight = subject_->weigh(current_, {.step = step, .address = address});
  if (weight == Weight::step || weight == Weight::mortal) {
    threads_[current_].pending = {step, weight == Weight::mortal, address};
    Fiber::pause();
  }
  return weight;
}

void Engine::learn(std::uint64_t value) {
  if (stepping_) {
    threads_[current_].learnt = mix(threads_[current_].learnt, value);
  }
}

void Engine::learn_guarded() {
  if (stepping_) {
    learn(subject_->guarded_digest());
  }
}

void Engine::forget() {
  if (stepping_) {
    threads_[current_].learnt = kNothingLearnt;
  }
}

void Engine::wrote(const void* address, std::uint64_t before, std::uint64_t after) {
  if (stepping_ || acting_) {
    subject_->wrote(address, before, after);
  }
}

bool Engine::time_out_now() {
  const bool now = time_out_;
  time_out_ = false;
  learn(now ? 1 : 0);
  return now;
}

void Engine::fail(std::string what) {
  if (report_.violation.empty()) {
    report_.violation = std::move(what);
  }
}

// ---- The search -------------------------------------------------------------------------------

void Engine::body(std::uint32_t thread) {
  engine().current_ = thread;
  engine().before(Step::start, nullptr);
  engine().subject_->live(thread);
}

void Engine::start() {
  report_ = {};
  seen_ = {};
  ends_ = {};
  depth_ = 0;
  stepping_ = true;
  for (std::uint32_t i = 0; i < subject_->threads(); ++i) {
    threads_[i] = {};
    fibers_[i].start(&Engine::body, i);
  }
}

Report Engine::explore(Subject& subject, Bounds bounds) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  subject_ = &subject;
  start();
  subject_->check();
  seen_.insert(digest());
  enter_state();
  bool within = true;
  while (within && report_.violation.empty() && advance()) {
    within =
        seen_.size() < bounds.states && (report_.steps % 4096 != 0 || elapsed() < bounds.seconds);
  }
  report_.states = seen_.size();
  report_.ends = ends_.size();
  report_.seconds = elapsed();
  report_.complete = depth_ == 0 && report_.violation.empty();
  stepping_ = false;
  return report_;
}

bool Engine::advance() {
  while (depth_ != 0 && frames_[depth_ - 1].next == frames_[depth_ - 1].count) {
    --depth_;
  }
  if (depth_ == 0) {
    return false;
  }
  Frame& here = frames_[depth_ - 1];
  if (standing_at_ != depth_) {
    restore(here);
  }
  standing_at_ = 0;
  perform(here.moves[here.next++]);
  ++report_.steps;
  subject_->check();
  if (report_.violation.empty() && seen_.insert(digest())) {
    enter_state();
  }
  if (!report_.violation.empty()) {
    report_.trace = trace();
  }
  return true;
}

// Lists what may happen from here; where nothing may, this is an end.
void Engine::enter_state() {
  if (frames_.size() == depth_) {
    frames_.emplace_back();
  }
  Frame& frame = frames_[depth_];
  list_moves(frame);
  if (frame.count == 0) {
    ends_.insert(subject_->digest());
    subject_->check_end();
    return;
  }
  save(frame);
  ++depth_;
  standing_at_ = depth_;
  report_.deepest = std::max(report_.deepest, depth_);
}

void Engine::list_moves(Frame& frame) {
  frame.count = 0;
  frame.next = 0;
  const auto add = [&](Move::Kind kind, std::uint32_t thread) {
    frame.moves[frame.count++] = {kind, static_cast<std::uint8_t>(thread)};
  };
  bool alone = false;
  for (std::uint32_t i = 0; i < subject_->threads(); ++i) {
    frame.pending[i] = threads_[i].pending;
    alone = alone || threads_[i].pending.alone;
  }
  bool rest = true;
  for (std::uint32_t i = 0; i < subject_->threads(); ++i) {
    if (!threads_[i].alive || (alone && !threads_[i].pending.alone)) {
      continue;
    }
    if (subject_->can_run(i, threads_[i].pending)) {
      add(Move::Kind::run, i);
      rest = false;
    }
    if (subject_->can_time_out(i, threads_[i].pending)) {
      add(Move::Kind::time_out, i);
    }
    if (subject_->can_die(i)) {
      add(Move::Kind::die, i);
    }
  }
  if (rest && subject_->can_recover()) {
    add(Move::Kind::recover, kOutsider);
  }
}

void Engine::perform(Move move) {
  switch (move.kind) {
    case Move::Kind::time_out:
      time_out_ = true;
      subject_->timed_out(move.thread);
      [[fallthrough]];
    case Move::Kind::run:
      current_ = move.thread;
      fibers_[move.thread].resume();
      break;
    case Move::Kind::die:
      threads_[move.thread].alive = false;
      threads_[move.thread].learnt = kNothingLearnt;
      threads_[move.thread].pending = {};
      subject_->died(move.thread);
      break;
    case Move::Kind::recover:
      act_as(*subject_, kOutsider, [this] { subject_->recover(); });
      break;
  }
}

void Engine::save(Frame& frame) {
  frame.saved.clear();
  const auto append = [&](const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    frame.saved.insert(frame.saved.end(), begin, begin + bytes);
  };
  append(threads_.data(), sizeof threads_);
  const std::span<std::byte> memory = subject_->memory();
  append(memory.data(), memory.size());
  for (std::uint32_t i = 0; i < subject_->threads(); ++i) {
    fibers_[i].save(frame.saved);
  }
}

void Engine::restore(const Frame& frame) {
  const std::byte* from = frame.saved.data();
  std::memcpy(threads_.data(), from, sizeof threads_);
  from += sizeof threads_;
  const std::span<std::byte> memory = subject_->memory();
  std::memcpy(memory.data(), from, memory.size());
  from += memory.size();
  for (std::uint32_t i = 0; i < subject_->threads(); ++i) {
    from += fibers_[i].restore(from);
  }
}

std::uint64_t Engine::digest() const {
  std::uint64_t hash = subject_->digest();
  for (std::uint32_t i = 0; i < subject_->threads(); ++i) {
    hash = mix(hash, threads_[i].learnt);
    hash = mix(hash, static_cast<std::uint64_t>(threads_[i].pending.step));
    hash = mix(hash, reinterpret_cast<std::uintptr_t>(threads_[i].pending.address));
  }
  return hash;
}

std::vector<std::string> Engine::trace() const {
  static constexpr const char* kSteps[] = {"start",  "read", "write",  "exchange", "lock",
                                           "unlock", "work", "signal", "wait"};
  static constexpr const char* kKinds[] = {"", " times out at", " dies before", ""};
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < depth_; ++i) {
    const Move move = frames_[i].moves[frames_[i].next - 1];
    if (move.kind == Move::Kind::recover) {
      lines.emplace_back("all rest: the next tick");
      continue;
    }
    const Pending what = frames_[i].pending[move.thread];
    lines.push_back(std::string(1, static_cast<char>('A' + move.thread)) +
                    kKinds[static_cast<std::size_t>(move.kind)] + " " +
                    kSteps[static_cast<std::size_t>(what.step)] + " " +
                    subject_->name(what.address));
  }
  return lines;
}

}  // namespace loadline::explorer
