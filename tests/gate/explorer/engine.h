// Explores every interleaving of a few threads: a depth-first search over their steps, under
// sequential consistency, that goes on only from states it has not seen before.
//
// A state is the shared memory and, of each thread, a hash of what it has learnt since its present
// operation began: a thread's code is deterministic, so that decides what is on its stack. States
// are remembered as 64-bit hashes; among n of them two unlike ones are taken for one with a
// probability of about n^2 / 2^65 (10^-6 for five million).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fiber.h"

namespace loadline::explorer {

inline constexpr std::uint32_t kMaxThreads = 4;
// Who acts outside of the explored threads: when all of them rest.
inline constexpr std::uint32_t kOutsider = kMaxThreads;

// What a thread is about to do.
enum class Step : std::uint8_t { start, read, write, exchange, lock, unlock, work, signal, wait };

// What an operation on an atomic or a mutex is to the search. `step`: others may come between
// before it. `part`: it is one with the step before, for no other thread can tell. `blind`: like
// part, and nothing that its thread does depends on what it reads. `mortal`: like part, but its
// thread may die before it.
enum class Weight : std::uint8_t { step, part, blind, mortal };

struct Pending {
  Step step = Step::start;
  bool alone = false;  // nobody else moves before this has been done
  const void* address = nullptr;
};

// A choice of the search. `time_out`: the bounded lock fails. `die`: the thread is killed where it
// stands. `recover`: nobody can go on, and what comes with time happens.
struct Move {
  enum class Kind : std::uint8_t { run, time_out, die, recover };
  Kind kind = Kind::run;
  std::uint8_t thread = 0;
};

// The program that is explored.
class Subject {
 public:
  virtual ~Subject() = default;

  [[nodiscard]] virtual std::uint32_t threads() const = 0;
  virtual void live(std::uint32_t thread) = 0;  // a thread's body; never returns
  virtual std::span<std::byte> memory() = 0;    // all that is shared, the book-keeping included

  [[nodiscard]] virtual std::uint64_t digest() const = 0;          // of that memory
  [[nodiscard]] virtual std::uint64_t guarded_digest() const = 0;  // of what the mutex guards
  virtual Weight weigh(std::uint32_t thread, Pending next) = 0;
  [[nodiscard]] virtual bool can_run(std::uint32_t thread, Pending next) const = 0;
  [[nodiscard]] virtual bool can_time_out(std::uint32_t thread, Pending next) const = 0;
  [[nodiscard]] virtual bool can_die(std::uint32_t thread) const = 0;
  [[nodiscard]] virtual bool can_recover() const = 0;

  virtual void wrote(const void* address, std::uint64_t before, std::uint64_t after) = 0;
  virtual void timed_out(std::uint32_t thread) = 0;
  virtual void died(std::uint32_t thread) = 0;
  virtual void recover() = 0;

  virtual void check() = 0;      // in every state
  virtual void check_end() = 0;  // where nothing can happen any more

  [[nodiscard]] virtual std::string name(const void* address) const = 0;
};

struct Bounds {
  std::uint64_t states = 50'000'000;
  double seconds = 3600;
};

struct Report {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  std::uint64_t ends = 0;  // different states in which nothing can happen any more
  std::size_t deepest = 0;
  double seconds = 0;
  bool complete = false;
  std::string violation;           // empty: none
  std::vector<std::string> trace;  // that led to it
};

// 64-bit hashes, open addressing; 0 stands for an empty place.
class HashSet {
 public:
  HashSet() : places_(std::size_t{1} << 16) {}
  bool insert(std::uint64_t hash);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  bool put(std::uint64_t hash);
  std::vector<std::uint64_t> places_;
  std::size_t size_ = 0;
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t value);
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

class Engine {
 public:
  Report explore(Subject& subject, Bounds bounds);

  // From within the explored program.
  Weight before(Step step, const void* address);
  void learn(std::uint64_t value);
  void learn_guarded();
  void forget();  // an operation is over: what its thread knows is in the memory
  void wrote(const void* address, std::uint64_t before, std::uint64_t after);
  [[nodiscard]] bool time_out_now();  // was this lock chosen to fail?
  [[nodiscard]] std::uint32_t current() const { return current_; }
  void fail(std::string what);

  // Lets `who` act without steps, before the search or between.
  template <class Deed>
  void act_as(Subject& subject, std::uint32_t who, Deed deed) {
    subject_ = &subject;
    stepping_ = false;
    acting_ = true;
    current_ = who;
    deed();
    acting_ = false;
    stepping_ = true;
  }

 private:
  // Not 0: to have read a 0 would then be the same as to have read nothing.
  static constexpr std::uint64_t kNothingLearnt = 1;
  struct Thread {
    std::uint64_t learnt = kNothingLearnt;
    Pending pending;
    bool alive = true;
  };
  struct Frame {
    std::vector<std::byte> saved;
    std::array<Pending, kMaxThreads> pending{};  // for the trace
    std::array<Move, 3 * kMaxThreads> moves{};
    std::size_t count = 0;
    std::size_t next = 0;
  };

  static void body(std::uint32_t thread);
  void start();
  bool advance();  // one move; false: nothing left
  void enter_state();
  void perform(Move move);
  void list_moves(Frame& frame);
  void save(Frame& frame);
  void restore(const Frame& frame);
  [[nodiscard]] std::uint64_t digest() const;
  [[nodiscard]] std::vector<std::string> trace() const;

  Subject* subject_ = nullptr;
  std::array<Fiber, kMaxThreads> fibers_;
  std::array<Thread, kMaxThreads> threads_{};
  std::uint32_t current_ = kOutsider;
  bool stepping_ = false;
  bool acting_ = false;
  bool time_out_ = false;

  std::vector<Frame> frames_;  // kept for re-use beyond depth_
  std::size_t depth_ = 0;
  std::size_t standing_at_ = 0;  // depth whose state the memory holds now
  HashSet seen_;
  HashSet ends_;
  Report report_;
};

Engine& engine();

}  // namespace loadline::explorer
