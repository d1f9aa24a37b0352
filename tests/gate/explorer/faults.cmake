# The faults that the explorer must find, and the scenario that shows each. Their texts are the
# gate's own, so a change there may need a change here.
include(plant.cmake)

# Lost wake-ups.
plant(release_wakes_nobody three include/loadline/gate/fast_path.h
      [[if (before.waiting() != 0) {]] [[if (before.waiting() > kMaxQueue) {]])
plant(nobody_is_dispatched three src/gate/queue.h
      [[if (nothing_to_dispatch(returned) || !dispatch_one(now, signals, returned)) {]]
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
      [[return std::min({ticket.cost, most,]] [[return ticket.cost + 0 * std::min({ticket.cost, most,]])
plant(displaced_is_not_told displacement src/gate/offer.h
      [[const Reason no = no_place_for(request, cost > 1, full, now, answer.signals);]]
      [[Signals untold;
    const Reason no = no_place_for(request, cost > 1, full, now, untold);]])
plant(turning_without_dispatch standing_queue_turns src/gate/offer.h
      [[more = dispatch(section.now(), answer.signals);]] [[more = false;]])
plant(reconfiguring_without_dispatch reconfigure src/gate/lifecycle.h
      [[    take_up(policy);
  }
  signals |= dispatch_all(now);]]
      [[    take_up(policy);
  }]])

# Too many, or out of turn.
plant(arrival_passes_waiters high_waits include/loadline/gate/fast_path.h
      [[if (word.waits_at_or_above(importance) || with > most) {]] [[if (with > most) {]])
plant(grant_without_room heavy_waits_for_room src/gate/queue.h
      [[if (!always && std::uint64_t{word.in_flight()} + cost > std::uint64_t{most} + returned.cost) {]]
      [[if (!always && most == 0) {]])
plant(let_in_by_a_mode_that_was enforce src/gate/observe.h
      [[if (!passes_unjudged(request)) {]] [[if (cost == 0) {]])
plant(mode_without_epoch enforce src/gate/lifecycle.h [[  move_epoch();]] [[]])
plant(let_in_and_not_counted enforce_beside_one_let_through src/gate/observe.h
      [[told.reason != Reason::none && is_observed_alone(request)]] [[told.reason != Reason::none]])
plant(limit_without_epoch lower src/gate/rules.h [[word.with_next_epoch().bits]] [[word.bits]])
plant(newest_granted_first three src/gate/order.h
      [[  const bool newest = newest_first(importance);]]
      [[  const bool newest = !newest_first(importance);]])

# Units that are handed on to who waits, instead of given back.
plant(handed_on_and_given_back three src/gate/offer.h
      [[    if (returned.cost != 0) {
      give_back(mine, returned.cost);
    }]]
      [[    give_back(mine, cost);]])
plant(handed_on_and_kept three src/gate/queue.h
      [[bracket.opened().closed(0U - returned.cost)]] [[bracket.opened().closed(0)]])
plant(handed_on_and_left_open three src/gate/queue.h
      [[bracket.opened().closed(0U - returned.cost)]] [[bracket.closed(0U - returned.cost)]])
plant(handed_on_twice two_units_for_two src/gate/queue.h
      [[    returned.cost = 0;
  }
}]]
      [[  }
}]])
plant(kept_if_nobody_takes_it lower_and_hand_on src/gate/offer.h
      [[      give_back(mine, returned.cost);]] [[]])
plant(handed_on_above_a_lowered_limit lower_and_hand_on src/gate/queue.h
      [[if (!always && std::uint64_t{word.in_flight()} + cost > std::uint64_t{most} + returned.cost) {]]
      [[if (!always && returned.cost < cost && std::uint64_t{word.in_flight()} + cost > most) {]]
      src/gate/queue.h
      [[(load_word().in_flight() >= std::uint64_t{limit()} + returned.cost && !admits_all());]]
      [[(returned.cost == 0 && load_word().in_flight() >= limit() && !admits_all());]])
plant(handed_on_above_a_class hand_on_beside_a_lower_class src/gate/queue.h
      [[if (!always && std::uint64_t{word.in_flight()} + cost > std::uint64_t{most} + returned.cost) {]]
      [[if (!always && returned.cost < cost && std::uint64_t{word.in_flight()} + cost > most) {]])
plant(handed_on_to_a_heavier_one one_unit_for_a_heavy_one src/gate/queue.h
      [[if (!always && std::uint64_t{word.in_flight()} + cost > std::uint64_t{most} + returned.cost) {]]
      [[if (!always && returned.cost == 0 && std::uint64_t{word.in_flight()} + cost > most) {]])
plant(what_was_brought_is_not_free three src/gate/queue.h
      [[(load_word().in_flight() >= std::uint64_t{limit()} + returned.cost && !admits_all());]]
      [[(load_word().in_flight() >= limit() && !admits_all());]])
plant(given_back_and_nobody_is_woken three src/gate/offer.h
      [[  Returned returned{&mine, cost};
  bool more = true;]]
      [[  Returned returned{&mine, cost};
  bool more = false;]])
plant(given_back_after_the_section busy_hand_on src/gate/offer.h
      [[      more = dispatch(section.now(), signals, returned);
    }]]
      [[      more = dispatch(section.now(), signals, returned);
    }
  }
  {]])

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
plant(repair_leaves_half_of_the_rules death_while_changing_the_limit src/gate/recovery.h
      [[  restore_rules();
  guarded()]]
      [[  guarded()]])

# Who is next.
plant(lifo_takes_the_oldest newest_first src/gate/order.h
      [[  const bool newest = newest_first(importance);]] [[  const bool newest = false;]])
plant(displaced_is_the_next displacement_of_the_newest src/gate/order.h
      [[  return newest_first(importance) ? choose(]] [[  return !newest_first(importance) ? choose(]])
plant(order_turned_without_the_mutex standing_queue src/gate/offer.h
      [[    return {.verdict = Verdict::wait};  // no more than a reason to go where dispatches are made]]
      [[    note_standing(request.importance, now);
    return {.verdict = Verdict::wait};]])
plant(emptying_leaves_the_order standing_queue_of_two src/gate/order.h
      [[published().newest_first.store(mask & ~(1U << importance), std::memory_order_relaxed);]] [[]])
plant(order_set_after_the_discipline death_while_turning_the_order src/gate/judge.h
      [[return discipline == Discipline::lifo ||
         (discipline == Discipline::adaptive && (standing()]]
      [[return ((standing()]]
      src/gate/rules.h
      [[published().newest_first.store(0,]]
      [[published().newest_first.store(policy.discipline == Discipline::lifo ? ~0U : 0U,]])
plant(guarantee_is_ignored guarantee src/gate/queue.h
      [[if (owed < kMaxClasses && decide(]] [[if (owed > kMaxClasses && decide(]])
plant(start_is_not_charged guarantee_used_up src/gate/order.h
      [[credit - kOneStart * units]] [[credit]])
plant(owed_class_blocks_the_rest owed_class_without_room src/gate/queue.h
      [[if (owed < kMaxClasses && decide(next_of(owed, heavy_eligible(owed)), now, signals, returned)) {
    return true;]]
      [[if (owed < kMaxClasses) {
    return decide(next_of(owed, heavy_eligible(owed)), now, signals, returned);]])
plant(displacement_takes_a_kept_place places_kept src/gate/order.h
      [[> places_kept(c)) {]] [[> 0) {]])

# Weights above 1.
plant(heavy_beyond_its_share two_heavies src/gate/judge.h
      [[(!heavies_wait_at_or_above(importance, in_shadow) && !heavies_are_full(cost, in_shadow)));]]
      [[!heavies_wait_at_or_above(importance, in_shadow));]])
plant(lighter_heavy_passes lighter_heavy_comes src/gate/judge.h
      [[(!heavies_wait_at_or_above(importance, in_shadow) && !heavies_are_full(cost, in_shadow)));]]
      [[!heavies_are_full(cost, in_shadow));]])
plant(heavy_waits_for_its_share_in_the_way share_of_the_heavy_full src/gate/queue.h
      [[return next < capacity_.tickets && (admits_all() || !heavies_are_full(charge_now(next)));]]
      [[return next < capacity_.tickets;]])
plant(heavy_may_start_untold heavy_may_start_again src/gate/queue.h
      [[if (occupied_queues() >> kMaxClasses != 0 && load_word().mask() != mask_of_queues()) {]]
      [[if (load_word().mask() > 0xff) {]])
plant(heavy_may_start_no_more_untold taken_back_from_a_heavy_one src/gate/queue.h
      [[load_word().mask() != mask_of_queues()) {]]
      [[(mask_of_queues() & ~load_word().mask()) != 0) {]])
plant(seat_keeps_the_heavy heavy_leaves_its_seat src/gate/recovery.h
      [[gone.heavy_held.store(0, std::memory_order_relaxed);]] [[]])
plant(repair_forgets_the_heavy death_while_granting_a_heavy_one src/gate/recovery.h
      [[detail::add_alone(guarded().granted_heavy, ticket.cost);]] [[]])

# Grants that nobody comes for.
plant(taking_back_keeps_the_units taken_back src/gate/settle.h
      [[  withdraw(index);
  detail::add_alone(guarded().taken_back, 1U);]]
      [[  detail::add_alone(guarded().taken_back, 1U);]])
plant(taking_back_tells_last death_while_taking_back src/gate/settle.h
      [[  detail::TicketState granted = detail::TicketState::granted;
  if (!ticket.state.compare_exchange_strong(granted, detail::TicketState::refused,
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return;  // its owner has come for it after all
  }
  withdraw(index);]]
      [[  withdraw(index);
  ticket.state.store(detail::TicketState::refused, std::memory_order_release);]])
plant(taken_back_without_compare taken_back src/gate/settle.h
      [[  detail::TicketState granted = detail::TicketState::granted;
  if (!ticket.state.compare_exchange_strong(granted, detail::TicketState::refused,
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return;  // its owner has come for it after all
  }]]
      [[  ticket.state.store(detail::TicketState::refused, std::memory_order_release);]])
plant(taken_without_compare taken_back src/gate/settle.h
      [[  const bool taken = ticket.state.compare_exchange_strong(
      granted, detail::TicketState::taken, std::memory_order_acq_rel, std::memory_order_relaxed);]]
      [[  const bool taken = granted == detail::TicketState::granted;
  ticket.state.store(detail::TicketState::taken, std::memory_order_release);]])
plant(taken_without_bracket death_of_a_waiter src/gate/settle.h
      [[  mine.bracket.store(opened.bits, std::memory_order_relaxed);
  detail::TicketState granted]]
      [[  detail::TicketState granted]])
plant(audit_forgets_what_is_granted death_of_a_waiter src/gate/recovery.h
      [[      units += ticket.cost;]] [[]])
plant(taken_is_never_freed two_twice src/gate/queue.h
      [[  unlink(owner.ready_list, first);
  publish_ready(owner);
  free_ticket(first);]]
      [[  unlink(owner.ready_list, first);
  publish_ready(owner);]])
plant(taken_back_is_started taken_back src/gate/settle.h
      [[const bool granted = ticket.state.load(std::memory_order_relaxed) == detail::TicketState::granted;
  const std::uint8_t importance]]
      [[const bool granted = ticket.reason == Reason::none || ticket.reason == Reason::queue_timeout;
  const std::uint8_t importance]])

# Who is charged what.
plant(calendar_keeps_who_left tenants_in_turn src/gate/queue.h [[    leave_calendar(index);]] [[]])
plant(repair_forgets_the_calendars death_of_a_tenant src/gate/recovery.h
      [[    rebuild_calendars();]] [[]])
plant(calendar_forgets_who_is_behind heavy_tenant_behind_the_round src/gate/tenants.h
      [[first_tag(queue_of(index), tickets_[index].importance) / kRound;]]
      [[round_of(tickets_[index].importance) / kRound;]])
plant(leaving_is_not_refunded tenant_cancels src/gate/queue.h
      [[      if (has_tenants()) {
        refund(index);
      }
      leave_queue(index);]]
      [[      leave_queue(index);]])
plant(charge_in_two_steps tenant_settles src/gate/tenants.h
      [[    while (!finish.compare_exchange_weak(]]
      [[    finish.store(std::max(seen, from) + static_cast<std::uint64_t>(amount),
                 std::memory_order_relaxed);
    while (amount == 0 && !finish.compare_exchange_weak(]])
plant(quota_without_compare quota_of_one src/gate/quota.h
      [[    if (cell->compare_exchange_strong(seen.bits, next.bits, std::memory_order_relaxed)) {
      return {};
    }]]
      [[    cell->store(next.bits, std::memory_order_relaxed);
    return {};]])
plant(quota_given_back_without_compare quota_given_back_by_two src/gate/quota.h
      [[    if (cell->compare_exchange_strong(seen.bits, next.bits, std::memory_order_relaxed)) {
      return;
    }]]
      [[    cell->store(next.bits, std::memory_order_relaxed);
    return;]])
plant(quota_is_not_given_back quota_given_back src/gate/offer.h
      [[    refund_quota(request, told.reason);
  }
  return told;]]
      [[  }
  return told;]])
plant(exempt_is_never_given_back exempt src/gate/offer.h
      [[detail::add_alone(mine.exempt_held, ~0U);]] [[]])
plant(seat_keeps_the_exempt exempt_leaves_its_seat src/gate/recovery.h
      [[gone.exempt_held.store(0, std::memory_order_relaxed);]] [[]])
plant(draining_lets_in drain src/gate/judge.h
      [[  if (draining()) {]] [[  if (draining() && scope.observing) {]])
plant(wait_predicted_by_nobody predicted_wait src/gate/judge.h
      [[ahead += guarded().class_waiting[c].load(std::memory_order_relaxed) +]] [[ahead +=]])
