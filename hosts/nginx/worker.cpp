#include "worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>

#include "hold.h"
#include "loadline/cpu_pressure.h"
#include "streams.h"
#include "summary.h"
#include "watch.h"

namespace loadline::ngx {
namespace {

constexpr ngx_msec_t kTick = Wheel<Watch>::kTick;
constexpr Duration kSeatRetry = Duration::seconds(1);
constexpr Duration kCpuReadingInterval = Duration::seconds(1);
constexpr int kNoFd = -1;

// The master's, inherited by every worker; number i wakes whoever has seat i of any gate.
int event_fds[kMaxParticipants];
bool event_fds_made = false;

// This worker's.
ngx_connection_t* listeners[kMaxParticipants];
ngx_connection_t tick_owner;  // nginx's debug log wants an event's data to be a connection
ngx_event_t tick_event;
ngx_event_t wake_event;  // posted to ourselves
bool started = false;

// Of all workers, which share a cgroup; read by one of them.
CpuPressure cpu;
Instant next_cpu_reading = Instant::never();

Gates gates_of_this_process() noexcept {
  return gates_of(main_conf(const_cast<const ngx_cycle_t*>(ngx_cycle)));
}

void collect_all() noexcept {
  const Instant now = monotonic_now();
  for (HostedGate* hosted : gates_of_this_process()) {
    if (hosted->seat.valid()) {
      collect(*hosted, now);
    }
  }
}

void on_wake(ngx_event_t* event) noexcept {
  const bool by_level = (ngx_event_flags & NGX_USE_CLEAR_EVENT) == 0;
  if (by_level && event != &wake_event) {
    // poll and select would report it for ever. With epoll every write is an edge of its own, and
    // the count need never be read.
    std::uint64_t count = 0;
    [[maybe_unused]] const auto ignored =
        read(static_cast<ngx_connection_t*>(event->data)->fd, &count, sizeof count);
  }
  collect_all();
}

bool listen_for_seat(std::uint32_t index, ngx_log_t* log) noexcept {
  if (listeners[index] != nullptr || event_fds[index] == kNoFd) {
    return listeners[index] != nullptr;
  }
  ngx_connection_t* c = ngx_get_connection(event_fds[index], log);
  if (c == nullptr) {
    return false;
  }
  c->read->handler = on_wake;
  c->read->log = log;
  c->read->channel = 1;  // so that an exiting worker does not take it for a client's
  c->write->log = log;
  ngx_uint_t flags = 0;
  if ((ngx_event_flags & NGX_USE_CLEAR_EVENT) != 0) {
    flags = NGX_CLEAR_EVENT;
  }
  if (ngx_add_event(c->read, NGX_READ_EVENT, flags) != NGX_OK) {
    ngx_free_connection(c);
    return false;
  }
  listeners[index] = c;
  return true;
}

// The tick makes up for a wake-up that never comes, only later; so a worker without one still
// works.
void listen_or_complain(const HostedGate& hosted, ngx_log_t* log) noexcept {
  if (!listen_for_seat(hosted.seat.index, log)) {
    ngx_log_error(
        NGX_LOG_ERR, log, 0,
        "loadline_gate \"%V\": this worker cannot be woken; waiting requests start up to %M "
        "ms late (raise worker_connections)",
        &hosted.name, kTick);
  }
}

bool make_table(HostedGate& hosted, const ngx_cycle_t* cycle) noexcept {
  if (hosted.held == nullptr) {
    const std::size_t tickets = hosted.gate.capacity().tickets;
    hosted.held =
        static_cast<RequestState**>(ngx_pcalloc(cycle->pool, tickets * sizeof(RequestState*)));
  }
  return hosted.held != nullptr;
}

void take_seat(HostedGate& hosted, const ngx_cycle_t* cycle, std::uint32_t preferred) noexcept {
  const Instant now = monotonic_now();
  hosted.next_seat_attempt = now + kSeatRetry;
  if (!hosted.gate.valid() || !make_table(hosted, cycle)) {
    return;
  }
  hosted.seat = hosted.gate.attach(preferred, now);
  if (hosted.seat.valid()) {
    forget_streams(hosted);
    listen_or_complain(hosted, cycle->log);
    return;
  }
  ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                "loadline_gate \"%V\": no seat for this worker (%uD of %uD are taken); its "
                "requests pass ungated until it has one",
                &hosted.name, hosted.gate.snapshot().participants, kMaxParticipants);
}

// The same seat number at every gate, where it is free, so that one eventfd is enough.
void take_seats(const ngx_cycle_t* cycle) noexcept {
  auto preferred = static_cast<std::uint32_t>(ngx_worker % kMaxParticipants);
  for (HostedGate* hosted : gates_of(main_conf(cycle))) {
    take_seat(*hosted, cycle, preferred);
    if (hosted->seat.valid()) {
      preferred = hosted->seat.index;
    }
  }
}

// What cannot be read is said once, and the limit is found without it.
void open_cpu(const ngx_cycle_t* cycle) noexcept {
  if (ngx_worker != 0) {
    return;
  }
  Policy asked;  // what any of the gates asks for
  for (const HostedGate* hosted : gates_of(main_conf(cycle))) {
    for (const std::string_view name : {kCpuPressure, kCpuThrottled}) {
      if (find_signal(hosted->policy, name) >= 0 && find_signal(asked, name) < 0) {
        add_signal(asked, name, 1);
      }
    }
  }
  if (!has_cpu_signal(asked)) {
    return;
  }
  const Instant now = monotonic_now();
  const CpuPressure::Error error = cpu.open(asked, "", now);
  next_cpu_reading = now + kCpuReadingInterval;
  if (error.any()) {
    ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                  "loadline: %s; the limit is found without that signal", error.text.data());
  }
}

