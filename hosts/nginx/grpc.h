// gRPC over HTTP/2: how its requests are known, and how they are told no. Its clients read no HTTP
// status but grpc-status (gRPC, "PROTOCOL-HTTP2": Trailers-Only responses).
#pragma once

#include "request.h"

namespace loadline::ngx {

bool is_grpc(const ngx_http_request_t* r) noexcept;

// "Status codes and their use", as they are written.
namespace grpc_status {
inline constexpr std::string_view kDeadlineExceeded = "4";
inline constexpr std::string_view kResourceExhausted = "8";
inline constexpr std::string_view kUnavailable = "14";
}  // namespace grpc_status

struct GrpcRejection {
  std::string_view status;
  std::string_view message;       // this and the one above live as long as the process
  std::uint16_t retry_after = 0;  // seconds; 0: nothing is said
};

// Makes such an answer of headers_out, to be sent without a body. False without memory.
bool write_grpc_rejection(ngx_http_request_t* r, const GrpcRejection& rejection) noexcept;

// Tells the client why: UNAVAILABLE with the time after which to come back (gRFC A6,
// `grpc-retry-pushback-ms`), RESOURCE_EXHAUSTED for a quota alone, DEADLINE_EXCEEDED for a
// deadline. What ngx_http_finalize_request takes.
ngx_int_t send_grpc_rejection(const RequestState& state) noexcept;

}  // namespace loadline::ngx
