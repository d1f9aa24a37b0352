// loadline_gate: a gate's name and its zone. The rest of it is read by gate_parameters.cpp.
#include <algorithm>

#include "gate_parameters.h"
#include "reading.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

constexpr std::size_t kMaxGateName = 63;

char* make_zone(ngx_conf_t* cf, HostedGate& hosted, std::size_t bytes) noexcept {
  const std::size_t needed = zone_bytes_for(hosted.policy);
  if (bytes < needed) {
    return refuse(cf, "zone of \"loadline_gate %V\" is too small: %uz bytes, and %uzk are needed",
                  &hosted.name, bytes, (needed + 1023) / 1024);
  }
  return declare_zone(cf, hosted, bytes) == NGX_OK ? NGX_CONF_OK : kError;
}

// NAME:SIZE
char* read_name_and_size(ngx_conf_t* cf, ngx_str_t& argument, ngx_str_t& name,
                         std::size_t& bytes) noexcept {
  u_char* const end = argument.data + argument.len;
  u_char* const colon = std::find(argument.data, end, ':');
  name = {static_cast<std::size_t>(colon - argument.data), argument.data};
  if (!is_name(name) || name.len > kMaxGateName || view(name) == "off") {
    return refuse(
        cf,
        "invalid gate name \"%V\" in \"loadline_gate\": must be 1 to %uz letters, digits, "
        "\"_\", \"-\" or \".\", and not \"off\"",
        &name, kMaxGateName);
  }
  ngx_str_t size{};
  if (colon != end) {
    size = {static_cast<std::size_t>(end - colon - 1), colon + 1};
  }
  const ssize_t parsed = ngx_parse_size(&size);
  if (parsed == NGX_ERROR || size.len == 0) {
    return refuse(
        cf, "invalid zone size in \"loadline_gate %V\": must be NAME:SIZE, as in \"api:256k\"",
        &argument);
  }
  bytes = static_cast<std::size_t>(parsed);
  return NGX_CONF_OK;
}

}  // namespace

HostedGate* mention_gate(ngx_conf_t* cf, MainConf& conf, const ngx_str_t& name) noexcept {
  for (HostedGate* hosted : gates_of(conf)) {
    if (view(hosted->name) == view(name)) {
      return hosted;
    }
  }
  auto* hosted = allocate<HostedGate>(cf->pool);
  auto** place = static_cast<HostedGate**>(ngx_array_push(&conf.gates));
  if (hosted == nullptr || place == nullptr) {
    return nullptr;
  }
  hosted->name = name;
  hosted->number = conf.gates.nelts;
  hosted->file = cf->conf_file->file.name;
  hosted->line = cf->conf_file->line;
  *place = hosted;
  return hosted;
}

char* set_gate(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto& main = *static_cast<MainConf*>(conf);
  ngx_str_t* values = arguments(cf);
  ngx_str_t name{};
  std::size_t bytes = 0;
  if (read_name_and_size(cf, values[1], name, bytes) != NGX_CONF_OK) {
    return kError;
  }
  HostedGate* const hosted = mention_gate(cf, main, name);
  if (hosted == nullptr) {
    return kError;
  }
  if (hosted->defined) {
    return refuse(cf, "duplicate gate \"%V\" in \"loadline_gate\"", &name);
  }
  if (read_gate_parameters(cf, *hosted) != NGX_CONF_OK) {
    return kError;
  }
  hosted->defined = true;
  return make_zone(cf, *hosted, bytes);
}

}  // namespace loadline::ngx
