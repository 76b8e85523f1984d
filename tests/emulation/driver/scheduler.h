// Scheduler: which work is carried out next.
//
// Of the work that CUDA's rules allow to begin (the first of each stream, the nodes of graphs whose
// dependencies are done), that of the highest priority is next. Priorities are random and change
// now and then, so that one stream stays far behind the others for a while, as real ones do at
// times. Work is carried out by threads of the emulation or, where there are none, inside the
// program's calls: late, as the seed decides, except where a call waits for it.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_SCHEDULER_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_SCHEDULER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/emulation/driver/memory.h"
#include "tests/emulation/driver/objects.h"
#include "tests/emulation/driver/options.h"

namespace cgraph::emulation {

// Everything under the machine's lock, which `lock` holds; it is given back while work is carried
// out and while a thread waits.
class Scheduler {
 public:
  Scheduler(const Options& options, Memory& memory, std::mutex& mutex);

  void Start();
  void Stop();  // without the lock; threads finish the work in hand

  // A stream is one of the machine's from here on, until it is removed and its work is done.
  void Add(CUstream stream);
  void Remove(CUstream stream);
  // `stream` is not captured.
  void Append(CUstream stream, Work work);
  // Work is put off or carried out after a call that only asks, or any other.
  void AfterCall(std::unique_lock<std::mutex>& lock, bool asks);
  // Waits for `done`, while work is carried out. Returns false after a fault.
  bool WaitUntil(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);
  // What comes from here on is in another order.
  void Reseed(uint64_t seed);
  // No work is carried out any more.
  void Fault();
  bool faulted() const { return faulted_; }
  // Returns the grid that has begun and never ends (Options::endless); null: there is none.
  const Work* endless() const { return endless_ ? &*endless_ : nullptr; }

  // Returns what the calling thread is carrying out; null when it is not.
  static const Work* InHand();
  // Returns whether all work of the stream is done.
  static bool Idle(const CUstream_st& stream) { return stream.works.empty(); }
  // Returns the work that is not done.
  uint64_t pending() const { return pending_; }
  const std::vector<CUstream>& streams() const { return streams_; }

 private:
  // A node of the graph at the head of the stream, or the stream's head.
  struct Candidate {
    CUstream stream = nullptr;
    std::optional<size_t> node;
    uint64_t priority = 0;
  };

  void DrawHabits();
  uint64_t DrawPriority() { return (1 << 20) + random_() % (1 << 20); }
  bool BehindOthersOfItsChannel(const CUstream_st& stream) const;
  bool CanBegin(const Work& work);
  void Consider(std::optional<Candidate>& best, const Candidate& candidate) const;
  void ConsiderNodes(std::optional<Candidate>& best, CUstream stream, GraphRun& run);
  std::optional<Candidate> Choose();
  void Begin(GraphRun& run);
  bool RunOne(std::unique_lock<std::mutex>& lock);
  bool NeverEnds(const Work& work);
  void Finish(const Candidate& candidate);
  void FinishHead(CUstream stream);
  bool AnyWaitsForMemory() const;
  bool AnyHeld() const;
  void WorkInThread();
  void Pause(std::unique_lock<std::mutex>& lock);
  void WaitForChange(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                     int& idle_turns);
  void ReportIfStuck();

  const Options& options_;
  Memory& memory_;
  std::mutex& mutex_;
  std::condition_variable appended_;  // for threads of the emulation
  std::condition_variable finished_;  // for calls that wait
  std::vector<std::thread> threads_;
  bool ended_ = false;
  bool faulted_ = false;
  uint64_t grids_ = 0;  // that have begun
  std::optional<Work> endless_;

  std::vector<CUstream> streams_;
  uint64_t issued_ = 0;
  uint64_t pending_ = 0;
  std::chrono::steady_clock::time_point last_progress_;
  bool stuck_reported_ = false;

  std::mt19937_64 random_;
  uint64_t change_every_ = 1;    // operations, on average
  uint64_t eager_one_in_ = 1;    // calls after which one operation is carried out
  uint64_t lazy_one_in_ = 1;     // questions after which one is
  bool strict_ = false;          // work of low priority does not run beside work of high priority
  uint64_t put_off_ = 0;         // questions in a row
  uint64_t pause_one_in_ = 1;    // operations before which a thread, or a stream, pauses
  uint64_t pause_most_us_ = 1;
  uint64_t next_low_ = 1 << 20;  // falls: who is put behind all others
};

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_SCHEDULER_H_
