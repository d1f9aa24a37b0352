#include "grpc.h"

#include "headers_out.h"
#include "media_type.h"

namespace loadline::ngx {
namespace {

constexpr std::string_view kType = "application/grpc";

// gRPC, "Status codes and their use".
std::string_view status_of(Reason reason) noexcept {
  constexpr std::string_view kDeadlineExceeded = "4";
  constexpr std::string_view kResourceExhausted = "8";
  constexpr std::string_view kUnavailable = "14";
  if (is_deadline(reason)) {
    return kDeadlineExceeded;
  }
  return reason == Reason::quota ? kResourceExhausted : kUnavailable;
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

ngx_int_t send_grpc_rejection(const RequestState& state) noexcept {
  ngx_http_request_t* r = state.request;
  r->headers_out.status = NGX_HTTP_OK;
  // Over HTTP/1, which no gRPC client speaks but anybody may claim, the end must be told.
  r->headers_out.content_length_n = r->http_version < NGX_HTTP_VERSION_20 ? 0 : -1;
  r->disable_not_modified = 1;  // or If-Match would make a 412 of it
  r->headers_out.content_type = constant(kType);
  r->headers_out.content_type_len = kType.size();
  r->header_only = 1;
  bool added = add_header(r, "grpc-status", constant(status_of(state.reason))) &&
               add_header(r, "grpc-message", constant(name(state.reason)));
  if (state.retry_after != 0) {
    added = added && add_header(r, "grpc-retry-pushback-ms",
                                print(r, "%ui", static_cast<ngx_uint_t>(state.retry_after) * 1000));
  }
  return added ? ngx_http_send_header(r) : NGX_ERROR;
}

}  // namespace loadline::ngx
