# The faults that the explorer must find, and the scenario that shows each. Their texts are the
# gate's own, so a change there may need a change here.
include(plant.cmake)

# Lost wake-ups.
plant(release_wakes_nobody three include/loadline/gate/fast_path.h
      [[return before.waiting() == 0 ? Signals{} : dispatch_all(now);]] [[return Signals{};]])
plant(nobody_is_dispatched three src/gate/queue.h
      [[if (guarded().waiting == 0 || !dispatch_one(now, signals)) {]]
      [[if (guarded().waiting <= kMaxQueue) {]])
plant(raise_without_dispatch raise src/gate/lifecycle.h
      [[    take_up(changed);
  }
  signals |= dispatch_all(now);]]
      [[    take_up(changed);
  }
  signals |= Signals{};]])
plant(cancel_without_dispatch heavy_head_cancelled src/gate/settle.h
      [[      drop(ticket.index);
    }
    more = dispatch(section.now(), signals);]]
      [[      drop(ticket.index);
    }]])
plant(collect_without_dispatch busy_cancel_granted src/gate/settle.h
      [[taken = take_ready(who, out);
    more = dispatch(section.now(), signals);]]
      [[taken = take_ready(who, out);]])
# Somebody was judged by rules that changed before it came to wait.
plant(offer_without_dispatch observe src/gate/offer.h
      [[more = dispatch(section.now(), answer.signals);]] [[more = false;]])
# The second look alone is not missed: the dispatch makes up for it.
plant(queueing_without_a_second_look two_twice src/gate/queue.h
      [[  const Word next = seen.with_waiting(guarded().waiting + 1, mask_of_queues() | own_bit);
  if (!head_->word.compare_exchange_strong(seen.bits, next.bits, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
    return false;
  }]]
      [[  const std::uint32_t mask = mask_of_queues() | own_bit;
  while (!head_->word.compare_exchange_weak(
      seen.bits, seen.with_waiting(guarded().waiting + 1, mask).bits, std::memory_order_acq_rel,
      std::memory_order_acquire)) {
  }]]
      src/gate/offer.h
      [[more = dispatch(section.now(), answer.signals);]] [[more = false;]])
plant(heavy_waits_for_ever lower_below_a_heavy_one src/gate/queue.h
      [[return std::min({ticket.cost, most, threshold(ticket.importance)});]]
      [[return most == 0 ? 0U : ticket.cost;]])

# Too many, or out of turn.
plant(arrival_passes_waiters high_waits include/loadline/gate/fast_path.h
      [[if (word.waits_at_or_above(importance) ||
        std::uint64_t]]
      [[if (std::uint64_t]])
plant(grant_without_room three src/gate/queue.h
      [[if (!always && std::uint64_t{word.in_flight()} + cost > most) {]]
      [[if (!always && most == 0) {]])
plant(limit_without_epoch lower src/gate/rules.h [[word.with_next_epoch().bits]] [[word.bits]])
plant(newest_granted_first three src/gate/order.h
      [[  const bool newest = newest_first(importance);]]
      [[  const bool newest = !newest_first(importance);]])

# A ticket is taken for another.
plant(cancel_of_anothers_ticket ticket_used_again src/gate/settle.h
      [[    if (owns(who, ticket)) {
      drop(ticket.index);
    }]]
      [[    drop(ticket.index);]])
plant(generation_before_state death_of_a_dispatcher src/gate/queue.h
      [[  ticket.next = guarded().free_head;
  guarded().free_head = index;
  ticket.state.store(detail::TicketState::free, std::memory_order_release);
  detail::add_alone(ticket.generation, 1U);]]
      [[  detail::add_alone(ticket.generation, 1U);
  ticket.next = guarded().free_head;
  guarded().free_head = index;
  ticket.state.store(detail::TicketState::free, std::memory_order_release);]])

# After a death.
plant(change_without_bracket death_beside_a_tick include/loadline/gate/fast_path.h
      [[mine.bracket.store(opened.bits, std::memory_order_relaxed);]] [[]])
plant(audit_in_spite_of_open_brackets death_beside_a_tick src/gate/recovery.h
      [[if (detail::Bracket{seen[i]}.open()) {]]
      [[if (detail::Bracket{seen[i]}.held() > kMaxLimit) {]])
plant(audit_without_a_second_look death_beside_a_tick src/gate/recovery.h
      [[if (slots_[i].bracket.load(std::memory_order_acquire) != seen[i]) {]]
      [[if (seen[i] == ~std::uint64_t{0}) {]])
plant(repair_leaves_the_word death_of_a_waiter src/gate/recovery.h
      [[  rebuild_lists();
  publish_waiting();]]
      [[  rebuild_lists();]])
