// The gate as it is shipped, among processes that do everything all the time and are killed at any
// instant: a thousand times, and nothing is lost.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "loadline/gate.h"

namespace loadline::crash {
namespace {

constexpr std::uint32_t kWorkers = 3;
constexpr std::uint32_t kSeats = kWorkers + 1;
constexpr std::uint32_t kQueue = 24;
constexpr std::uint32_t kLimits[] = {12, 8, 16};
constexpr std::uint32_t kHighestLimit = 16;
constexpr Duration kBudget = Duration::millis(20);
constexpr Duration kPatience = Duration::seconds(3);  // beyond start_by, for a machine in need

#ifdef __SANITIZE_ADDRESS__
constexpr int kKills = 200;  // each new process takes its time
#else
constexpr int kKills = 1000;
#endif
constexpr int kKillsToAPause = 20;

Instant clock_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec};
}

template <class Condition>
bool soon(Condition condition) {
  const Instant end = clock_now() + Duration::seconds(10);
  while (!condition()) {
    if (clock_now() > end) {
      return false;
    }
    usleep(100);
  }
  return true;
}

Policy policy() {
  Policy made;
  made.limit = kLimits[0];
  made.queue = QueueSize::at_most(kQueue);
  made.wait_budget = kBudget;
  fill_defaults(made);
  return made;
}

// What a worker says of itself, in shared memory. Its successor goes on with the sums.
struct Account {
  std::atomic<std::uint32_t> held;     // units; exact while outside of an operation
  std::atomic<std::uint32_t> waiting;  // tickets of which it has not been told
  std::atomic<bool> inside;            // an operation
  std::atomic<bool> seated;
  std::atomic<bool> halted;
  std::atomic<std::uint64_t> offered;
  std::atomic<std::uint64_t> wrongs;  // told what it did not ask, or not told in time
};

struct Book {
  std::atomic<bool> halt;  // outside of operations, please
  Account accounts[kWorkers];
};

class Worker {
 public:
  Worker(Gate gate, Book& book, std::uint32_t index, std::uint64_t seed)
      : gate_(gate), book_(book), mine_(book.accounts[index]), random_(seed) {
    do {  // the mutex may not be had just now
      me_ = gate_.attach(index, clock_now());
    } while (!me_.valid());
    mine_.wrongs += me_.index != index;
    mine_.seated.store(true);
  }

  [[noreturn]] void work() {
    while (true) {
      if (book_.halt.load()) {
        mine_.halted.store(true);
        usleep(50);
        continue;
      }
      mine_.halted.store(false);
      do_something();
    }
  }

 private:
  struct Waiting {
    Ticket ticket;
    Instant start_by;
  };

  [[nodiscard]] bool one_in(std::uint32_t n) { return random_() % n == 0; }

  // Says afterwards what it then holds.
  template <class Operation>
  void inside(Operation operation) {
    mine_.inside.store(true);
    operation();
    std::uint32_t units = 0;
    for (const Permit& permit : held_) {
      units += permit.cost();
    }
    mine_.held.store(units);
    mine_.waiting.store(static_cast<std::uint32_t>(waiting_.size()));
    mine_.inside.store(false);
  }

  void do_something() {
    inside([this] { offer(); });
    if (!held_.empty() && one_in(2)) {
      inside([this] { release(); });
    }
    if (!waiting_.empty() && one_in(4)) {
      inside([this] { one_in(2) ? cancel() : settle(); });
    }
    if (one_in(2)) {
      inside([this] { collect(); });
    }
    if (one_in(32)) {
      inside([this] { look_after(); });
    }
    if (one_in(256)) {
      inside([this] { change_limit(); });
    }
    while (held_.size() > 6) {
      inside([this] { release(); });
    }
  }

  void offer() {
    Request request;
    request.importance = static_cast<std::uint8_t>(random_() % 4);
    request.cost = one_in(8) ? 3 : 1;
    request.may_wait = !one_in(8);
    if (one_in(4)) {
      request.deadline = clock_now() + Duration::millis(random_() % 60);
    }
    mine_.offered.store(mine_.offered.load() + 1);
    Offer answer = gate_.offer(me_, request, clock_now());
    if (answer.kind == Offer::Kind::admit) {
      held_.push_back(std::move(answer.permit));
    } else if (answer.kind == Offer::Kind::wait) {
      waiting_.push_back({answer.ticket, answer.start_by});
    }
  }

  void release() {
    gate_.release(me_, held_.back(), Outcome::success, clock_now());
    held_.pop_back();
  }

  std::size_t any_waiting() { return random_() % waiting_.size(); }
  void forget(std::size_t i) {
    waiting_[i] = waiting_.back();
    waiting_.pop_back();
  }

  void cancel() {
    const std::size_t i = any_waiting();
    const Ticket ticket = waiting_[i].ticket;
    forget(i);
    gate_.cancel(me_, ticket, clock_now());
  }

