// The pieces of docs/library.md that stand in none of the servers. A test runs them.
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "loadline/threads.h"

using namespace std::chrono_literals;
using loadline::Duration;
using loadline::threads::Answer;
using loadline::threads::Doorkeeper;
using loadline::threads::ExpiredLease;
using loadline::threads::Options;
using loadline::threads::Permit;
using loadline::threads::to_chrono;

// ---- A policy, and what is said of one that is not sound
// -----------------------------------------

loadline::Policy policy_of_a_shop() {
  loadline::Policy policy;
  policy.limit = 64;
  policy.wait_budget = Duration::millis(50);
  add_class(policy, "checkout");
  add_class(policy, "browse");
  add_class(policy, "crawler", 500);  // at most half of the limit
  policy.default_class = 1;
  return policy;
}

Doorkeeper open_shop() {
  auto [door, error] = Doorkeeper::open(policy_of_a_shop());
  if (!door) {
    std::cerr << error.field << ": " << error.text.data() << "\n";
  }
  return std::move(door);
}

loadline::Request crawler_request(const Doorkeeper& door) {
  loadline::Request request = door.request(250ms);
  request.importance = static_cast<std::uint8_t>(door.find_class("crawler"));
  request.may_wait = false;
  return request;
}

// ---- Deadlines and callers
// -----------------------------------------------------------------------

// What the next service is told: the milliseconds that are left, rounded down.
std::string deadline_header(const Permit& permit) {
  if (permit.deadline() == loadline::Instant::never()) {
    return "";
  }
  return "X-Deadline-Ms: " + std::to_string(permit.remaining().ns / 1'000'000) + "\r\n";
}

// Waits for a result no longer than anybody waits for the answer.
bool wait_for_result(const Permit& permit, std::mutex& mutex, std::condition_variable_any& changed,
                     const bool& ready) {
  std::unique_lock lock(mutex);
  // Far enough for a request without a deadline, and no overflow.
  const auto longest = std::min<std::chrono::nanoseconds>(to_chrono(permit.remaining()), 24h);
  return changed.wait_for(lock, permit.stop_token(), longest, [&] { return ready; });
}

bool caller_leaves(Doorkeeper& door) {
  std::stop_source caller;  // one a request; its copies stand for the same caller
  Answer answer = door.acquire(door.request(), caller.get_token());
  std::thread watches_the_connection([caller]() mutable { caller.request_stop(); });
  std::mutex mutex;
  std::condition_variable_any changed;
  const bool ready = wait_for_result(answer.permit, mutex, changed, false);
  watches_the_connection.join();
  return !ready && answer.permit.cancelled();
}

// ---- Leases
// --------------------------------------------------------------------------------------

Options with_leases() {
  return {.lease = Duration::seconds(30), .on_expired_lease = [](const ExpiredLease& lease) {
            std::fprintf(stderr, "%s has held its slot for %lld s\n", lease.name.view().data(),
                         static_cast<long long>(lease.held.ns / 1'000'000'000));
          }};
}

// ---- What it says about itself
// -------------------------------------------------------------------

void print(const Doorkeeper& door) {
  const loadline::threads::Snapshot now = door.snapshot();
  std::cout << now.gate.in_flight << " of " << now.gate.limit << ", " << now.gate.waiting
            << " waiting\n";
  for (std::uint32_t r = 1; r < loadline::kReasons; ++r) {
    std::uint64_t rejected = 0;
    for (const auto& of_class : now.gate.classes) {
      rejected += of_class.rejected[r];
    }
    std::cout << name(static_cast<loadline::Reason>(r)) << ": " << rejected << "\n";
  }
}

int main() {
  Doorkeeper door = open_shop();
  Answer answer = door.try_acquire(crawler_request(door));
  const bool handed_on = deadline_header(answer.permit).starts_with("X-Deadline-Ms: 2");
  const bool left = caller_leaves(door);
  print(door);
  const Doorkeeper leased = std::move(Doorkeeper::open(policy_of_a_shop(), with_leases()).door);
  return handed_on && left && leased ? 0 : 1;
}
