#include "grpc.h"

#include "headers_out.h"
#include "media_type.h"

namespace loadline::ngx {
namespace {

constexpr std::string_view kType = "application/grpc";

std::string_view status_of(Reason reason) noexcept {
  if (is_deadline(reason)) {
    return grpc_status::kDeadlineExceeded;
  }
  return reason == Reason::quota ? grpc_status::kResourceExhausted : grpc_status::kUnavailable;
}

}  // namespace

// "application/grpc", alone or with a format after "+" or a parameter after ";"; grpc-web is
// another protocol.
bool is_grpc(const ngx_http_request_t* r) noexcept {
  if (r->headers_in.content_type == nullptr) {
    return false;
  }
  const ngx_str_t& type = r->headers_in.content_type->value;
  return is_media_type(type, kType) || (type.len > kType.size() && type.data[kType.size()] == '+' &&
                                        is_media_type({kType.size(), type.data}, kType));
}

bool write_grpc_rejection(ngx_http_request_t* r, const GrpcRejection& rejection) noexcept {
  r->headers_out.status = NGX_HTTP_OK;
  // Over HTTP/1, which no gRPC client speaks but anybody may claim, the end must be told.
  r->headers_out.content_length_n = r->http_version < NGX_HTTP_VERSION_20 ? 0 : -1;
  r->disable_not_modified = 1;  // or If-Match would make a 412 of it
  r->headers_out.content_type = constant(kType);
  r->headers_out.content_type_len = kType.size();
  r->headers_out.content_type_lowcase = nullptr;
  r->header_only = 1;
  const bool added = add_header(r, "grpc-status", constant(rejection.status)) &&
                     add_header(r, "grpc-message", constant(rejection.message));
  return added && (rejection.retry_after == 0 ||
                   add_header(r, "grpc-retry-pushback-ms",
                              print(r, "%ui", ngx_uint_t{rejection.retry_after} * 1000)));
}

ngx_int_t send_grpc_rejection(const RequestState& state) noexcept {
  const bool written = write_grpc_rejection(
      state.request, {status_of(state.reason), name(state.reason), state.retry_after});
  return written ? ngx_http_send_header(state.request) : NGX_ERROR;
}

}  // namespace loadline::ngx
