// The directives but for loadline_gate and loadline: reading, merging, and what is refused.
#include <algorithm>

#include "claims.h"
#include "conf.h"
#include "pages.h"
#include "reading.h"

namespace loadline::ngx {
namespace {

HeaderName make_header_name(ngx_conf_t* cf, const ngx_str_t& text) noexcept {
  HeaderName name;
  name.lowcase.data = static_cast<u_char*>(ngx_pnalloc(cf->pool, text.len));
  if (name.lowcase.data == nullptr) {
    return name;
  }
  name.lowcase.len = text.len;
  name.hash = ngx_hash_strlow(name.lowcase.data, text.data, text.len);
  name.set = true;
  return name;
}

template <HeaderName LocationConf::*Member>
char* set_header(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
  HeaderName& name = static_cast<LocationConf*>(conf)->*Member;
  ngx_str_t& text = arguments(cf)[1];
  if (name.set) {
    return duplicate;
  }
  if (view(text) == "off") {
    name.set = true;
    return NGX_CONF_OK;
  }
  if (!is_name(text)) {
    return refuse(cf, "invalid header name \"%V\" in \"%V\": must be letters, digits, \"_\", \"-\"",
                  &text, &command->name);
  }
  name = make_header_name(cf, text);
  return name.set ? NGX_CONF_OK : kError;
}

char* add_trusted(ngx_conf_t* cf, ngx_array_t& list, ngx_str_t& text) noexcept {
  auto* cidr = static_cast<ngx_cidr_t*>(ngx_array_push(&list));
  if (cidr == nullptr) {
    return kError;
  }
  *cidr = {};
  if (view(text) == "unix:") {
    cidr->family = AF_UNIX;
    return NGX_CONF_OK;
  }
  const ngx_int_t result = ngx_ptocidr(&text, cidr);
  if (result == NGX_ERROR) {
    return refuse(
        cf,
        "invalid peer \"%V\" in \"loadline_trusted\": must be an address, a network as in "
        "10.0.0.0/8, or \"unix:\"",
        &text);
  }
  if (result == NGX_DONE) {
    ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "low address bits of %V are meaningless", &text);
  }
  return NGX_CONF_OK;
}

char* set_trusted(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto& location = *static_cast<LocationConf*>(conf);
  ngx_str_t* values = arguments(cf);
  const bool off_before = location.trusted_set && location.trusted == nullptr;
  location.trusted_set = true;
  if (view(values[1]) == "off" || off_before) {
    return !off_before && location.trusted == nullptr && cf->args->nelts == 2
               ? NGX_CONF_OK
               : refuse(cf, "\"off\" must stand alone in \"loadline_trusted\"");
  }
  if (location.trusted == nullptr) {
    location.trusted = ngx_array_create(cf->pool, 4, sizeof(ngx_cidr_t));
  }
  if (location.trusted == nullptr) {
    return kError;
  }
  for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
    if (add_trusted(cf, *location.trusted, values[i]) != NGX_CONF_OK) {
      return kError;
    }
  }
  return NGX_CONF_OK;
}

// May stand several times on a level.
char* set_bypass(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  return add_values(cf, static_cast<LocationConf*>(conf)->bypass);
}

char* set_exempt(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto& location = *static_cast<LocationConf*>(conf);
  if (location.exempt_set) {
    return duplicate;
  }
  location.exempt_set = true;
  if (view(arguments(cf)[1]) == "off") {
    return cf->args->nelts == 2 ? NGX_CONF_OK
                                : refuse(cf, "\"off\" must stand alone in \"loadline_exempt\"");
  }
  location.exempt = static_cast<ngx_array_t*>(NGX_CONF_UNSET_PTR);
  return add_values(cf, location.exempt);
}

char* set_read_body(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto& location = *static_cast<LocationConf*>(conf);
  ngx_str_t text = arguments(cf)[1];
  if (location.read_body != NGX_CONF_UNSET) {
    return duplicate;
  }
  if (view(text) == "on" || view(text) == "off") {
    location.read_body = view(text) == "on" ? NGX_MAX_OFF_T_VALUE : 0;
    return NGX_CONF_OK;
  }
  location.read_body = ngx_parse_offset(&text);
  if (location.read_body == NGX_ERROR || location.read_body == 0) {
    return refuse(
        cf,
        "invalid size \"%V\" in \"loadline_read_body\": must be on, off or a size from 1, "
        "as in 64k",
        &text);
  }
  return NGX_CONF_OK;
}

