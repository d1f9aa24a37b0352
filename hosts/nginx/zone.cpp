#include "zone.h"

#include <algorithm>

#include "worker.h"

namespace loadline::ngx {
namespace {

// Every zone gets all the seats there can be: a reload needs as many again while old workers drain.
constexpr Capacity capacity_for(const Policy& policy, std::uint32_t tickets) noexcept {
  return Capacity{kMaxParticipants, tickets}.for_tables(policy);
}

// FNV-1a, as the gate's own layout hash.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash) noexcept {
  for (const char c : text) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211U;
  }
  return hash;
}

std::uint64_t hash_of(std::uint32_t number, std::uint64_t hash) noexcept {
  return hash_of({reinterpret_cast<const char*>(&number), sizeof number}, hash);
}

// Tables are as large as a gate was made with them: one that is asked for others needs memory of
// its own, or it would tell fewer keys apart than the file says.
std::uint64_t identity_of(const HostedGate& hosted) noexcept {
  std::uint64_t hash = detail::layout_hash<NativeSync>() ^ sizeof(ZoneHead);
  const Capacity tables = capacity_for(hosted.policy, 0);
  hash = hash_of(tables.tenant_buckets, hash);
  hash = hash_of(tables.quota_keys, hash);
  hash = hash_of(tables.learns, hash);
  for (std::uint32_t i = 0; i < hosted.policy.class_count; ++i) {
    hash = hash_of(hosted.policy.classes[i].name_view(), hash);
    hash = hash_of(",", hash);
  }
  return hash;
}

const char* text_of(Gate::OpenError error) noexcept {
  switch (error) {
    case Gate::OpenError::none:
      return "no error";
    case Gate::OpenError::too_small:
      return "it is too small";
    case Gate::OpenError::misaligned:
      return "it is misaligned";
    case Gate::OpenError::not_a_gate:
      return "it does not hold a gate";
    case Gate::OpenError::other_layout:
      return "it was made by another version";
    case Gate::OpenError::bad_capacity:
      return "its capacity is out of range";
    case Gate::OpenError::bad_policy:
      return "the policy does not fit";
    case Gate::OpenError::no_mutex:
      return "the system offers no robust process-shared mutex";
  }
  return "unknown error";
}

// What the slab pool's `data` points to. All workers are forked from one master, so that a zone
// lies at the same address in each; nginx itself relies on that.
struct Layout {
  ZoneHead* head;
  void* block;
  std::size_t block_bytes;
};

Layout* lay_out(ngx_slab_pool_t* pool) noexcept {
  auto* layout = static_cast<Layout*>(ngx_slab_calloc(pool, sizeof(Layout)));
  if (layout == nullptr) {
    return nullptr;
  }
  layout->head = static_cast<ZoneHead*>(ngx_slab_calloc(pool, sizeof(ZoneHead)));
  // All pages that are left, as one piece: they are contiguous in a fresh pool, and page-aligned.
  layout->block_bytes = pool->pfree * ngx_pagesize;
  layout->block = layout->block_bytes == 0 ? nullptr : ngx_slab_alloc(pool, layout->block_bytes);
  return layout->head == nullptr || layout->block == nullptr ? nullptr : layout;
}

HostedGate* find(Gates gates, std::string_view name) noexcept {
  auto** const found =
      std::find_if(gates.begin(), gates.end(),
                   [name](const HostedGate* candidate) { return view(candidate->name) == name; });
  return found == gates.end() ? nullptr : *found;
}

// Where new memory takes the place of old, the limit that was in force there is a better beginning
// than any other, whether a law has found it or a person.
Policy policy_to_begin_with(const HostedGate& hosted) noexcept {
  Policy policy = hosted.policy;
  const HostedGate* const earlier =
      find(gates_of(main_conf(const_cast<const ngx_cycle_t*>(ngx_cycle))), view(hosted.name));
  if (policy.law != Law::fixed && earlier != nullptr && earlier->gate.valid()) {
    policy.limit = std::clamp(earlier->gate.limit(), policy.limit_least, policy.limit_most);
  }
  return policy;
}

ngx_int_t make_gate(ngx_shm_zone_t& zone, HostedGate& hosted) noexcept {
  auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone.shm.addr);
  Layout* layout = lay_out(pool);
  if (layout == nullptr) {
    ngx_log_error(NGX_LOG_EMERG, zone.shm.log, 0, "loadline_gate \"%V\": its zone has no room",
                  &hosted.name);
    return NGX_ERROR;
  }
  pool->data = layout;
  hosted.shared = layout->head;
  const std::uint32_t tickets =
      Gate::tickets_that_fit(layout->block_bytes, capacity_for(hosted.policy, 0));
  const Capacity capacity = capacity_for(hosted.policy, tickets);
  const auto error = Gate::create(layout->block, layout->block_bytes, capacity,
                                  policy_to_begin_with(hosted), monotonic_now(), hosted.gate);
  if (error != Gate::OpenError::none) {
    ngx_log_error(NGX_LOG_EMERG, zone.shm.log, 0, "loadline_gate \"%V\": its zone is of no use: %s",
                  &hosted.name, text_of(error));
    return NGX_ERROR;
  }
  hosted.gate.set_mode(hosted.mode, monotonic_now());
  return NGX_OK;
}

