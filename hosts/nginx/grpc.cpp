#include "grpc.h"

#include "headers_out.h"

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
  const std::string_view type = view(r->headers_in.content_type->value);
  return type.starts_with(kType) &&
         (type.size() == kType.size() || type[kType.size()] == '+' || type[kType.size()] == ';');
}

ngx_int_t send_grpc_rejection(const RequestState& state) noexcept {
  ngx_http_request_t* r = state.request;
  r->headers_out.status = NGX_HTTP_OK;
  r->headers_out.content_length_n = -1;
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