void read_cpu(Instant now) noexcept {
  if (now < next_cpu_reading) {
    return;
  }
  next_cpu_reading = now + kCpuReadingInterval;
  const CpuPressure::Shares shares = cpu.read(now);
  for (HostedGate* hosted : gates_of_this_process()) {
    if (hosted->gate.valid()) {
      hosted->gate.report(kCpuPressure, shares.pressure, now);
      hosted->gate.report(kCpuThrottled, shares.throttled, now);
    }
  }
}

void tick_gate(HostedGate& hosted, Instant now) noexcept {
  if (!hosted.seat.valid()) {
    if (now >= hosted.next_seat_attempt) {
      take_seat(hosted, const_cast<const ngx_cycle_t*>(ngx_cycle), 0);
    }
    return;
  }
  wake(hosted, hosted.gate.tick(now));
  collect(hosted, now);
  summarize(hosted, now);
}

void on_tick(ngx_event_t* event) noexcept {
  const Instant now = monotonic_now();
  read_cpu(now);
  for (HostedGate* hosted : gates_of_this_process()) {
    tick_gate(*hosted, now);
  }
  look_at_watched();
  ngx_add_timer(event, kTick);
}

void start_ticking(ngx_log_t* log) noexcept {
  tick_owner.fd = kNoFd;
  tick_event.data = &tick_owner;
  tick_event.handler = on_tick;
  tick_event.log = log;
  tick_event.cancelable = 1;  // a worker that is to exit must not wait for it
  ngx_add_timer(&tick_event, kTick);
}

}  // namespace

void create_event_fds(ngx_log_t* log) noexcept {
  if (event_fds_made) {
    return;
  }
  event_fds_made = true;
  for (int& fd : event_fds) {
    fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd == kNoFd) {
      ngx_log_error(NGX_LOG_ERR, log, ngx_errno,
                    "loadline: eventfd() failed; waiting requests start up to %M ms late", kTick);
    }
  }
}

ngx_int_t start_worker(ngx_cycle_t* cycle) noexcept {
  // Cache managers and loaders are initialized as workers are, but serve nobody.
  if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) {
    return NGX_OK;
  }
  if (gates_of(main_conf(cycle)).size() == 0) {
    return NGX_OK;
  }
  started = true;
  wake_event.data = &tick_owner;
  wake_event.handler = on_wake;
  wake_event.log = cycle->log;
  take_seats(cycle);
  open_cpu(cycle);
  start_ticking(cycle->log);
  return NGX_OK;
}

void stop_worker(ngx_cycle_t* cycle) noexcept {
  if (!started) {
    return;
  }
  const Instant now = monotonic_now();
  for (HostedGate* hosted : gates_of(main_conf(cycle))) {
    if (hosted->seat.valid()) {
      summarize_rest(*hosted, now);
      forget_streams(*hosted);
      const Signals signals = hosted->gate.detach(hosted->seat, now);
      hosted->seat = Participant{};
      wake(*hosted, signals);
    }
  }
}

void deliver(const HostedGate& hosted, Signals signals) noexcept {
  constexpr std::uint64_t kOne = 1;
  for (std::uint64_t left = signals.participants; left != 0; left &= left - 1) {
    const auto index = static_cast<std::uint32_t>(std::countr_zero(left));
    if (index == hosted.seat.index) {
      ngx_post_event(&wake_event, &ngx_posted_events);
    } else {
      // It cannot fill up, and a wake-up that is lost is made up for by the next tick.
      [[maybe_unused]] const auto ignored = write(event_fds[index], &kOne, sizeof kOne);
    }
  }
}

}  // namespace loadline::ngx
