// Changes to a running gate: POST ?gate=NAME&limit=20&mode=observe&draining=on. `limit` may also
// name a law that finds it, where the gate was made with room for one.
//
// All of the request is checked before any of it is done.
#include <algorithm>
#include <optional>

#include "pages.h"
#include "worker.h"

namespace loadline::ngx {
namespace {

constexpr std::string_view kPlain = "text/plain";

struct Change {
  HostedGate* hosted = nullptr;
  std::optional<std::uint32_t> limit;
  std::optional<Law> law;
  std::optional<Mode> mode;
  std::optional<bool> draining;

  [[nodiscard]] bool empty() const noexcept { return !limit && !law && !mode && !draining; }
};

// What is wrong with a request: a line of at most this many bytes.
class Refusal {
 public:
  template <class... Args>
  void set(const char* format, Args... args) noexcept {
    const u_char* end = ngx_snprintf(text_, sizeof text_, format, args...);
    length_ = static_cast<std::size_t>(end - text_);
  }
  [[nodiscard]] bool any() const noexcept { return length_ != 0; }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(text_), length_};
  }

 private:
  u_char text_[256];
  std::size_t length_ = 0;
};

HostedGate* find_gate(const MainConf& conf, std::string_view name) noexcept {
  const Gates gates = gates_of(conf);
  auto** const found =
      std::find_if(gates.begin(), gates.end(),
                   [name](const HostedGate* candidate) { return view(candidate->name) == name; });
  return found == gates.end() ? nullptr : *found;
}

void read_gate(ngx_str_t& value, const MainConf& conf, Change& change, Refusal& refusal) noexcept {
  change.hosted = find_gate(conf, view(value));
  if (change.hosted == nullptr) {
    refusal.set("no gate is named \"%V\"\n", &value);
  }
}

void read_limit(ngx_str_t& value, Change& change, Refusal& refusal) noexcept {
  const ngx_int_t limit = ngx_atoi(value.data, value.len);
  const Law law = law_of(view(value)).value_or(Law::fixed);
  if (law != Law::fixed) {
    change.law = law;
    return;
  }
  if (limit < 1 || limit > ngx_int_t{kMaxLimit}) {
    refusal.set("invalid limit \"%V\": must be a whole number from 1 to %uD, or auto\n", &value,
                kMaxLimit);
    return;
  }
  change.limit = static_cast<std::uint32_t>(limit);
}

void read_mode(ngx_str_t& value, Change& change, Refusal& refusal) noexcept {
  Mode mode = Mode::on;
  if (find_mode(view(value), mode)) {
    change.mode = mode;
    return;
  }
  refusal.set("invalid mode \"%V\": must be on, observe or off\n", &value);
}

void read_draining(ngx_str_t& value, Change& change, Refusal& refusal) noexcept {
  if (view(value) == "on" || view(value) == "off") {
    change.draining = view(value) == "on";
    return;
  }
  refusal.set("invalid draining \"%V\": must be on or off\n", &value);
}

void read_argument(ngx_str_t key, ngx_str_t value, const MainConf& conf, Change& change,
                   Refusal& refusal) noexcept {
  if (view(key) == "gate") {
    read_gate(value, conf, change, refusal);
  } else if (view(key) == "limit") {
    read_limit(value, change, refusal);
  } else if (view(key) == "mode") {
    read_mode(value, change, refusal);
  } else if (view(key) == "draining") {
    read_draining(value, change, refusal);
  } else {
    refusal.set("unknown argument \"%V\": gate, limit, mode and draining are known\n", &key);
  }
}

ngx_str_t part(u_char* begin, u_char* end) noexcept {
  return {static_cast<std::size_t>(end - begin), begin};
}