  void settle() {
    const std::size_t i = any_waiting();
    Signals signals;  // nobody sleeps here
    Settled settled = gate_.settle(me_, waiting_[i].ticket, clock_now(), signals);
    if (settled.kind != Settled::Kind::waiting) {
      take(settled);
    }
  }

  void take(Settled& settled) {
    std::size_t i = 0;
    while (i < waiting_.size() && !(waiting_[i].ticket == settled.ticket)) {
      ++i;
    }
    if (i == waiting_.size() || settled.kind == Settled::Kind::unknown) {
      ++mine_.wrongs;
      return;
    }
    forget(i);
    if (settled.kind == Settled::Kind::admit) {
      held_.push_back(std::move(settled.permit));
    }
  }

  void collect() {
    std::array<Settled, 8> some;
    Signals signals;
    const std::size_t n = gate_.collect(me_, some, clock_now(), signals);
    for (std::size_t i = 0; i < n; ++i) {
      take(some[i]);
    }
  }

  void look_after() {
    const Instant began = clock_now();
    gate_.tick(began);
    collect();
    for (const Waiting& one : waiting_) {
      mine_.wrongs += one.start_by + kPatience < began;
    }
  }

  void change_limit() {
    Signals signals;
    gate_.set_limit(kLimits[random_() % std::size(kLimits)], clock_now(), signals);
  }

  Gate gate_;
  Book& book_;
  Account& mine_;
  std::mt19937_64 random_;
  Participant me_;
  std::vector<Permit> held_;
  std::vector<Waiting> waiting_;
};

// The gate, its workers, and who kills them.
class Shift {
 public:
  Shift() : bytes_(Gate::bytes_for(kCapacity)) {
    block_ = pages(bytes_);
    book_ = ::new (pages(sizeof(Book))) Book{};
    EXPECT_EQ(Gate::create(block_, bytes_, kCapacity, policy(), clock_now(), gate),
              Gate::OpenError::none);
    me = gate.attach(kWorkers, clock_now());
    EXPECT_EQ(me.index, kWorkers);
  }
  ~Shift() {
    gate.detach(me, clock_now());
    munmap(block_, bytes_);
    munmap(book_, sizeof(Book));
  }
  Shift(const Shift&) = delete;
  Shift& operator=(const Shift&) = delete;

  void start(std::uint32_t index, std::uint64_t seed) {
    account(index).seated.store(false);
    pids_[index] = fork();
    ASSERT_GE(pids_[index], 0);
    if (pids_[index] == 0) {
      Worker(gate, *book_, index, seed).work();
    }
    // Only who has taken a seat can be missed there.
    ASSERT_TRUE(soon([&] { return account(index).seated.load(); }));
  }

  void kill_one(std::uint32_t index) {
    kill(pids_[index], SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(pids_[index], &status, 0), pids_[index]);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    account(index).held.store(0);
    account(index).waiting.store(0);
    account(index).inside.store(false);
    account(index).halted.store(false);
  }

  void stop_all() {
    for (const pid_t pid : pids_) {
      kill(pid, SIGSTOP);
    }
    for (const pid_t pid : pids_) {
      int status = 0;
      ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
      ASSERT_TRUE(WIFSTOPPED(status));
    }
  }

  void go_on_all() {
    for (const pid_t pid : pids_) {
      kill(pid, SIGCONT);
    }
  }

  // All are stopped, some of them in the middle of an operation: what the others hold is there.
  void expect_that_nothing_is_missing() {
    std::uint32_t held = 0;
    for (const Account& one : book_->accounts) {
      held += one.inside.load() ? 0 : one.held.load();
    }
    EXPECT_GE(gate.in_flight(), held);
    EXPECT_LE(gate.in_flight(), kHighestLimit);
  }

  // Nobody is in an operation: the word is exactly what they hold, and what they wait for.
  void expect_that_all_adds_up() {
    book_->halt.store(true);
    go_on_all();
    ASSERT_TRUE(soon([this] {
      return std::all_of(std::begin(book_->accounts), std::end(book_->accounts),
                         [](const Account& one) { return one.halted.load(); });
    }));
    EXPECT_TRUE(soon([this] {
      gate.tick(clock_now());
      return what_is_wrong().empty();
    })) << what_is_wrong();
    book_->halt.store(false);
  }

  [[nodiscard]] std::string what_is_wrong() const {
    std::uint32_t units = 0;
    std::uint32_t waiting = 0;
    std::array<std::uint32_t, kSeats> tickets{};
    for (std::uint32_t i = 0; i < kCapacity.tickets; ++i) {
      const auto& one = ticket(i);
      const auto state = one.state.load();
      units += state == detail::TicketState::granted ? one.cost : 0;
      waiting += state == detail::TicketState::waiting;
      // One that was left while the mutex was not to be had is told to nobody.
      const bool left = one.abandoned.load() == one.generation.load();
      tickets.at(one.owner % kSeats) += detail::in_use(state) && !left;
    }
    for (std::uint32_t i = 0; i < kWorkers; ++i) {
      units += book_->accounts[i].held.load();
      if (tickets[i] != book_->accounts[i].waiting.load()) {
        return "worker " + std::to_string(i) + " waits for " +
               std::to_string(book_->accounts[i].waiting.load()) +
               ", and has tickets: " + std::to_string(tickets[i]);
      }
    }
    const Snapshot all = gate.snapshot();
    if (all.in_flight != units || all.waiting != waiting) {
      return "in flight " + std::to_string(all.in_flight) + ", held " + std::to_string(units) +
             "; waiting " + std::to_string(all.waiting) + ", tickets " + std::to_string(waiting);
    }
    return {};
  }

