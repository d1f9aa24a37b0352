// The shared memory of a caller. Its rules are part of the zone's name: a reload that changes them
// makes a new one, and any other goes on with what is there, budget, breaker and counts.
#include "callers.h"

namespace loadline::ngx {
namespace {

// FNV-1a.
constexpr std::uint64_t kBasis = 14695981039346656037U;
constexpr std::uint64_t kPrime = 1099511628211U;

class Identity {
 public:
  template <class Number>
  Identity& operator<<(Number number) noexcept {
    auto rest = static_cast<std::uint64_t>(number);
    for (std::size_t i = 0; i < sizeof rest; ++i, rest >>= 8U) {
      hash_ = (hash_ ^ (rest & 0xffU)) * kPrime;
    }
    return *this;
  }
  Identity& operator<<(Duration time) noexcept { return *this << time.ns; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = kBasis;
};

// Of all that the directive can set.
std::uint64_t identity_of(const client::Policy& policy) noexcept {
  const client::BudgetPolicy& budget = policy.budget;
  const client::BreakerPolicy& breaker = policy.breaker;
  Identity identity;
  identity << sizeof(SharedCaller) << policy.retry.attempts << budget.share << budget.floor
           << budget.cap << breaker.on << breaker.window << breaker.failures << breaker.minimum
           << breaker.consecutive << breaker.slow << breaker.open << breaker.probes;
  return identity.hash();
}

ngx_int_t init_caller_zone(ngx_shm_zone_t* zone, void* previous) noexcept {
  auto& hosted = *static_cast<HostedCaller*>(zone->data);
  auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
  if (previous != nullptr) {
    hosted.shared = static_cast<SharedCaller*>(pool->data);
    return NGX_OK;
  }
  void* const memory = ngx_slab_alloc(pool, sizeof(SharedCaller));
  if (memory == nullptr) {
    return NGX_ERROR;
  }
  // Callers that begin together must not draw the same.
  client::Policy policy = hosted.policy;
  policy.seed ^=
      static_cast<std::uint64_t>(ngx_random()) << 32U ^ static_cast<std::uint64_t>(ngx_random());
  hosted.shared = new (memory) SharedCaller(policy, monotonic_now());
  pool->data = hosted.shared;
  return NGX_OK;
}

}  // namespace

ngx_int_t declare_caller_zone(ngx_conf_t* cf, HostedCaller& hosted) noexcept {
  // No gate's zone is called so: a gate's name holds no ":" before its own.
  constexpr std::string_view kPrefix = "caller:";
  constexpr std::size_t kSuffix = 1 + 16;
  const std::size_t bytes = 8 * ngx_pagesize;  // nginx's own least size of a zone
  ngx_str_t name;
  name.data =
      static_cast<u_char*>(ngx_pnalloc(cf->pool, kPrefix.size() + hosted.name.len + kSuffix));
  if (name.data == nullptr) {
    return NGX_ERROR;
  }
  name.len = static_cast<std::size_t>(
      ngx_sprintf(name.data, "caller:%V:%016xL", &hosted.name, identity_of(hosted.policy)) -
      name.data);
  ngx_shm_zone_t* zone = ngx_shared_memory_add(cf, &name, bytes, &ngx_http_loadline_caller_module);
  if (zone == nullptr) {
    return NGX_ERROR;
  }
  zone->init = init_caller_zone;
  zone->data = &hosted;
  return NGX_OK;
}

}  // namespace loadline::ngx
