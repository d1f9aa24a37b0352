#include "words.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "loadline/grpc.h"

namespace loadline::grpc {
namespace {

using SystemClock = std::chrono::system_clock;

// Longer than anybody waits, and short enough that no clock wraps.
constexpr Duration kAges = Duration::seconds(std::int64_t{10} * 365 * 24 * 3600);

std::string_view view(const ::grpc::string_ref& text) noexcept {
  return {text.data(), text.size()};
}

bool is_of_the_deadline(client::Reason reason) noexcept {
  return reason == client::Reason::deadline_expired ||
         reason == client::Reason::deadline_unmeetable;
}

}  // namespace

Instant now() noexcept {
  return {std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1)};
}

client::Answer answer_of(const ::grpc::Status& status, const Metadata& trailing) noexcept {
  client::Signs signs;
  const auto since = SystemClock::now().time_since_epoch();
  const client::WallTime wall{since / std::chrono::nanoseconds(1)};
  for (const auto& [name, value] : trailing) {
    signs.see(view(name), view(value), wall);
  }
  return client::answer_of_grpc(static_cast<std::uint32_t>(status.error_code()), signs);
}

::grpc::Status status_of(client::Reason reason) {
  const auto code = is_of_the_deadline(reason) ? ::grpc::StatusCode::DEADLINE_EXCEEDED
                                               : ::grpc::StatusCode::UNAVAILABLE;
  return {code, "not sent: " + std::string(client::name(reason))};
}

Instant deadline_of(const ::grpc::ClientContext& context) noexcept {
  const SystemClock::time_point deadline = context.deadline();
  if (deadline == SystemClock::time_point::max()) {
    return Instant::never();
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::microseconds>(deadline - SystemClock::now());
  return now() + Duration::micros(left.count());
}

SystemClock::time_point wall_time_after(Duration left) noexcept {
  const std::chrono::nanoseconds time(std::min(left, kAges).ns);
  return SystemClock::now() + std::chrono::duration_cast<SystemClock::duration>(time);
}

}  // namespace loadline::grpc
