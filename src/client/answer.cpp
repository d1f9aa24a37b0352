#include "loadline/client/answer.h"

namespace loadline::client {
namespace {

bool is_unavailable_by_refusal(const Signs& signs, bool believe_retry_after) noexcept {
  return signs.refused() || (believe_retry_after && signs.told().kind != Told::Kind::nothing);
}

Ended end_of_http(std::uint32_t status) noexcept {
  switch (status) {
    case 408:
    case 504:
      return Ended::timed_out;
    case 429:
      return Ended::quota;
    case 499:
      return Ended::cancelled;
    case 502:
    case 503:
      return Ended::unavailable;
    default:
      break;
  }
  if (status >= 200 && status < 400) {
    return Ended::success;
  }
  return status >= 400 && status < 500 ? Ended::caller_fault : Ended::failed;
}

// By their numbers (google.rpc.Code).
enum Grpc : std::uint32_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  deadline_exceeded = 4,
  resource_exhausted = 8,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

Ended end_of_grpc(std::uint32_t code) noexcept {
  switch (code) {
    case Grpc::ok:
      return Ended::success;
    case Grpc::cancelled:
      return Ended::cancelled;
    case Grpc::deadline_exceeded:
      return Ended::timed_out;
    case Grpc::resource_exhausted:
      return Ended::quota;
    case Grpc::unavailable:
      return Ended::unavailable;
    case Grpc::unknown:
    case Grpc::internal:
    case Grpc::data_loss:
      return Ended::failed;
    default:
      return code <= Grpc::unauthenticated ? Ended::caller_fault : Ended::failed;
  }
}

Answer answer_with(Ended ended, const Signs& signs) noexcept {
  Answer answer;
  answer.ended = ended;
  answer.told = signs.told();
  answer.further_down = signs.further_down();
  answer.malformed = signs.malformed();
  return answer;
}

}  // namespace

Answer answer_of_http(std::uint32_t status, const Signs& signs, bool believe_retry_after) noexcept {
  Answer answer = answer_with(end_of_http(status), signs);
  if (status == 503 && is_unavailable_by_refusal(signs, believe_retry_after)) {
    answer.ended = Ended::refused;
  }
  if (status == 504 && signs.refused()) {
    answer.ended = Ended::refused;
    answer.told = Told::never();
  }
  return answer;
}

Answer answer_of_grpc(std::uint32_t code, const Signs& signs) noexcept {
  Answer answer = answer_with(end_of_grpc(code), signs);
  const bool says_so = signs.refused() || signs.told().kind != Told::Kind::nothing;
  if (code == Grpc::unavailable && says_so) {
    answer.ended = Ended::refused;
  }
  if (code == Grpc::deadline_exceeded && signs.refused()) {
    answer.ended = Ended::refused;
    answer.told = Told::never();
  }
  return answer;
}

}  // namespace loadline::client
