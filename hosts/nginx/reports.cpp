#include "reports.h"

#include "loadline/pieces.h"
#include "loadline/policy.h"

namespace loadline::ngx {
namespace {

using detail::cut;
using detail::trimmed;

constexpr std::string_view kHeader = "X-Loadline-Report";

bool is_report(const ngx_table_elt_t& header) noexcept {
  return header.hash != 0 && header.key.len == kHeader.size() &&
         ngx_strncasecmp(header.key.data, constant(kHeader).data, kHeader.size()) == 0;
}

void take(const RequestState& state, std::string_view list, Instant now) noexcept {
  constexpr std::uint32_t kMost = 2 * kMaxSignals;  // one header is not to take long
  for (std::uint32_t i = 0; i < kMost && !list.empty(); ++i) {
    std::string_view value = cut(list, ',');
    const std::string_view name = trimmed(cut(value, '='));
    const auto number = parse_signal_value(trimmed(value));
    for (const Pass& pass : state.taken()) {
      if (number && pass.hosted != nullptr && pass.hosted->gate.valid()) {
        pass.hosted->gate.report(name, *number, now);
      }
    }
  }
}

// Then it tells of the time at which it was put there.
bool is_from_cache([[maybe_unused]] const ngx_http_request_t* r) noexcept {
#if (NGX_HTTP_CACHE)
  return r->cached != 0;
#else
  return false;
#endif
}

}  // namespace

void take_reports(const RequestState& state) noexcept {
  const auto hears = [](const Pass& pass) {
    return pass.hosted != nullptr && pass.hosted->hears();
  };
  if (!std::ranges::any_of(state.taken(), hears)) {
    return;
  }
  const bool fresh = !is_from_cache(state.request);
  each_header(state.request->headers_out.headers, [&](ngx_table_elt_t& header) {
    if (is_report(header)) {
      if (fresh) {
        take(state, view(header.value), monotonic_now());
      }
      header.hash = 0;
    }
  });
}

}  // namespace loadline::ngx
