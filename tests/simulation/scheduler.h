// Scheduler: runs the threads of a simulation one at a time, on one thread of the system, in an
// order that a seed decides; and keeps their clock.
//
// A thread of the simulation is a fiber with a stack of its own. It goes on until it has to wait or
// has reached so many points that another one gets its turn. Points are what threads do that others
// can see: every atomic operation of the engine (instrumentation.cpp), every lock, futex and sleep
// (threads.cpp), every call of a wire (network.h). So the order in which threads
// do such things is any that a machine without reordering of memory accesses could show, and the
// same seed shows the same order again. (What the processor reorders is the matter of tests/spin.)
//
// Time passes with points and, where nobody can go on, jumps to the first thread that has waited
// long enough. So a second in which nothing happens costs nothing.
#ifndef CGRAPH_TESTS_SIMULATION_SCHEDULER_H_
#define CGRAPH_TESTS_SIMULATION_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cgraph::simulation {

struct Fiber;

class Scheduler {
 public:
  explicit Scheduler(uint64_t seed);
  ~Scheduler();

  // Returns that of the fiber which runs; null: none does.
  static Scheduler* Current();

  // Adds a thread of a rank; returns its number, from 1.
  uint32_t Spawn(uint32_t rank, const std::string& name, std::function<void()> body);

  // Runs fibers until all are over that may run.
  enum class End {
    kOver,
    kDeadlock,  // none can ever go on
    kLate,      // the clock has reached `limit_ns`
  };
  End Run(int64_t limit_ns);
  bool Over(uint32_t fiber) const;
  bool OverAll(uint32_t rank) const;

  // A rank that is stopped does nothing any more, at no point.
  void Stop(uint32_t rank) { ranks_[rank].stopped = true; }
  void Continue(uint32_t rank) { ranks_[rank].stopped = false; }
  // Stops a rank at its `point`-th point, counted from 0, and then calls `stopped`.
  void StopAt(uint32_t rank, uint64_t point, std::function<void()> stopped);
  uint64_t points(uint32_t rank) const { return ranks_[rank].points; }

  // What the fiber that runs does. `what`: for those who read the schedule.
  void Point(const char* what) {
    ++now_ns_of_point_;
    if (++ranks_[rank_].points == ranks_[rank_].stop_at || --turn_ == 0) Yield(what);
  }
  // Waits to be woken at an address, or until a time; returns whether it was woken. No point
  // itself: what the fiber has seen before still holds when it begins to wait.
  bool Wait(const char* what, const void* address, std::optional<int64_t> until_ns);
  uint32_t Wake(const void* address, uint32_t most);
  void Join(uint32_t fiber);
  uint32_t self() const;
  uint32_t rank() const { return rank_; }
  // How many processors there seem to be: with enough of them threads spin before they sleep.
  uint32_t cores() const { return cores_; }
  void Pass(int64_t ns) { now_ns_ += ns; }
  int64_t now_ns() const { return now_ns_ + now_ns_of_point_ * point_ns_; }
  // Has a futex's wake-up, the `which`-th of all, wake nobody: a fault.
  void LoseWake(uint64_t which) { lost_wake_ = which; }
  bool LosesWake() { return wakes_++ == lost_wake_; }

  uint64_t Random(uint64_t below) { return random_() % below; }
  bool Chance(uint64_t one_of) { return Random(one_of) == 0; }

  // Describes who waits for what, and the last turns. The digest is another one for every schedule.
  std::string Describe(size_t turns) const;
  uint64_t digest() const { return digest_; }

 private:
  struct Rank {
    bool stopped = false;
    uint64_t points = 0, stop_at = ~0ull;
    std::function<void()> when_stopped;
  };
  struct Turn {
    int64_t now_ns;
    uint32_t fiber;
    const char* what;  // where it ended
  };

  static void Enter();
  void Yield(const char* what);
  void SwitchTo(Fiber& fiber);
  void SwitchBack();
  Fiber* Choose();
  bool WakeLate();
  void DrawTurn();
  bool MayRun(const Fiber& fiber) const;

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // number n at n - 1
  std::vector<Rank> ranks_;
  Fiber* running_ = nullptr;
  uint32_t rank_ = 0;  // of the fiber that runs
  uint64_t turn_ = 1;  // points until another fiber gets its turn
  uint64_t longest_turn_ = 1;
  uint32_t cores_ = 1;
  uint32_t manner_ = 0;  // of choosing: see Choose()
  int64_t now_ns_ = 0, point_ns_ = 1, now_ns_of_point_ = 0;
  uint64_t wakes_ = 0, lost_wake_ = ~0ull;
  uint64_t digest_ = 0;
  std::vector<Turn> turns_;  // the last ones, in a circle
  uint64_t turn_count_ = 0;
  std::vector<Fiber*> ready_;  // Choose()'s
  struct Stack;
  std::unique_ptr<Stack> main_;  // of whoever called Run()
};

}  // namespace cgraph::simulation

#endif  // CGRAPH_TESTS_SIMULATION_SCHEDULER_H_
