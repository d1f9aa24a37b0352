// The public face (loadline/threads.h); the work is in the engine.
#include <cstdio>
#include <exception>

#include "engine.h"

namespace loadline::threads {
namespace {

constexpr Duration kShortestLease = Duration::millis(100);
constexpr Duration kLongestLease = Duration::seconds(86'400);

PolicyError refuse(const char* field, const char* text) noexcept {
  PolicyError error;
  error.field = field;
  std::snprintf(error.text.data(), error.text.size(), "%.159s", text);
  return error;
}

PolicyError validate(const Policy& policy, const Options& options) noexcept {
  if (options.lease != Duration{} &&
      (options.lease < kShortestLease || options.lease > kLongestLease)) {
    PolicyError error;
    error.field = "lease";
    std::snprintf(error.text.data(), error.text.size(),
                  "lease %lld ms: allowed is 100 ms to 24 h, or 0 for none",
                  static_cast<long long>(options.lease.ns / 1'000'000));
    return error;
  }
  return loadline::validate(policy);
}

}  // namespace

// ---- Permit
// --------------------------------------------------------------------------------------

Permit::Permit(Permit&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)),
      gate_permit_(std::move(other.gate_permit_)),
      lease_(other.lease_),
      lane_(other.lane_),
      exceptions_(std::uncaught_exceptions()),
      deadline_(other.deadline_),
      caller_(std::move(other.caller_)) {}

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this != &other) {
    release(Outcome::ignored);
    engine_ = std::exchange(other.engine_, nullptr);
    gate_permit_ = std::move(other.gate_permit_);
    lease_ = other.lease_;
    lane_ = other.lane_;
    exceptions_ = std::uncaught_exceptions();
    deadline_ = other.deadline_;
    caller_ = std::move(other.caller_);
  }
  return *this;
}

Permit::~Permit() {
  release(std::uncaught_exceptions() > exceptions_ ? Outcome::failure : Outcome::ignored);
}

void Permit::release(Outcome ended) noexcept {
  if (Engine* const engine = std::exchange(engine_, nullptr); engine != nullptr) {
    engine->release(*this, ended);
  }
}

bool Permit::cancelled() const noexcept {
  return !held() || caller_.stop_requested() || engine_->lapsed(lease_) ||
         remaining() == Duration{};
}

Duration Permit::remaining() const noexcept {
  if (!held()) {
    return {};
  }
  return deadline_ == Instant::never() ? Duration::max()
                                       : std::max(deadline_ - engine_->now(), Duration{});
}

// ---- Rejection
// -----------------------------------------------------------------------------------

int Rejection::http_status() const noexcept {
  if (is_deadline(reason)) {
    return 504;
  }
  return reason == Reason::quota ? 429 : 503;
}

std::string_view Rejection::words() const noexcept {
  switch (reason) {
    case Reason::none:
      return "It was not turned away.";
    case Reason::limit:
      return "All that can be worked on at once is being worked on.";
    case Reason::queue_full:
      return "All that can be worked on at once is being worked on, and as many wait as may.";
    case Reason::wait_budget:
      return "It would have had to wait longer than it may.";
    case Reason::queue_timeout:
      return "It has waited as long as it may, and nothing came free.";
    case Reason::deadline_unmeetable:
      return "Its deadline is nearer than the work takes.";
    case Reason::deadline_expired:
      return "Its deadline has passed.";
    case Reason::displaced:
      return "It waited, and gave way to something more important or more modest.";
    case Reason::tenant_share:
      return "Its tenant has more waiting than its fair share.";
    case Reason::quota:
      return "Its key asks more often than it may.";
    case Reason::draining:
      return "This instance is about to stop and takes no more work.";
    case Reason::busy:
      return "The gate could not decide in time.";
  }
  return "It was turned away.";
}

// ---- Waiting
// -------------------------------------------------------------------------------------

bool Waiting::cancel() noexcept {
  return waiter_ != nullptr && waiter_->cancel();
}

// ---- Doorkeeper
// ----------------------------------------------------------------------------------

Opened Doorkeeper::open(Policy policy, Options options) noexcept {
  fill_defaults(policy);
  if (const PolicyError error = validate(policy, options); error.refused()) {
    return {.error = error};
  }
  Engine* engine = nullptr;
  try {
    engine = new Engine(policy, std::move(options));
  } catch (const std::exception&) {
    return {.error = refuse("system", "no memory or no thread to be had")};
  }
  if (!engine->started()) {
    const PolicyError error = engine->cpu_fault().any()
                                  ? refuse("signals", engine->cpu_fault().text.data())
                                  : refuse("system", "the gate could not be made");
    engine->abandon();
    return {.error = error};
  }
  return {.door = Doorkeeper(engine)};
}

Doorkeeper& Doorkeeper::operator=(Doorkeeper&& other) noexcept {
  if (this != &other) {
    const Doorkeeper old(std::move(*this));
    engine_ = std::exchange(other.engine_, nullptr);
  }
  return *this;
}

Doorkeeper::~Doorkeeper() {
  if (engine_ != nullptr) {
    engine_->abandon();
  }
}

Request Doorkeeper::request(Duration patience) const noexcept {
  return engine_->request(patience);
}

int Doorkeeper::find_class(std::string_view name) const noexcept {
  return engine_->find_class(name);
}

int Doorkeeper::find_group(std::string_view name) const noexcept {
  return engine_->find_group(name);
}

Instant Doorkeeper::now() const noexcept {
  return engine_->now();
}

Answer Doorkeeper::try_acquire(const Request& request, std::stop_token caller,
                               std::string_view name) noexcept {
  return engine_->ask(request, false, std::move(caller), name);
}

Answer Doorkeeper::acquire(const Request& request, std::stop_token caller,
                           std::string_view name) noexcept {
  return engine_->ask(request, true, std::move(caller), name);
}

Waiting Doorkeeper::start(const Request& request, std::unique_ptr<detail::Callback> callback,
                          std::stop_token caller, std::string_view name) {
  auto waiter = std::make_shared<AsyncWaiter>(*engine_, std::move(callback), request.deadline,
                                              std::move(caller), name);
  engine_->ask(request, waiter);
  return Waiting(std::move(waiter));
}

PolicyError Doorkeeper::reconfigure(Policy policy) noexcept {
  fill_defaults(policy);
  return engine_->reconfigure(policy);
}

bool Doorkeeper::set_limit(std::uint32_t limit) noexcept {
  return engine_->set_limit(limit);
}
void Doorkeeper::set_mode(Mode mode) noexcept {
  engine_->set_mode(mode);
}
void Doorkeeper::set_draining(bool draining) noexcept {
  engine_->set_draining(draining);
}
void Doorkeeper::close() noexcept {
  engine_->close();
}
bool Doorkeeper::report(std::string_view signal, double value) noexcept {
  return engine_->report(signal, value);
}

std::size_t Doorkeeper::limit_events(std::uint64_t& next,
                                     std::span<LimitEvent> out) const noexcept {
  return engine_->limit_events(next, out);
}
Snapshot Doorkeeper::snapshot() const noexcept {
  return engine_->snapshot();
}

}  // namespace loadline::threads
