#include <loadline/gate.h>

#include <cstdlib>

int main() {
  loadline::Policy policy;
  policy.limit = 1;
  loadline::fill_defaults(policy);
  const loadline::Capacity capacity{1, loadline::Capacity::kSpareTickets + 1};
  const std::size_t bytes = (loadline::Gate::bytes_for(capacity) + 127) / 128 * 128;
  void* const memory = std::aligned_alloc(128, bytes);
  loadline::Gate gate;
  if (loadline::Gate::create(memory, bytes, capacity, policy, {}, gate) !=
      loadline::Gate::OpenError::none) {
    return 1;
  }
  const loadline::Participant me = gate.attach(0, {});
  loadline::Offer answer = gate.offer(me, {}, {});
  const bool admitted = answer.kind == loadline::Offer::Kind::admit;
  gate.release(me, answer.permit, loadline::Outcome::success, {1});
  gate.detach(me, {1});
  std::free(memory);
  return admitted ? 0 : 1;
}
