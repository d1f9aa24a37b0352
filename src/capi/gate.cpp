// The functions of loadline.h that speak with a gate. Each keeps C++ exceptions to itself: what can
// throw is memory alone, and it is asked for with std::nothrow or inside a try.
#include <exception>
#include <new>
#include <utility>

#include "handles.h"

namespace loadline::capi {
namespace {

using threads::Answer;
using threads::Doorkeeper;
using threads::Options;

// Both are literals in what they come from, and so end with a NUL.
const char* c_string(std::string_view literal) noexcept {
  return literal.data();
}

// What the program said, with the defaults for what it did not know.
loadline_request read(const loadline_request* request) noexcept {
  const loadline_request defaults = LOADLINE_REQUEST_INIT;
  return request == nullptr ? defaults : read_sized(*request, defaults);
}

std::uint64_t key_of(const char* name) noexcept {
  return name == nullptr || *name == '\0' ? 0 : hash_key(name);
}

Request translate(const Doorkeeper& door, const loadline_request& request) noexcept {
  Request asked = door.request(Duration{request.patience_ns});
  if (request.importance >= 0) {
    asked.importance =
        static_cast<std::uint8_t>(std::min<std::int32_t>(request.importance, kMaxClasses));
  }
  asked.cost = request.cost;
  asked.tenant = key_of(request.tenant);
  asked.quota = key_of(request.quota);
  asked.group = request.group >= 0 && request.group < Request::kNoGroup
                    ? static_cast<std::uint8_t>(request.group)
                    : Request::kNoGroup;
  asked.exempt = request.exempt != 0;
  asked.may_wait = request.no_wait == 0;
  return asked;
}

std::stop_token caller_of(const loadline_request& request) noexcept {
  return request.caller == nullptr ? std::stop_token() : request.caller->source.get_token();
}

std::string_view name_of(const loadline_request& request) noexcept {
  return request.name == nullptr ? std::string_view() : std::string_view(request.name);
}

loadline_answer translate(Answer answer) noexcept {
  loadline_answer out = LOADLINE_ANSWER_INIT;
  out.kind = answer.kind == Answer::Kind::cancelled ? LOADLINE_CANCELLED : LOADLINE_REJECTED;
  if (answer) {
    out.permit = new (std::nothrow) loadline_permit{std::move(answer.permit)};
    if (out.permit != nullptr) {
      out.kind = LOADLINE_ADMITTED;
    } else {
      answer.rejection = {Reason::busy, 1};
    }
  }
  out.reason = c_string(name(answer.rejection.reason));
  out.words = c_string(answer.rejection.words());
  if (out.kind == LOADLINE_REJECTED) {
    out.http_status = static_cast<std::uint32_t>(answer.rejection.http_status());
    out.retry_after_s = answer.rejection.retry_after;
  }
  return out;
}

// A program that does not know the whole answer up to its permit could not give that back.
constexpr std::size_t kLeastAnswer = offsetof(loadline_answer, permit) + sizeof(loadline_permit*);

int ask(loadline_gate* gate, const loadline_request* request, loadline_answer* answer,
        Answer (Doorkeeper::*way)(const Request&, std::stop_token, std::string_view) noexcept) {
  if (gate == nullptr || answer == nullptr || answer->size < kLeastAnswer) {
    return LOADLINE_REJECTED;
  }
  const loadline_request asked = read(request);
  const loadline_answer out =
      translate((gate->door.*way)(translate(gate->door, asked), caller_of(asked), name_of(asked)));
  write_sized(*answer, out);
  return out.kind;
}

Options options_of(const loadline_policy& policy) {
  Options options{.lease = policy.lease};
  if (policy.expired != nullptr) {
    options.on_expired_lease = [call = policy.expired,
                                user = policy.expired_user](const threads::ExpiredLease& lease) {
      call(lease.name.view().data(), lease.importance, lease.held.ns, user);
    };
  }
  return options;
}

loadline_gate* open(const loadline_policy& given, char* error, size_t error_size) {
  Policy policy = given.policy;
  fill_defaults(policy);
  if (given.default_class[0] != '\0') {
    const int index = find_class(policy, given.default_class);
    if (index < 0) {
      say(error, error_size, "default_class: there is no class '%s'", given.default_class);
      return nullptr;
    }
    policy.default_class = static_cast<std::uint8_t>(index);
  }
  threads::Opened opened = Doorkeeper::open(policy, options_of(given));
  if (!opened.door) {
    say(error, error_size, "%s: %s", opened.error.field, opened.error.text.data());
    return nullptr;
  }
  return new loadline_gate{std::move(opened.door)};
}

}  // namespace
}  // namespace loadline::capi

using namespace loadline::capi;
using loadline::Mode;
using loadline::Outcome;
using loadline::Reason;

uint32_t loadline_version(void) {
  return LOADLINE_VERSION_NUMBER;
}
const char* loadline_version_string(void) {
  return LOADLINE_VERSION;
}

// ---- Gate
// ----------------------------------------------------------------------------------------

loadline_gate* loadline_gate_open(const loadline_policy* policy, char* error, size_t error_size) {
  if (policy == nullptr) {
    say(error, error_size, "policy must not be null");
    return nullptr;
  }
  try {
    return open(*policy, error, error_size);
  } catch (const std::exception&) {
    say(error, error_size, "system: no memory to be had");
    return nullptr;
  }
}

void loadline_gate_close(loadline_gate* gate) {
  if (gate != nullptr) {
    gate->door.close();
  }
}

void loadline_gate_free(loadline_gate* gate) {
  delete gate;
}

int loadline_gate_class(const loadline_gate* gate, const char* name) {
  return gate == nullptr || name == nullptr ? -1 : gate->door.find_class(name);
}

