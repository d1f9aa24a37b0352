#include "streams.h"

#include "zone.h"

namespace loadline::ngx {
namespace {

std::atomic<std::uint32_t>& own_count(const HostedGate& hosted) noexcept {
  return hosted.shared->streams[hosted.seat.index];
}

// Only this worker writes its number.
void add(const HostedGate& hosted, std::uint32_t change) noexcept {
  std::atomic<std::uint32_t>& count = own_count(hosted);
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

bool has_room(const HostedGate& hosted) noexcept {
  return !hosted.seat.valid() || open_streams(hosted) < hosted.streams;
}

}  // namespace

// What a worker that died has left in its place counts no more than its seat does, which may be
// long empty before somebody takes it again.
std::uint32_t open_streams(const HostedGate& hosted) noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t seat = 0; seat < kMaxParticipants; ++seat) {
    if (hosted.gate.is_taken(seat)) {
      sum += hosted.shared->streams[seat].load(std::memory_order_relaxed);
    }
  }
  return sum;
}

void forget_streams(HostedGate& hosted) noexcept {
  own_count(hosted).store(0, std::memory_order_relaxed);
}

// Two workers that look at the same moment may both take the last place: the bound is on how much
// memory and how many connections streams take, and one more or less is none of its matter.
bool enter_streams(RequestState& state) noexcept {
  for (const Pass& pass : state.taken()) {
    if (!has_room(*pass.hosted)) {
      pass.hosted->shared->streams_refused.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  }
  for (Pass& pass : state.taken()) {
    if (pass.hosted->seat.valid() && !pass.streams) {
      pass.streams = true;
      add(*pass.hosted, 1);
    }
  }
  // How long it will be open says nothing about service times.
  release(state, Outcome::ignored);
  return true;
}

void leave_streams(RequestState& state) noexcept {
  for (Pass& pass : state.taken()) {
    if (pass.streams && pass.hosted->seat.valid()) {
      add(*pass.hosted, static_cast<std::uint32_t>(-1));
    }
    pass.streams = false;
  }
}

}  // namespace loadline::ngx
