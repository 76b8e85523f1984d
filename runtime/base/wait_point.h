// WaitPoint: a wait or a wake-up of the engine, by its name. A test makes the engine leave one out,
// to see that some check notices. Only builds with CGRAPH_OMISSIONS can leave one out; in others
// Passed(come) is `come`, Wake() notifies, Join() joins, and nothing is asked at run time.
#ifndef CGRAPH_RUNTIME_BASE_WAIT_POINT_H_
#define CGRAPH_RUNTIME_BASE_WAIT_POINT_H_

#include <cstdint>
#include <vector>

#ifdef CGRAPH_OMISSIONS
#include <chrono>
#include <thread>
#endif

namespace cgraph {

enum class WaitPoint : uint32_t {
  kNothing,
  // Load.
  kKeptWait,     // the wait number `which` of `graph`, of those that the reduction keeps
  kStartGraph,   // Load returns when the start graph is over
  // Submission.
  kInflight,     // an execution waits until fewer than `inflight` of its graph are in progress
  kConflict,     // ... until those of graphs over the same state are over
  kFrame,        // ... until the oldest round of its graph has left a frame
  kEmptyFrame,   // an empty round waits for a frame
  kRetire,       // a frame is free when its execution is over
  kMatchAgain,   // inputs are matched again after a wait: another thread has submitted meanwhile
  kIdle,         // states are read and set when no execution is in flight
  // Results.
  kResult,       // Get returns when the execution is over
  kParticipant,  // ... on each work queue, `which` among them
  kLent,         // a failed execution is over when nothing is left that may read what was lent
  kHeldResult,   // a result's memory is used again when its last holder has let go
  kInProgress,   // ... and when its execution, which may have no holder, is over
  // Work queues and their queues.
  kInbox,        // an entry begins when it was submitted
  kCompletion,   // an entry is finished when its queues are through with it
  kOneQueue,     // ... number `which` of the engine's among them
  kReports,      // what queues report is heard
  kReportsFirst, // ... before the completion behind it is seen
  // Channels and collectives.
  kRoom,         // a message is shown when the channel has room
  kArrived,      // ... and received when it is there
  kSent,         // a rendezvous is over for the sender when the message was received
  kAllArrived,   // a collective begins when all members are there
  kLeft,         // ... and is over when no other needs a member's memory
  // Wake-ups, and what ranks tell each other: tests/simulation leaves these out.
  kWakeWorker,   // a worker is woken when an entry is submitted to it
  kWakeDriver,   // ... and the thread that waits for the entry when it is finished
  kWakeAtEnd,    // ... and worker `which` when the engine ends
  kTellFailure,  // rank 0 hears what has failed at other machines
  kGiveUp,       // once a rank is lost its messages are not waited for
  kLostAtEnd,    // ... nor, where all end, for the rank
  // Teardown and destruction.
  kEndSubmission,  // a submitter has seen the end before the engine's memory goes
  kEndDriver,      // the driver of worker 0 has
  kEndWorkers,     // the other workers have
  kEndFallback,    // the fallback driver has
  kEndWatchdog,    // the watchdog, and what it calls, has
  kEndQueues,      // what runs on queues is over
  kEndReport,      // a report of what waits is not made of memory that has gone
  kEndHeld,        // results that are held outlive the engine
  kCount,
};

#ifdef CGRAPH_OMISSIONS
struct Omitted {
  WaitPoint what = WaitPoint::kNothing;
  uint32_t which = 0;
  uint32_t graph = 0;
  uint32_t wait = ~0u;  // of the graph: the wait that was left out, if there is one
};
inline Omitted omitted;  // set before an engine is loaded
// Work that this wait is for takes 30 ms longer, so that a missing wait shows every time.
inline WaitPoint stretched = WaitPoint::kNothing;
inline std::vector<std::vector<bool>> kept_waits;  // per graph: of the last engine that was loaded

inline void OmitKeptWait(uint32_t graph, std::vector<bool>& kept) {
  kept_waits.resize(graph + 1);
  kept_waits[graph] = kept;
  if (omitted.what != WaitPoint::kKeptWait || graph != omitted.graph) return;
  omitted.wait = ~0u;
  for (uint32_t w = 0, count = 0; w < kept.size(); ++w) {
    if (kept[w] && count++ == omitted.which) kept[omitted.wait = w] = false;
  }
}
inline bool Omits(WaitPoint what) { return omitted.what == what; }
inline bool Omits(WaitPoint what, uint32_t which) { return Omits(what) && omitted.which == which; }
inline void Stretch(WaitPoint what) {
  if (stretched == what) std::this_thread::sleep_for(std::chrono::milliseconds(30));
}
#else
inline void OmitKeptWait(uint32_t, std::vector<bool>&) {}
constexpr bool Omits(WaitPoint) { return false; }
constexpr bool Omits(WaitPoint, uint32_t) { return false; }
constexpr void Stretch(WaitPoint) {}
#endif

// Returns whether what is waited for has come; true where the wait is left out.
inline bool Passed(WaitPoint point, bool come) { return come || Omits(point); }
inline bool Passed(WaitPoint point, uint32_t which, bool come) {
  return come || Omits(point, which);
}
template <typename EventCount>
void Wake(WaitPoint point, EventCount& waiting) {
  if (!Omits(point)) waiting.Notify();
}
// Waits for the end of a thread, if it was started.
template <typename Thread>
void Join(WaitPoint point, Thread& thread) {
  if (thread.joinable() && !Omits(point)) thread.join();
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_WAIT_POINT_H_