// A block that cannot be opened is no reason to refuse the reload: somebody may be trying to repair
// things. The requests of this gate pass ungated, and that is said.
ngx_int_t open_gate(ngx_shm_zone_t& zone, HostedGate& hosted) noexcept {
  auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone.shm.addr);
  auto* layout = static_cast<Layout*>(pool->data);
  hosted.shared = layout->head;
  hosted.reused = true;
  const auto error = Gate::open(layout->block, layout->block_bytes, hosted.gate);
  if (error != Gate::OpenError::none) {
    hosted.gate = Gate{};
    ngx_log_error(
        NGX_LOG_ALERT, zone.shm.log, 0,
        "loadline_gate \"%V\": its zone is of no use: %s; its requests pass ungated until a "
        "restart, or a reload with another size",
        &hosted.name, text_of(error));
  }
  return NGX_OK;
}

ngx_int_t init_zone(ngx_shm_zone_t* zone, void* previous) noexcept {
  auto& hosted = *static_cast<HostedGate*>(zone->data);
  return previous == nullptr ? make_gate(*zone, hosted) : open_gate(*zone, hosted);
}

// The file's rules replace what was set at run time. The lock is held by others for microseconds at
// a time, so a few attempts are plenty.
void apply_file(HostedGate& hosted, ngx_log_t* log) noexcept {
  constexpr int kAttempts = 50;
  const Instant now = monotonic_now();
  Signals signals;
  bool applied = false;
  for (int i = 0; i < kAttempts && !applied; ++i) {
    applied = hosted.gate.reconfigure(hosted.policy, now, signals);
  }
  signals |= hosted.gate.set_mode(hosted.mode, now);
  signals |= hosted.gate.set_draining(false, now);
  wake(hosted, signals);
  if (!applied) {
    ngx_log_error(
        NGX_LOG_ALERT, log, 0,
        "loadline_gate \"%V\": the gate did not take the new rules; the old ones hold until "
        "the next reload",
        &hosted.name);
  }
}

}  // namespace

std::size_t zone_bytes_for(const Policy& policy) noexcept {
  const std::uint32_t queue =
      policy.queue.kind == QueueSize::Kind::fixed ? policy.queue.entries : 1;
  const Capacity capacity = capacity_for(policy, Capacity::kSpareTickets + queue);
  const std::size_t block_pages = (Gate::bytes_for(capacity) + ngx_pagesize - 1) / ngx_pagesize;
  // nginx's own bookkeeping takes less than a page and a page entry each, and up to a page is lost
  // to alignment. One page more is for the ZoneHead.
  std::size_t bytes = (block_pages + 3) * (ngx_pagesize + sizeof(ngx_slab_page_t));
  bytes = ngx_align(bytes, ngx_pagesize);
  return std::max(bytes, 8 * ngx_pagesize);  // nginx's own least size of a zone
}

ngx_int_t declare_zone(ngx_conf_t* cf, HostedGate& hosted, std::size_t bytes) noexcept {
  // NAME, a separator that no gate's name holds, and the identity in hexadecimal.
  constexpr std::size_t kSuffix = 1 + 16;
  ngx_str_t name;
  name.data = static_cast<u_char*>(ngx_pnalloc(cf->pool, hosted.name.len + kSuffix));
  if (name.data == nullptr) {
    return NGX_ERROR;
  }
  name.len = static_cast<std::size_t>(
      ngx_sprintf(name.data, "%V:%016xL", &hosted.name, identity_of(hosted)) - name.data);
  hosted.zone = ngx_shared_memory_add(cf, &name, bytes, &ngx_http_loadline_module);
  if (hosted.zone == nullptr) {
    return NGX_ERROR;
  }
  hosted.zone->init = init_zone;
  hosted.zone->data = &hosted;
  return NGX_OK;
}

void settle_zones(ngx_cycle_t* cycle) noexcept {
  const Gates earlier = gates_of(main_conf(cycle->old_cycle));
  for (HostedGate* hosted : gates_of(main_conf(cycle))) {
    if (hosted->reused && hosted->gate.valid()) {
      apply_file(*hosted, cycle->log);
    } else if (!hosted->reused && find(earlier, view(hosted->name)) != nullptr) {
      ngx_log_error(
          NGX_LOG_NOTICE, cycle->log, 0,
          "loadline_gate \"%V\": size, classes, the tables of tenants or quota or who finds the "
          "limit have changed, so it starts afresh; its limit is not shared with the workers that "
          "are finishing",
          &hosted->name);
    }
  }
}

}  // namespace loadline::ngx