// "off", or a time that is not zero.
template <ngx_msec_t LocationConf::*Member>
char* set_time(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
  constexpr ngx_int_t kLongest = 86'400'000;
  ngx_msec_t& time = static_cast<LocationConf*>(conf)->*Member;
  ngx_str_t text = arguments(cf)[1];
  if (time != NGX_CONF_UNSET_MSEC) {
    return duplicate;
  }
  if (view(text) == "off") {
    time = 0;
    return NGX_CONF_OK;
  }
  const ngx_int_t milliseconds = ngx_parse_time(&text, 0);
  if (milliseconds == NGX_ERROR || milliseconds < 1 || milliseconds > kLongest) {
    return refuse(cf, "invalid time \"%V\" in \"%V\": must be off or a time from 1ms to 1d", &text,
                  &command->name);
  }
  time = static_cast<ngx_msec_t>(milliseconds);
  return NGX_CONF_OK;
}

ngx_conf_enum_t phases[] = {
    {ngx_string("preaccess"), static_cast<ngx_uint_t>(Phase::preaccess)},
    {ngx_string("precontent"), static_cast<ngx_uint_t>(Phase::precontent)},
    {ngx_null_string, 0},
};

ngx_conf_enum_t release_points[] = {
    {ngx_string("header"), static_cast<ngx_uint_t>(ReleaseAt::header)},
    {ngx_string("last"), static_cast<ngx_uint_t>(ReleaseAt::last)},
    {ngx_string("end"), static_cast<ngx_uint_t>(ReleaseAt::end)},
    {ngx_null_string, 0},
};

char* set_body(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto& location = *static_cast<LocationConf*>(conf);
  if (location.body_set) {
    return duplicate;
  }
  location.body_set = true;
  location.body = arguments(cf)[1];
  location.body_type = cf->args->nelts == 3 ? arguments(cf)[2] : constant("text/plain");
  return NGX_CONF_OK;
}

ngx_uint_t find_log_level(std::string_view name) noexcept {
  constexpr std::string_view kLevels[] = {"emerg", "alert",  "crit", "error",
                                          "warn",  "notice", "info", "debug"};
  for (ngx_uint_t i = 0; i < std::size(kLevels); ++i) {
    if (kLevels[i] == name) {
      return NGX_LOG_EMERG + i;
    }
  }
  return 0;
}

char* set_log_level(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto& main = *static_cast<MainConf*>(conf);
  ngx_str_t* values = arguments(cf);
  if (main.log_level != NGX_CONF_UNSET_UINT) {
    return duplicate;
  }
  main.log_level = find_log_level(view(values[1]));
  if (main.log_level == 0 && view(values[1]) != "off") {
    return refuse(
        cf,
        "invalid level \"%V\" in \"loadline_log_level\": must be off, debug, info, notice, "
        "warn, error, crit, alert or emerg",
        &values[1]);
  }
  if (cf->args->nelts == 2) {
    return NGX_CONF_OK;
  }
  constexpr ngx_int_t kShortest = 1000;
  constexpr ngx_int_t kLongest = 3'600'000;
  ngx_str_t interval = after(values[2], "interval=");
  const ngx_int_t milliseconds =
      interval.data == nullptr ? NGX_ERROR : ngx_parse_time(&interval, 0);
  if (milliseconds < kShortest || milliseconds > kLongest) {
    return refuse(cf,
                  "invalid \"%V\" in \"loadline_log_level\": must be interval=TIME, from 1s to 1h",
                  &values[2]);
  }
  main.log_interval = static_cast<ngx_msec_t>(milliseconds);
  return NGX_CONF_OK;
}

template <ngx_int_t (*Handler)(ngx_http_request_t*) noexcept>
char* set_page(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  core->handler = Handler;
  static_cast<LocationConf*>(conf)->page = Handler;
  return NGX_CONF_OK;
}

