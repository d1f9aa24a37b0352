#include "load_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace loadline::tools {
namespace {

using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A closed caller that cannot even connect would otherwise spin.
constexpr auto kPauseAfterError = milliseconds{10};
constexpr auto kBeat = milliseconds{5};
constexpr nanoseconds kFirstBackoff = milliseconds{100};
constexpr nanoseconds kLongestBackoff = std::chrono::seconds{10};

bool is_good(int status) {
  return status >= 200 && status < 300;
}

void bump(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::vector<std::string> make_heads(const LoadOptions& options) {
  std::vector<std::string> heads;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, options.classes.size()); ++i) {
    auto fields = load_fields(options, i);
    if (options.deadline) {
      fields.push_back(deadline_field(options, *options.deadline));
    }
    heads.push_back(request_head(options.url, options.method, fields, options.body_bytes));
  }
  return heads;
}

std::vector<double> weights_of(const LoadOptions& options) {
  std::vector<double> weights;
  for (const auto& share : options.classes) {
    weights.push_back(share.weight);
  }
  return weights;
}

}  // namespace

LoadEngine::LoadEngine(const LoadOptions& options, const Tcp::endpoint& target,
                       LoadCallers* callers, unsigned part, unsigned parts)
    : options_(options),
      led_by_(callers),
      shared_{.target = target,
              .head_method = options.method == "HEAD",
              .body = std::string(options.body_bytes, 'x'),
              .scratch = {}},
      schedule_(options, part, parts),
      arrival_timer_(context_),
      beat_timer_(context_),
      heads_(make_heads(options)),
      random_(options.seed * 0x9e3779b97f4a7c15u + part),
      callers_(options.closed / parts + (part < options.closed % parts ? 1 : 0)) {
  const auto weights = weights_of(options);
  class_draw_ = std::discrete_distribution<std::size_t>(weights.begin(), weights.end());
  tallies_.by_class.resize(heads_.size());
}

void LoadEngine::run(Clock::time_point start) {
  start_ = start;
  window_start_ = start + options_.warmup;
  end_ = start + options_.duration;
  const auto work = boost::asio::make_work_guard(context_);
  if (options_.closed > 0) {
    begin_callers();
  } else {
    arm();
  }
  context_.run();
  for (const auto& connection : idle_) {
    connection->close();
  }
}

void LoadEngine::stop() {
  boost::asio::post(context_, [this] {
    issuing_ = false;
    arrival_timer_.cancel();
    finish_if_done();
  });
}

void LoadEngine::arm() {
  if (!next_due_) {
    const auto next = schedule_.next();
    if (!next) {
      issuing_ = false;
      return finish_if_done();
    }
    next_due_ = start_ + *next;
  }
  arrival_timer_.expires_at(*next_due_);
  arrival_timer_.async_wait([this](const error_code& error) {
    if (!error && issuing_) {
      issue_due();
    }
  });
}

// All that is due by now, at once: a generator that is late catches up, and each request keeps the
// moment at which it was due.
void LoadEngine::issue_due() {
  const auto now = Clock::now();
  while (next_due_ && *next_due_ <= now) {
    begin_call(*next_due_);
    const auto next = schedule_.next();
    next_due_ = next ? std::optional{start_ + *next} : std::nullopt;
  }
  arm();
}

void LoadEngine::begin_callers() {
  arrival_timer_.expires_at(start_);
  arrival_timer_.async_wait([this](const error_code& error) {
    if (error) {
      return;
    }
    for (unsigned i = 0; i < callers_; ++i) {
      begin_call(Clock::now());
    }
    beat_timer_.expires_at(start_ + kBeat);
    beat();
  });
}

// Closed callers are never late by their own clock, so a timer is, to see whether the thread keeps
// up; and it ends the run.
void LoadEngine::beat() {
  beat_timer_.async_wait([this](const error_code& error) {
    if (error || !issuing_) {
      return;
    }
    const auto now = Clock::now();
    if (in_window(beat_timer_.expiry())) {
      tallies_.lateness.record(now - beat_timer_.expiry());
    }
    if (now >= end_) {
      issuing_ = false;
      return finish_if_done();
    }
    beat_timer_.expires_at(beat_timer_.expiry() + kBeat);
    beat();
  });
}

void LoadEngine::begin_call(Clock::time_point due) {
  Attempt attempt{
      .call_due = due, .due = due, .give_up = due + options_.timeout, .class_index = draw_class()};
  ++tallies_.total.calls;
  if (in_window(due)) {
    ++tallies_.by_class[attempt.class_index].calls;
  }
  if (led_by_ != nullptr) {
    attempt.led = led_by_->open(attempt.class_index, due);
    return lead(attempt);
  }
  begin_attempt(attempt);
}

// What the client half does not let go is no attempt.
void LoadEngine::lead(Attempt attempt) {
  if (attempt.led->send(Clock::now())) {
    attempt.give_up = attempt.led->give_up();
    begin_attempt(attempt);
  } else {
    end_call({.ending = Ending::held_back});
    finish_if_done();
  }
}

void LoadEngine::begin_attempt(const Attempt& attempt) {
  ++tallies_.total.offered;
  ++second_of(attempt.due).offered;
  bump(live_.offered);
  if (in_window(attempt.due)) {
    ++tallies_.by_class[attempt.class_index].offered;
    if (options_.closed == 0) {
      tallies_.lateness.record(Clock::now() - attempt.due);
    }
  }
  ++outstanding_;
  place(attempt);
}

