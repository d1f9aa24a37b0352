#include "gate_parameters.h"

#include <algorithm>
#include <iterator>

#include "reading.h"
#include "rules_parse.h"

namespace loadline::ngx {
namespace {

constexpr std::uint32_t kMostGuaranteed = 90;  // percent
constexpr std::uint32_t kMostTenantsOfGroup = 1000;
constexpr std::uint32_t kMostBurst = 1'000'000;
constexpr std::uint32_t kMostExempt = 1000;

// "a, b, c", for a message. What does not fit is left out.
class Listing {
 public:
  void add(std::string_view word) noexcept {
    const ngx_str_t text = constant(word);
    end_ = ngx_slprintf(end_, text_ + sizeof text_, "%s%V", end_ == text_ ? "" : ", ", &text);
  }
  [[nodiscard]] ngx_str_t text() noexcept {
    return {static_cast<std::size_t>(end_ - text_), text_};
  }

 private:
  u_char text_[400];
  u_char* end_ = text_;
};

// NAME or NAME:VALUE; the value's data is null where there is none.
struct Item {
  ngx_str_t whole;
  ngx_str_t name;
  ngx_str_t value;
};

Item item_of(u_char* begin, u_char* end) noexcept {
  u_char* const colon = std::find(begin, end, ':');
  Item item{{static_cast<std::size_t>(end - begin), begin},
            {static_cast<std::size_t>(colon - begin), begin},
            {}};
  if (colon != end) {
    item.value = {static_cast<std::size_t>(end - colon - 1), colon + 1};
  }
  return item;
}

// Calls `read` with each item of a list between commas, up to the first that it refuses.
template <class Read>
char* read_list(ngx_str_t list, Read read) noexcept {
  u_char* const end = list.data + list.len;
  for (u_char* at = list.data;; ++at) {
    u_char* const comma = std::find(at, end, ',');
    if (read(item_of(at, comma)) != NGX_CONF_OK) {
      return kError;
    }
    at = comma;
    if (comma == end) {
      return NGX_CONF_OK;
    }
  }
}

char* check_name(ngx_conf_t* cf, const char* what, ngx_str_t& name) noexcept {
  if (is_name(name) && name.len <= kMaxClassName) {
    return NGX_CONF_OK;
  }
  return refuse(cf,
                "invalid %s name \"%V\" in \"loadline_gate\": must be 1 to %uD letters, digits, "
                "\"_\", \"-\" or \".\"",
                what, &name, kMaxClassName);
}

// The class so named in a parameter that comes after `classes=`; -1: it has been refused.
int class_named(ngx_conf_t* cf, Policy& policy, ngx_str_t& name, const char* parameter) noexcept {
  fill_defaults(policy);
  const int index = find_class_in_any_case(policy, view(name));
  if (index < 0) {
    Listing known;
    for (std::uint32_t i = 0; i < policy.class_count; ++i) {
      known.add(policy.classes[i].name_view());
    }
    const ngx_str_t text = known.text();
    refuse(cf, "unknown class \"%V\" in \"%s\" of \"loadline_gate\": must be one of %V", &name,
           parameter, &text);
  }
  return index;
}

char* read_limit(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  if (const auto limit = parse_whole(view(value), 1, kMaxLimit)) {
    hosted.policy.limit = *limit;
    return NGX_CONF_OK;
  }
  hosted.policy.law = law_of(view(value)).value_or(Law::fixed);
  if (hosted.policy.law != Law::fixed) {
    return NGX_CONF_OK;
  }
  Listing known;
  for (std::uint32_t i = 1; i < kLaws; ++i) {
    known.add(name(static_cast<Law>(i)));
  }
  const ngx_str_t text = known.text();
  return refuse(
      cf,
      "invalid limit \"%V\" in \"loadline_gate\": must be a whole number from 1 to %uD, or "
      "a law that finds it: %V",
      &value, kMaxLimit, &text);
}

// One of the numbers that only mean something where a law finds the limit.
char* read_limit_number(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted, const char* name,
                        std::uint32_t& number) noexcept {
  if (hosted.policy.law == Law::fixed) {
    return refuse(cf,
                  "\"%s=%V\" in \"loadline_gate\" needs a law that finds the limit, as in "
                  "\"limit=auto\"",
                  name, &value);
  }
  const auto given = parse_whole(view(value), 1, kMaxLimit);
  if (!given) {
    return refuse(cf,
                  "invalid %s \"%V\" in \"loadline_gate\": must be a whole number from 1 to %uD",
                  name, &value, kMaxLimit);
  }
  number = *given;
  return NGX_CONF_OK;
}

char* read_limit_least(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  return read_limit_number(cf, value, hosted, "limit_least", hosted.policy.limit_least);
}

char* read_limit_most(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  return read_limit_number(cf, value, hosted, "limit_most", hosted.policy.limit_most);
}

char* read_limit_from(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  return read_limit_number(cf, value, hosted, "limit_from", hosted.policy.limit);
}

char* read_signal(ngx_conf_t* cf, Item item, Policy& policy) noexcept {
  const auto at_most = parse_signal_value(view(item.value));
  if (!at_most || *at_most <= 0) {
    return refuse(cf,
                  "invalid signal \"%V\" in \"loadline_gate\": must be NAME:VALUE, with a value "
                  "above 0, as in \"cpu_pressure:20%%\", \"db_latency:50ms\" or \"queue:12\"",
                  &item.whole);
  }
  if (!is_name(item.name) || item.name.len > kMaxSignalName) {
    return refuse(cf,
                  "invalid signal name \"%V\" in \"loadline_gate\": must be 1 to %uD letters, "
                  "digits, \"_\", \"-\" or \".\"",
                  &item.name, kMaxSignalName);
  }
  if (find_signal(policy, view(item.name)) >= 0) {
    return refuse(cf, "duplicate signal \"%V\" in \"loadline_gate\"", &item.name);
  }
  if (!add_signal(policy, view(item.name), *at_most)) {
    return refuse(cf, "too many signals in \"loadline_gate\": at most %uD are allowed",
                  kMaxSignals);
  }
  return NGX_CONF_OK;
}

char* read_signals(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  Policy& policy = hosted.policy;
  if (policy.law == Law::fixed) {
    return refuse(cf,
                  "\"signals=%V\" in \"loadline_gate\" needs a law that finds the limit, as in "
                  "\"limit=auto\"",
                  &value);
  }
  return read_list(value, [cf, &policy](Item item) { return read_signal(cf, item, policy); });
}

char* read_queue(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  QueueSize& queue = hosted.policy.queue;
  if (view(value) == "auto") {
    queue = QueueSize::sized_by_budget();
  } else if (view(value) == "off") {
    queue = QueueSize::none();
  } else if (const auto entries = parse_whole(view(value), 1, kMaxQueue)) {
    queue = QueueSize::at_most(*entries);
  } else {
    return refuse(cf,
                  "invalid queue \"%V\" in \"loadline_gate\": must be \"auto\", \"off\" or a whole "
                  "number from 1 to %uD",
                  &value, kMaxQueue);
  }
  return NGX_CONF_OK;
}

char* read_wait(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  constexpr ngx_int_t kLongest = 3'600'000;
  const ngx_int_t milliseconds = ngx_parse_time(&value, 0);
  if (milliseconds == NGX_ERROR || milliseconds < 1 || milliseconds > kLongest) {
    return refuse(cf, "invalid wait \"%V\" in \"loadline_gate\": must be a time from 1ms to 1h",
                  &value);
  }
  hosted.policy.wait_budget = Duration::millis(milliseconds);
  return NGX_CONF_OK;
}

char* read_order(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  if (find_discipline(view(value), hosted.policy.discipline)) {
    return NGX_CONF_OK;
  }
  return refuse(
      cf, "invalid order \"%V\" in \"loadline_gate\": must be \"adaptive\", \"fifo\" or \"lifo\"",
      &value);
}

char* read_mode(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  if (find_mode(view(value), hosted.mode)) {
    return NGX_CONF_OK;
  }
  return refuse(cf,
                "invalid mode \"%V\" in \"loadline_gate\": must be \"on\", \"observe\" or \"off\"",
                &value);
}

char* read_class(ngx_conf_t* cf, Item item, Policy& policy) noexcept {
  std::uint16_t share = 0;  // none given
  if (item.value.data != nullptr) {
    const auto given = parse_percent(view(item.value), 100);
    if (!given) {
      return refuse(cf,
                    "invalid share in class \"%V\" in \"loadline_gate\": must be from 1%% to 100%%",
                    &item.whole);
    }
    share = *given;
  }
  if (check_name(cf, "class", item.name) != NGX_CONF_OK) {
    return kError;
  }
  if (find_class_in_any_case(policy, view(item.name)) >= 0) {
    return refuse(cf, "duplicate class \"%V\" in \"loadline_gate\"", &item.name);
  }
  if (!add_class(policy, view(item.name), share)) {
    return refuse(cf, "too many classes in \"loadline_gate\": at most %uD are allowed",
                  kMaxClasses);
  }
  return NGX_CONF_OK;
}

// A class may not fill more than a more important one. Without a share of its own it fills as much.
char* check_shares(ngx_conf_t* cf, const Policy& policy) noexcept {
  constexpr std::uint32_t kAll = 1000;
  constexpr std::uint32_t kPercent = 10;
  std::uint32_t above = kAll;
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    const ClassPolicy& here = policy.classes[i];
    const std::uint32_t share = here.share == 0 ? above : here.share;
    if (share > above) {
      return refuse(cf,
                    "class \"%s\" in \"loadline_gate\" may fill %uD%% of the limit, and a more "
                    "important class only %uD%%: shares must not grow towards the less important",
                    here.name.data(), share / kPercent, above / kPercent);
    }
    above = share;
  }
  return NGX_CONF_OK;
}

char* read_classes(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  Policy& policy = hosted.policy;
  if (read_list(value, [cf, &policy](Item item) { return read_class(cf, item, policy); }) !=
      NGX_CONF_OK) {
    return kError;
  }
  policy.default_class =
      static_cast<std::uint8_t>(std::max(find_class_in_any_case(policy, "critical"), 0));
  return check_shares(cf, policy);
}

char* read_default(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  const int index = class_named(cf, hosted.policy, value, "default=");
  if (index < 0) {
    return kError;
  }
  hosted.policy.default_class = static_cast<std::uint8_t>(index);
  return NGX_CONF_OK;
}

char* read_guarantee(ngx_conf_t* cf, Item item, Policy& policy) noexcept {
  const auto percent = parse_percent(view(item.value), kMostGuaranteed);
  if (!percent) {
    return refuse(
        cf,
        "invalid guarantee \"%V\" in \"loadline_gate\": must be CLASS:PERCENT%%, from 1%% "
        "to %uD%%",
        &item.whole, kMostGuaranteed);
  }
  const int index = class_named(cf, policy, item.name, "guarantee=");
  if (index < 0) {
    return kError;
  }
  std::uint16_t& guarantee = policy.classes[static_cast<std::size_t>(index)].guarantee;
  if (guarantee != 0) {
    return refuse(cf, "duplicate class \"%V\" in \"guarantee=\" of \"loadline_gate\"", &item.name);
  }
  guarantee = *percent;
  return NGX_CONF_OK;
}

char* read_guarantees(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  Policy& policy = hosted.policy;
  return read_list(value, [cf, &policy](Item item) { return read_guarantee(cf, item, policy); });
}

char* read_heavy(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  const auto share = parse_percent(view(value), 100);
  if (!share) {
    return refuse(cf, "invalid heavy \"%V\" in \"loadline_gate\": must be from 1%% to 100%%",
                  &value);
  }
  hosted.policy.heavy_share = *share;
  return NGX_CONF_OK;
}

char* read_tenants(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  const auto tenants = parse_whole(view(value), 1, kMaxTenants);
  if (!tenants) {
    return refuse(
        cf, "invalid tenants \"%V\" in \"loadline_gate\": must be a whole number from 1 to %uD",
        &value, kMaxTenants);
  }
  hosted.policy.tenants = *tenants;
  return NGX_CONF_OK;
}

char* read_group(ngx_conf_t* cf, Item item, Policy& policy) noexcept {
  const auto tenants = parse_whole(view(item.value), 1, kMostTenantsOfGroup);
  if (!tenants) {
    return refuse(cf,
                  "invalid group \"%V\" in \"loadline_gate\": must be NAME:N, the number of "
                  "tenants that it counts as, from 1 to %uD",
                  &item.whole, kMostTenantsOfGroup);
  }
  if (check_name(cf, "group", item.name) != NGX_CONF_OK) {
    return kError;
  }
  if (find_group(policy, view(item.name)) >= 0) {
    return refuse(cf, "duplicate group \"%V\" in \"loadline_gate\"", &item.name);
  }
  if (!add_group(policy, view(item.name), static_cast<std::uint16_t>(*tenants))) {
    return refuse(cf, "too many groups in \"loadline_gate\": at most %uD are allowed", kMaxGroups);
  }
  return NGX_CONF_OK;
}

char* read_groups(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  Policy& policy = hosted.policy;
  if (policy.tenants == 0) {
    return refuse(cf, "\"groups=%V\" in \"loadline_gate\" needs \"tenants=N\"", &value);
  }
  return read_list(value, [cf, &policy](Item item) { return read_group(cf, item, policy); });
}

char* read_quota(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  const auto rate = parse_rate(view(value));
  if (!rate) {
    return refuse(cf,
                  "invalid quota \"%V\" in \"loadline_gate\": must be a rate of 1 to 1000000 "
                  "requests, as in \"100r/s\", \"600r/m\" or \"3600r/h\"",
                  &value);
  }
  hosted.policy.quota.requests = rate->requests;
  hosted.policy.quota.per = rate->per;
  return NGX_CONF_OK;
}

// One of the numbers that only mean something beside `quota=`.
char* read_quota_number(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted, const char* name,
                        std::uint32_t most, std::uint32_t& number) noexcept {
  if (!hosted.policy.quota.any()) {
    return refuse(cf, "\"%s=%V\" in \"loadline_gate\" needs \"quota=RATE\"", name, &value);
  }
  const auto given = parse_whole(view(value), 1, most);
  if (!given) {
    return refuse(cf,
                  "invalid %s \"%V\" in \"loadline_gate\": must be a whole number from 1 to %uD",
                  name, &value, most);
  }
  number = *given;
  return NGX_CONF_OK;
}

char* read_quota_burst(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  return read_quota_number(cf, value, hosted, "quota_burst", kMostBurst, hosted.policy.quota.burst);
}

char* read_quota_keys(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  return read_quota_number(cf, value, hosted, "quota_keys", kMaxQuotaKeys,
                           hosted.policy.quota.keys);
}

char* read_exempt(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  const auto exempt = parse_whole(view(value), 0, kMostExempt);
  if (!exempt) {
    return refuse(
        cf, "invalid exempt \"%V\" in \"loadline_gate\": must be a whole number from 0 to %uD",
        &value, kMostExempt);
  }
  hosted.policy.exempt = static_cast<std::uint16_t>(*exempt);
  return NGX_CONF_OK;
}

char* read_streams(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  constexpr std::uint32_t kMostStreams = 1'000'000;
  const auto streams = parse_whole(view(value), 0, kMostStreams);
  if (!streams) {
    return refuse(
        cf, "invalid streams \"%V\" in \"loadline_gate\": must be a whole number from 0 to %uD",
        &value, kMostStreams);
  }
  hosted.streams = *streams;
  return NGX_CONF_OK;
}

char* read_retry_after(ngx_conf_t* cf, ngx_str_t value, HostedGate& hosted) noexcept {
  const auto range = parse_range(view(value), kMaxRetryAfter);
  if (!range) {
    return refuse(cf,
                  "invalid retry_after \"%V\" in \"loadline_gate\": must be MIN-MAX in whole "
                  "seconds, from 1 to %uD",
                  &value, kMaxRetryAfter);
  }
  hosted.policy.retry_after_min = range->low;
  hosted.policy.retry_after_max = range->high;
  return NGX_CONF_OK;
}

struct Parameter {
  std::string_view prefix;
  char* (*read)(ngx_conf_t*, ngx_str_t, HostedGate&) noexcept;
};

// They are read in this order, whatever theirs in the file: what refers to another comes after it.
constexpr Parameter kParameters[] = {
    {"limit=", read_limit},
    {"limit_least=", read_limit_least},
    {"limit_most=", read_limit_most},
    {"limit_from=", read_limit_from},
    {"signals=", read_signals},
    {"queue=", read_queue},
    {"wait=", read_wait},
    {"order=", read_order},
    {"mode=", read_mode},
    {"classes=", read_classes},
    {"default=", read_default},
    {"guarantee=", read_guarantees},
    {"heavy=", read_heavy},
    {"tenants=", read_tenants},
    {"groups=", read_groups},
    {"quota=", read_quota},
    {"quota_burst=", read_quota_burst},
    {"quota_keys=", read_quota_keys},
    {"exempt=", read_exempt},
    {"streams=", read_streams},
    {"retry_after=", read_retry_after},
};

// What the file gives for each of the parameters; null data where it gives nothing.
using Given = std::array<ngx_str_t, std::size(kParameters)>;

char* refuse_unknown(ngx_conf_t* cf, const ngx_str_t& argument) noexcept {
  Listing known;
  for (const Parameter& parameter : kParameters) {
    known.add(parameter.prefix);
  }
  const ngx_str_t text = known.text();
  return refuse(cf, "invalid parameter \"%V\" in \"loadline_gate\": known are %V", &argument,
                &text);
}

char* note(ngx_conf_t* cf, const ngx_str_t& argument, Given& given) noexcept {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ngx_str_t value = after(argument, kParameters[i].prefix);
    if (value.data == nullptr) {
      continue;
    }
    if (given[i].data != nullptr) {
      return refuse(cf, "duplicate parameter \"%V\" in \"loadline_gate\"", &argument);
    }
    given[i] = value;
    return NGX_CONF_OK;
  }
  return refuse_unknown(cf, argument);
}

char* finish(ngx_conf_t* cf, HostedGate& hosted) noexcept {
  if (hosted.policy.limit == 0 && hosted.policy.law == Law::fixed) {
    return refuse(
        cf, "no \"limit\" in \"loadline_gate %V\": it must be given, from 1 to %uD, or \"auto\"",
        &hosted.name, kMaxLimit);
  }
  fill_defaults(hosted.policy);
  // The kernel closes the connections of a worker that was killed a moment after it has let go of
  // its seat; a moment is long where the machine is busy.
  hosted.policy.death_grace = Duration::millis(200);
  const PolicyError error = validate(hosted.policy);
  return error.refused()
             ? refuse(cf, "invalid \"loadline_gate %V\": %s", &hosted.name, error.text.data())
             : NGX_CONF_OK;
}

}  // namespace

char* read_gate_parameters(ngx_conf_t* cf, HostedGate& hosted) noexcept {
  Given given{};
  for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
    if (note(cf, arguments(cf)[i], given) != NGX_CONF_OK) {
      return kError;
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].data != nullptr && kParameters[i].read(cf, given[i], hosted) != NGX_CONF_OK) {
      return kError;
    }
  }
  return finish(cf, hosted);
}

}  // namespace loadline::ngx