  [[nodiscard]] Account& account(std::uint32_t i) const { return book_->accounts[i]; }
  [[nodiscard]] std::uint64_t offered() const {
    std::uint64_t sum = 0;
    for (const Account& one : book_->accounts) {
      sum += one.offered.load();
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t wrongs() const {
    std::uint64_t sum = 0;
    for (const Account& one : book_->accounts) {
      sum += one.wrongs.load();
    }
    return sum;
  }

  Gate gate;
  Participant me;

 private:
  static constexpr Capacity kCapacity{kSeats, Capacity::kSpareTickets + kQueue};

  static void* pages(std::size_t bytes) {
    void* const made =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(made, MAP_FAILED);
    return made;
  }

  [[nodiscard]] const detail::TicketSlot<NativeSync>& ticket(std::uint32_t i) const {
    const auto* const first = reinterpret_cast<const detail::TicketSlot<NativeSync>*>(
        static_cast<const std::byte*>(block_) + sizeof(detail::BlockHead<NativeSync>) +
        kSeats * sizeof(detail::ParticipantSlot<NativeSync>));
    return first[i];
  }

  std::size_t bytes_;
  void* block_ = nullptr;
  Book* book_ = nullptr;
  std::array<pid_t, kWorkers> pids_{};
};

std::uint64_t seed() {
  const char* const given = std::getenv("LOADLINE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

struct Sums {
  std::uint64_t decided = 0;
  std::uint64_t waiting = 0;
};

Sums sums_of(const Snapshot& all) {
  Sums sums;
  for (const Snapshot::Class& one : all.classes) {
    sums.decided += one.admitted + one.cancelled;
    sums.waiting += one.waiting;
    for (const std::uint64_t rejected : one.rejected) {
      sums.decided += rejected;
    }
  }
  return sums;
}

TEST(RandomKills, LoseNothing) {
  const std::uint64_t chosen = seed();
  std::printf("seed %llu (to choose it: LOADLINE_SEED)\n", static_cast<unsigned long long>(chosen));
  std::mt19937_64 random(chosen);
  Shift shift;
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    ASSERT_NO_FATAL_FAILURE(shift.start(i, random()));
  }
  for (int kills = 1; kills <= kKills && !testing::Test::HasFailure(); ++kills) {
    usleep(static_cast<useconds_t>(random() % 2000));
    const auto victim = static_cast<std::uint32_t>(random() % kWorkers);
    ASSERT_NO_FATAL_FAILURE(shift.kill_one(victim));
    ASSERT_NO_FATAL_FAILURE(shift.start(victim, random()));
    if (kills % kKillsToAPause == 0) {
      ASSERT_NO_FATAL_FAILURE(shift.stop_all());
      shift.expect_that_nothing_is_missing();
      ASSERT_NO_FATAL_FAILURE(shift.expect_that_all_adds_up());
    }
  }
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    ASSERT_NO_FATAL_FAILURE(shift.kill_one(i));
  }
  const auto empty = [&shift] {
    shift.gate.tick(clock_now());
    return shift.gate.in_flight() == 0 && shift.gate.snapshot().waiting == 0 &&
           shift.gate.snapshot().participants == 1;
  };
  ASSERT_TRUE(soon(empty));
  EXPECT_EQ(shift.wrongs(), 0U);
  const Snapshot all = shift.gate.snapshot();
  const Sums sums = sums_of(all);
  EXPECT_LE(sums.decided + sums.waiting, shift.offered());
  EXPECT_LE(shift.offered(), sums.decided + sums.waiting + kKills + kWorkers);
  EXPECT_EQ(all.corruptions, 0U);
  EXPECT_EQ(all.released_twice, 0U);
  std::printf("%llu offered, %llu lost by %d kills, %llu repairs\n",
              static_cast<unsigned long long>(shift.offered()),
              static_cast<unsigned long long>(shift.offered() - sums.decided - sums.waiting),
              kKills, static_cast<unsigned long long>(all.repairs));
  // As good as new: exactly the limit.
  std::vector<Permit> held;
  Offer answer = shift.gate.offer(shift.me, {}, clock_now());
  for (; answer.permit.held(); answer = shift.gate.offer(shift.me, {}, clock_now())) {
    held.push_back(std::move(answer.permit));
  }
  EXPECT_EQ(held.size(), all.limit);
}

}  // namespace
}  // namespace loadline::crash