// On an idle connection if there is one; the last used, so that the others may end.
void LoadEngine::place(const Attempt& attempt) {
  const std::string& head = attempt.led ? attempt.led->head() : heads_[attempt.class_index];
  while (!idle_.empty() && !attempt.was_stale) {
    const auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->is_idle()) {
      return connection->begin(attempt, head);
    }
  }
  std::make_shared<LoadConnection>(context_.get_executor(), shared_, *this)->begin(attempt, head);
}

void LoadEngine::on_outcome(const std::shared_ptr<LoadConnection>& connection,
                            const Attempt& attempt, const Outcome& outcome) {
  if (connection->is_idle()) {
    idle_.push_back(connection);
  }
  if (outcome.ending == Ending::stale) {
    ++tallies_.stale_retries;
    auto again = attempt;
    again.was_stale = true;
    return place(again);
  }
  --outstanding_;
  count(attempt, outcome);
  go_on(attempt, outcome);
  finish_if_done();
}

void LoadEngine::go_on(const Attempt& attempt, const Outcome& outcome) {
  const auto now = Clock::now();
  std::optional<Clock::time_point> next;
  if (attempt.led) {
    next = attempt.led->ended(outcome, now);
  } else if (should_retry(attempt, outcome)) {
    next = now + backoff(attempt, outcome);
  }
  if (next && issuing_) {
    retry(attempt, *next);
  } else {
    end_call(outcome);
  }
}

void LoadEngine::count(const Attempt& attempt, const Outcome& outcome) {
  auto& second = second_of(attempt.due);
  std::vector<Tally*> tallies{&tallies_.total};
  if (in_window(attempt.due)) {
    tallies.push_back(&tallies_.by_class[attempt.class_index]);
  }
  for (auto* tally : tallies) {
    tally->sent += outcome.sent ? 1 : 0;
    if (outcome.ending == Ending::answered) {
      count_answer(*tally, attempt, outcome.status);
    } else if (outcome.ending == Ending::timeout) {
      ++tally->timeouts;
    } else {
      ++tally->errors[name_of(outcome.ending)];
    }
  }
  if (outcome.ending == Ending::timeout) {
    ++second.timeouts;
    bump(live_.timeouts);
  } else if (outcome.ending != Ending::answered) {
    ++second.errors;
    bump(live_.errors);
  } else if (is_good(outcome.status)) {
    ++second.good;
    bump(live_.good);
    if (options_.expected_interval.count() > 0 && in_window(attempt.due)) {
      tallies_.corrected_latency.record_corrected(Clock::now() - attempt.call_due,
                                                  options_.expected_interval);
    }
  } else if (is_rejection(outcome.status)) {
    ++second.rejected;
    bump(live_.rejected);
  }
}

void LoadEngine::count_answer(Tally& tally, const Attempt& attempt, int status) {
  ++tally.answered[status];
  const auto now = Clock::now();
  if (is_good(status)) {
    tally.accepted_latency.record(now - attempt.call_due);
  } else if (is_rejection(status)) {
    tally.rejection_latency.record(now - attempt.due);
  }
}

bool LoadEngine::should_retry(const Attempt& attempt, const Outcome& outcome) const {
  const bool failed =
      outcome.ending != Ending::answered || outcome.status == 429 || outcome.status >= 500;
  return failed && options_.retries != Retries::off && attempt.number < options_.attempts;
}

void LoadEngine::retry(const Attempt& attempt, Clock::time_point when) {
  auto again = attempt;
  ++again.number;
  again.was_stale = false;
  again.due = when;
  again.give_up = when + options_.timeout;
  const auto timer = std::make_shared<boost::asio::steady_timer>(context_, again.due);
  timer->async_wait([this, timer, again](const error_code& error) {
    if (error || !issuing_) {
      return;
    }
    if (again.led) {
      lead(again);
    } else {
      begin_attempt(again);
    }
  });
}

nanoseconds LoadEngine::backoff(const Attempt& attempt, const Outcome& outcome) {
  if (options_.retries == Retries::now) {
    return nanoseconds{0};
  }
  const auto doublings = std::min(attempt.number - 1, 20u);
  const auto longest = std::min<nanoseconds>(kLongestBackoff, kFirstBackoff * (1 << doublings));
  const nanoseconds drawn{std::uniform_int_distribution<std::int64_t>{0, longest.count()}(random_)};
  return std::max<nanoseconds>(drawn, std::chrono::seconds{outcome.retry_after.value_or(0)});
}

void LoadEngine::end_call(const Outcome& outcome) {
  if (options_.closed == 0 || !issuing_) {
    return;
  }
  if (Clock::now() >= end_) {
    issuing_ = false;
    return;
  }
  if (outcome.ending == Ending::answered || outcome.ending == Ending::timeout) {
    return begin_call(Clock::now());
  }
  const auto timer = std::make_shared<boost::asio::steady_timer>(context_, kPauseAfterError);
  timer->async_wait([this, timer](const error_code& error) {
    if (!error && issuing_) {
      begin_call(Clock::now());
    }
  });
}

// Calls that still wait for their backoff end here: their callers' day is over.
void LoadEngine::finish_if_done() {
  if (!issuing_ && outstanding_ == 0) {
    context_.stop();
  }
}

SecondTally& LoadEngine::second_of(Clock::time_point due) {
  const auto second = std::chrono::floor<std::chrono::seconds>(due - start_).count();
  const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, second));
  if (index >= tallies_.per_second.size()) {
    tallies_.per_second.resize(index + 1);
  }
  return tallies_.per_second[index];
}

std::size_t LoadEngine::draw_class() {
  return options_.classes.empty() ? 0 : class_draw_(random_);
}

}  // namespace loadline::tools