Change read_change(ngx_http_request_t* r, const MainConf& conf, Refusal& refusal) noexcept {
  Change change;
  u_char* const end = r->args.data + r->args.len;
  for (u_char* at = r->args.data; at < end && !refusal.any();) {
    u_char* const stop = std::find(at, end, '&');
    u_char* const equal = std::find(at, stop, '=');
    read_argument(part(at, equal), equal == stop ? ngx_str_t{} : part(equal + 1, stop), conf,
                  change, refusal);
    at = stop == end ? end : stop + 1;
  }
  return change;
}

// What only shows when everything has been read.
void check(const MainConf& conf, Change& change, Refusal& refusal) noexcept {
  const Gates gates = gates_of(conf);
  if (refusal.any()) {
    return;
  }
  if (change.empty()) {
    refusal.set("nothing to change: give limit=N|auto, mode=on|observe|off or draining=on|off\n");
    return;
  }
  if (change.hosted == nullptr && gates.size() == 1) {
    change.hosted = *gates.begin();
  }
  if (change.hosted == nullptr) {
    refusal.set("which gate? There are %uz: give gate=NAME\n", gates.size());
    return;
  }
  if (change.law && change.hosted->gate.valid() && change.hosted->gate.capacity().learns == 0) {
    refusal.set(
        "gate \"%V\" was made with a fixed limit: give it limit=auto in the file, and reload\n",
        &change.hosted->name);
  }
}

// `set` may find the gate's lock taken; it waits for a while by itself.
template <class Set>
bool try_to(HostedGate& hosted, Set set) noexcept {
  constexpr int kAttempts = 5;
  Signals signals;
  bool done = false;
  for (int i = 0; i < kAttempts && !done; ++i) {
    done = set(signals);
  }
  wake(hosted, signals);
  return done;
}

bool set_limit(HostedGate& hosted, std::uint32_t limit, Instant now) noexcept {
  return try_to(hosted,
                [&](Signals& signals) { return hosted.gate.set_limit(limit, now, signals); });
}

bool set_law(HostedGate& hosted, Law law, Instant now) noexcept {
  Policy policy = hosted.policy;
  policy.law = law;
  return try_to(hosted,
                [&](Signals& signals) { return hosted.gate.reconfigure(policy, now, signals); });
}

bool apply(const Change& change) noexcept {
  HostedGate& hosted = *change.hosted;
  const Instant now = monotonic_now();
  if (!hosted.gate.valid() || (change.limit && !set_limit(hosted, *change.limit, now)) ||
      (change.law && !set_law(hosted, *change.law, now))) {
    return false;
  }
  if (change.mode) {
    wake(hosted, hosted.gate.set_mode(*change.mode, now));
  }
  if (change.draining) {
    wake(hosted, hosted.gate.set_draining(*change.draining, now));
  }
  return true;
}

ngx_int_t refuse_method(ngx_http_request_t* r) noexcept {
  auto* allow = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (allow == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  *allow = {};
  allow->hash = 1;
  allow->key = constant("Allow");
  allow->value = constant("POST");
  return NGX_HTTP_NOT_ALLOWED;
}

}  // namespace

ngx_int_t take_control(ngx_http_request_t* r) noexcept {
  if (r->method != NGX_HTTP_POST) {
    return refuse_method(r);
  }
  const ngx_int_t discarded = ngx_http_discard_request_body(r);
  if (discarded != NGX_OK) {
    return discarded;
  }
  const MainConf& conf = main_conf(r);
  Text out(r->pool);
  Refusal refusal;
  Change change = read_change(r, conf, refusal);
  check(conf, change, refusal);
  if (refusal.any()) {
    out << refusal.text();
    return out.send(r, NGX_HTTP_BAD_REQUEST, kPlain);
  }
  if (!apply(change)) {
    out << "the gate is busy; nothing was changed, try again\n";
    return out.send(r, NGX_HTTP_SERVICE_UNAVAILABLE, kPlain);
  }
  write_status(out, conf);
  return out.send(r, NGX_HTTP_OK, "application/json");
}

}  // namespace loadline::ngx
