// Turns: the calls of Execute() that wait for room, and which of them may begin. Every function but
// changed() is called under the lock of submission.
#ifndef CGRAPH_RUNTIME_ENGINE_TURNS_H_
#define CGRAPH_RUNTIME_ENGINE_TURNS_H_

#include <atomic>
#include <cstdint>

#include "runtime/base/sync/event_count.h"
#include "runtime/base/sync/mutex.h"
#include "runtime/load/loaded_graph.h"

namespace cgraph::engine {

class Turns {
 public:
  // A call that waits, on its thread's stack.
  struct Caller {
    uint32_t graph;
    uint32_t overtaken = 0;  // by executions that it would have had to wait for
    Caller* next = nullptr;  // that began to wait later
  };

  bool any() const { return first_ != nullptr; }
  void Add(Caller& caller);
  void Remove(const Caller& caller);

  // Returns whether a caller that was overtaken often enough waits before `self`, for this graph or
  // for one that conflicts with it.
  bool MustWait(const LoadedGraph& graph, const Caller& self) const;
  // Counts that `self`, which begins, overtakes such callers once more.
  void Overtake(const LoadedGraph& graph, const Caller& self);

  // Pause: for its lifetime no execution begins.
  class Pause {
   public:
    explicit Pause(Turns& turns) : turns_(turns) { ++turns_.pauses_; }
    ~Pause() {
      --turns_.pauses_;
      turns_.Change();
    }
    Pause(const Pause&) = delete;

   private:
    Turns& turns_;
  };
  bool paused() const { return pauses_ != 0; }

  // Waits until a caller has left, a pause has ended, or `ended()`; gives the lock up meanwhile.
  // The thread that the others wait for, or that pauses, drives worker 0.
  template <typename Ended>
  void Await(Mutex& lock, Ended&& ended) {
    const uint64_t changes = changes_.load(std::memory_order_relaxed);
    lock.unlock();
    changed_.Wait([&] { return ended() || changes_.load(std::memory_order_acquire) != changes; });
    lock.lock();
  }
  // Notified when the callers in Await() are to look again.
  EventCount& changed() { return changed_; }

 private:
  // Calls visit(caller) for those before `self` whose graph is this one or conflicts with it, until
  // it returns true. Returns whether it has.
  template <typename Visit>
  bool AnyBefore(const LoadedGraph& graph, const Caller& self, Visit&& visit) const;
  void Change();

  Caller* first_ = nullptr;
  uint32_t pauses_ = 0;  // threads that pause
  std::atomic<uint64_t> changes_{0};
  EventCount changed_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_TURNS_H_