int loadline_gate_group(const loadline_gate* gate, const char* name) {
  return gate == nullptr || name == nullptr ? -1 : gate->door.find_group(name);
}

int loadline_gate_set_limit(loadline_gate* gate, uint32_t limit) {
  return gate != nullptr && gate->door.set_limit(limit) ? 1 : 0;
}

int loadline_gate_report(loadline_gate* gate, const char* signal, double value) {
  return gate != nullptr && signal != nullptr && gate->door.report(signal, value) ? 1 : 0;
}

int loadline_gate_set_mode(loadline_gate* gate, int mode) {
  if (gate == nullptr || mode < LOADLINE_ON || mode > LOADLINE_OFF) {
    return 0;
  }
  constexpr Mode kModes[] = {Mode::on, Mode::observe, Mode::off};
  gate->door.set_mode(kModes[mode]);
  return 1;
}

void loadline_gate_set_draining(loadline_gate* gate, int draining) {
  if (gate != nullptr) {
    gate->door.set_draining(draining != 0);
  }
}

// ---- Caller
// --------------------------------------------------------------------------------------

loadline_caller* loadline_caller_new(void) {
  try {
    return new loadline_caller;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void loadline_caller_left(loadline_caller* caller) {
  if (caller != nullptr) {
    caller->source.request_stop();
  }
}

void loadline_caller_free(loadline_caller* caller) {
  delete caller;
}

// ---- Asking
// --------------------------------------------------------------------------------------

int loadline_try_acquire(loadline_gate* gate, const loadline_request* request,
                         loadline_answer* answer) {
  return ask(gate, request, answer, &Doorkeeper::try_acquire);
}

int loadline_acquire(loadline_gate* gate, const loadline_request* request,
                     loadline_answer* answer) {
  return ask(gate, request, answer, &Doorkeeper::acquire);
}

int loadline_async_acquire(loadline_gate* gate, const loadline_request* request,
                           loadline_callback callback, void* user) {
  if (gate == nullptr || callback == nullptr) {
    return 0;
  }
  const loadline_request asked = read(request);
  try {
    gate->door.async_acquire(
        translate(gate->door, asked),
        [callback, user](Answer answer) {
          const loadline_answer out = translate(std::move(answer));
          callback(&out, user);
        },
        caller_of(asked), name_of(asked));
    return 1;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

// ---- Permit
// --------------------------------------------------------------------------------------

void loadline_permit_release(loadline_permit* permit, int outcome) {
  if (permit == nullptr) {
    return;
  }
  switch (outcome) {
    case LOADLINE_SUCCESS:
      permit->permit.succeed();
      break;
    case LOADLINE_FAILURE:
      permit->permit.fail();
      break;
    case LOADLINE_LATE:
      permit->permit.release(Outcome::late);
      break;
    default:
      permit->permit.release(Outcome::ignored);
  }
  delete permit;
}

int loadline_permit_cancelled(const loadline_permit* permit) {
  return permit == nullptr || permit->permit.cancelled() ? 1 : 0;
}

int64_t loadline_permit_remaining_ns(const loadline_permit* permit) {
  return permit == nullptr ? 0 : permit->permit.remaining().ns;
}

// ---- Numbers
// -------------------------------------------------------------------------------------

int loadline_gate_numbers(const loadline_gate* gate, loadline_numbers* numbers) {
  if (gate == nullptr || numbers == nullptr || numbers->size < sizeof numbers->size) {
    return 0;
  }
  const loadline::threads::Snapshot all = gate->door.snapshot();
  loadline_numbers out = LOADLINE_NUMBERS_INIT;
  out.limit = all.gate.limit;
  out.in_flight = all.gate.in_flight;
  out.waiting = all.gate.waiting;
  out.rejected = all.busy + all.after_close;
  for (const loadline::Snapshot::Class& c : all.gate.classes) {
    out.admitted += c.admitted;
    out.cancelled += c.cancelled;
    for (const std::uint64_t count : c.rejected) {
      out.rejected += count;
    }
  }
  out.leases_expired = all.leases_expired;
  out.returned_late = all.returned_late;
  out.service_mean_ns = all.gate.service_mean.ns;
  out.law = static_cast<std::uint32_t>(all.gate.law);
  out.searching = all.gate.searching ? 1 : 0;
  out.limit_events = all.gate.limit_events;
  write_sized(*numbers, out);
  return 1;
}

uint64_t loadline_gate_rejected(const loadline_gate* gate, int importance, const char* reason) {
  if (gate == nullptr || reason == nullptr) {
    return 0;
  }
  const loadline::threads::Snapshot all = gate->door.snapshot();
  std::uint64_t count = 0;
  for (std::uint32_t r = 0; r < loadline::kReasons; ++r) {
    if (loadline::name(static_cast<loadline::Reason>(r)) != reason) {
      continue;
    }
    for (int c = 0; c < static_cast<int>(all.gate.class_count); ++c) {
      count += importance == -1 || importance == c ? all.gate.classes[c].rejected[r] : 0;
    }
  }
  // What the gate did not see has no class.
  if (importance == -1 && reason == loadline::name(Reason::busy)) {
    count += all.busy;
  }
  if (importance == -1 && reason == loadline::name(Reason::draining)) {
    count += all.after_close;
  }
  return count;
}

const char* loadline_reason_name(uint32_t index) {
  return index < loadline::kReasons ? c_string(loadline::name(static_cast<loadline::Reason>(index)))
                                    : nullptr;
}

const char* loadline_law_name(uint32_t index) {
  return index < loadline::kLaws ? c_string(loadline::name(static_cast<loadline::Law>(index)))
                                 : nullptr;
}