void inherit_header(HeaderName& child, const HeaderName& parent,
                    const HeaderName& otherwise) noexcept {
  if (!child.set) {
    child = parent.set ? parent : otherwise;
  }
}

// A page of ours is asked only by a gate of its own level, so that it answers when the service does
// not. What is nested in it inherits as usual.
char* inherit_gates(ngx_conf_t* cf, LocationConf& child, const LocationConf& parent) noexcept {
  const auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  const bool is_page = child.page != nullptr && core->handler == child.page;
  child.may_ask = !is_page || child.gates_set;
  if (child.gates_set) {
    return settle_asks(cf, child);
  }
  child.gates_set = parent.gates_set;
  child.asks = parent.asks;
  return NGX_CONF_OK;
}

HeaderName default_class_header() noexcept {
  constexpr std::string_view kName = "x-request-criticality";
  return {constant(kName), header_hash(kName), true};
}

char* check_reject_status(ngx_conf_t* cf, void*, void* data) noexcept {
  constexpr ngx_int_t kLowest = 400;
  constexpr ngx_int_t kHighest = 599;
  const ngx_int_t status = *static_cast<ngx_int_t*>(data);
  if (status < kLowest || status > kHighest) {
    return refuse(cf, "invalid status \"%i\" in \"loadline_reject_status\": must be from %i to %i",
                  status, kLowest, kHighest);
  }
  return NGX_CONF_OK;
}

ngx_conf_post_t reject_status_check = {check_reject_status};

constexpr ngx_uint_t kEverywhere = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF;

}  // namespace

void* create_main_conf(ngx_conf_t* cf) noexcept {
  auto* conf = allocate<MainConf>(cf->pool);
  if (conf == nullptr || ngx_array_init(&conf->gates, cf->pool, 4, sizeof(HostedGate*)) != NGX_OK) {
    return nullptr;
  }
  return conf;
}

char* init_main_conf(ngx_conf_t* cf, void* data) noexcept {
  constexpr ngx_msec_t kLogInterval = 10'000;
  auto& conf = *static_cast<MainConf*>(data);
  if (conf.log_level == NGX_CONF_UNSET_UINT) {
    conf.log_level = NGX_LOG_ERR;  // seen in an error_log without a level, as limit_conn's
  }
  if (conf.log_interval == NGX_CONF_UNSET_MSEC) {
    conf.log_interval = kLogInterval;
  }
  for (HostedGate* hosted : gates_of(conf)) {
    if (!hosted->defined) {
      return refuse(
          cf, "unknown gate \"%V\" in \"loadline\" in %V:%ui: no \"loadline_gate %V:SIZE ...\"",
          &hosted->name, &hosted->file, hosted->line, &hosted->name);
    }
  }
  return NGX_CONF_OK;
}

void* create_location_conf(ngx_conf_t* cf) noexcept {
  return allocate<LocationConf>(cf->pool);
}

char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
  const auto& previous = *static_cast<LocationConf*>(parent);
  auto& conf = *static_cast<LocationConf*>(child);
  if (inherit_gates(cf, conf, previous) != NGX_CONF_OK) {
    return kError;
  }
  ngx_conf_merge_value(conf.observe, previous.observe, 0);
  ngx_conf_merge_uint_value(conf.phase, previous.phase, static_cast<ngx_uint_t>(Phase::preaccess));
  ngx_conf_merge_uint_value(conf.release_at, previous.release_at,
                            static_cast<ngx_uint_t>(ReleaseAt::last));
  ngx_conf_merge_ptr_value(conf.bypass, previous.bypass, nullptr);
  if (!conf.exempt_set) {
    conf.exempt = previous.exempt;
    conf.exempt_set = previous.exempt_set;
  }
  ngx_conf_merge_value(conf.lower_retries, previous.lower_retries, 1);
  ngx_conf_merge_value(conf.rewrite, previous.rewrite, 1);
  ngx_conf_merge_off_value(conf.read_body, previous.read_body, NGX_MAX_OFF_T_VALUE);
  ngx_conf_merge_msec_value(conf.stream_after, previous.stream_after, 0);
  ngx_conf_merge_msec_value(conf.lease, previous.lease, 0);
  ngx_conf_merge_value(conf.error_page, previous.error_page, 0);
  ngx_conf_merge_uint_value(conf.reject_status, previous.reject_status,
                            NGX_HTTP_SERVICE_UNAVAILABLE);
  inherit_header(conf.class_header, previous.class_header, default_class_header());
  inherit_header(conf.deadline_header, previous.deadline_header, HeaderName{});
  inherit_header(conf.tenant_header, previous.tenant_header, HeaderName{});
  if (!conf.trusted_set) {
    conf.trusted = previous.trusted;
    conf.trusted_set = previous.trusted_set;
  }
  if (!conf.body_set) {
    conf.body = previous.body_set ? previous.body : constant("overloaded\n");
    conf.body_type = previous.body_set ? previous.body_type : constant("text/plain");
    conf.body_set = true;
  }
  return NGX_CONF_OK;
}

