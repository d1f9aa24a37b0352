#include "caller_log.h"

#include <array>

#include "callers.h"
#include "conf.h"

namespace loadline::ngx {
namespace {

constexpr ngx_msec_t kTick = 1000;

ngx_connection_t tick_owner;  // nginx's debug log wants an event's data to be a connection
ngx_event_t tick_event;

// Is it for us to write this one? Of all workers for one only.
bool claim(std::atomic<std::uint64_t>& told, std::uint64_t number) noexcept {
  std::uint64_t last = told.load(std::memory_order_relaxed);
  return last < number && told.compare_exchange_strong(last, number, std::memory_order_relaxed);
}

void tell_events(const HostedCaller& hosted, ngx_uint_t level) noexcept {
  constexpr std::size_t kLongest = 160;
  std::array<client::Event, client::EventRing::kEvents> events;
  const std::size_t count = hosted.caller().events(events);
  for (std::size_t i = 0; i < count; ++i) {
    if (!claim(hosted.shared->told, events[i].number)) {
      continue;
    }
    std::array<char, kLongest> memory;
    ngx_str_t text = constant(describe(events[i], memory));
    ngx_log_error(level, ngx_cycle->log, 0, "loadline_caller \"%V\": %V", &hosted.name, &text);
  }
}

void on_tick(ngx_event_t* event) noexcept {
  const ngx_uint_t level = main_conf(const_cast<const ngx_cycle_t*>(ngx_cycle))->log_level;
  for (const HostedCaller* hosted : callers_of_this_process()) {
    if (level != 0) {
      tell_events(*hosted, level);
    }
  }
  ngx_add_timer(event, kTick);
}

}  // namespace

ngx_int_t start_telling_events(ngx_cycle_t* cycle) noexcept {
  const bool serves = ngx_process == NGX_PROCESS_WORKER || ngx_process == NGX_PROCESS_SINGLE;
  if (!serves || main_conf(cycle) == nullptr || callers_of_this_process().size() == 0) {
    return NGX_OK;
  }
  tick_owner.fd = -1;
  tick_event.data = &tick_owner;
  tick_event.handler = on_tick;
  tick_event.log = cycle->log;
  tick_event.cancelable = 1;  // a worker that is to exit must not wait for it
  ngx_add_timer(&tick_event, kTick);
  return NGX_OK;
}

}  // namespace loadline::ngx