MainConf* main_conf(const ngx_cycle_t* cycle) noexcept {
  if (cycle == nullptr || cycle->conf_ctx == nullptr || cycle->modules == nullptr) {
    return nullptr;
  }
  ngx_module_t** module = cycle->modules;
  while (*module != nullptr && *module != &ngx_http_loadline_module) {
    ++module;
  }
  if (*module == nullptr) {
    return nullptr;
  }
  return static_cast<MainConf*>(
      ngx_http_cycle_get_module_main_conf(cycle, ngx_http_loadline_module));
}

ngx_command_t commands[] = {
    {ngx_string("loadline_gate"), NGX_HTTP_MAIN_CONF | NGX_CONF_2MORE, set_gate,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline"), kEverywhere | NGX_CONF_1MORE, set_loadline, NGX_HTTP_LOC_CONF_OFFSET,
     0, nullptr},
    {ngx_string("loadline_observe"), kEverywhere | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, observe), nullptr},
    {ngx_string("loadline_class_header"), kEverywhere | NGX_CONF_TAKE1,
     set_header<&LocationConf::class_header>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_deadline_header"), kEverywhere | NGX_CONF_TAKE1,
     set_header<&LocationConf::deadline_header>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_tenant_header"), kEverywhere | NGX_CONF_TAKE1,
     set_header<&LocationConf::tenant_header>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_lower_retries"), kEverywhere | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, lower_retries), nullptr},
    {ngx_string("loadline_rewrite_headers"), kEverywhere | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, rewrite), nullptr},
    {ngx_string("loadline_phase"), kEverywhere | NGX_CONF_TAKE1, ngx_conf_set_enum_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, phase), phases},
    {ngx_string("loadline_release"), kEverywhere | NGX_CONF_TAKE1, ngx_conf_set_enum_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, release_at), release_points},
    {ngx_string("loadline_bypass"), kEverywhere | NGX_CONF_1MORE, set_bypass,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_exempt"), kEverywhere | NGX_CONF_1MORE, set_exempt,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_read_body"), kEverywhere | NGX_CONF_TAKE1, set_read_body,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_stream_after"), kEverywhere | NGX_CONF_TAKE1,
     set_time<&LocationConf::stream_after>, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_lease"), kEverywhere | NGX_CONF_TAKE1, set_time<&LocationConf::lease>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_trusted"), kEverywhere | NGX_CONF_1MORE, set_trusted,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_reject_status"), kEverywhere | NGX_CONF_TAKE1, ngx_conf_set_num_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, reject_status), &reject_status_check},
    {ngx_string("loadline_body"), kEverywhere | NGX_CONF_TAKE12, set_body, NGX_HTTP_LOC_CONF_OFFSET,
     0, nullptr},
    {ngx_string("loadline_error_page"), kEverywhere | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConf, error_page), nullptr},
    {ngx_string("loadline_log_level"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE12, set_log_level,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_stub_status"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_page<show_status>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_metrics"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_page<show_metrics>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_control"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_page<take_control>,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    ngx_null_command};

}  // namespace loadline::ngx
