// EntryInbox: the entries that a work queue is to run, one per round of a graph, and how far it is
// with them.
//
// The submitter writes entries, numbered in the slot itself; the worker reads them. `done` counts
// finished entries: it is how all others learn of progress. Submitter, worker and reporter may be
// threads of several processes, each with an EntryInbox of its own on the same words (Shared); one
// of them drives.
//
// Each word has one writer, so none needs a read-modify-write: `pushed` and the slots belong to the
// submitter, `done`, `at` and `round` to the thread that drives. Two pairs of a release and an
// acquire carry everything else. The store of a slot shows the worker the frame that the submitter
// has filled; the store of `done` shows the submitter and callers what the entry has written. The
// other words are relaxed: what reads them, a report or a driver, looks again later.
#ifndef CGRAPH_RUNTIME_EXECUTE_ENTRY_INBOX_H_
#define CGRAPH_RUNTIME_EXECUTE_ENTRY_INBOX_H_

#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/assert.h"
#include "runtime/base/status.h"
#include "runtime/base/sync/event_count.h"
#include "runtime/base/wait_point.h"
#include "runtime/device/shared_heap.h"

namespace cgraph::engine {

class EntryInbox {
 public:
  static constexpr uint64_t kIdle = ~0ull;

  // Shared: what the submitter, the worker and reporters read and write of each other.
  struct Shared {
    // Separate lines: other threads wait for `done`, and `at` changes at every call.
    struct Words {
      alignas(128) std::atomic<uint64_t> done{0};
      alignas(128) std::atomic<uint64_t> at{kIdle};  // graph, running, step; for reports
      std::atomic<uint64_t> round{0};                // of that graph
      alignas(128) std::atomic<uint64_t> pushed{0};
    };
    Words* words = nullptr;
    // A power of two. A slot holds the entry's number, counted from 1, above its graph: memory that
    // begins as zeros holds no entry, and what a slot held one lap before is none either.
    std::span<std::atomic<uint64_t>> slots;
  };
  // Makes that of a work queue with at most `entries` submitted and not finished. There are no
  // fewer slots than that, so the submitter never writes one that the worker still has to read.
  static Result<Shared> Share(device::SharedHeap& heap, uint32_t entries) {
    const char* const what = "the inbox of a worker";
    auto words = heap.Make<Shared::Words>(1, what);
    auto slots = heap.Make<std::atomic<uint64_t>>(std::bit_ceil(uint64_t{entries} + 1), what);
    for (const Status& status : {words.status(), slots.status()}) CGRAPH_RETURN_IF_ERROR(status);
    return Shared{words->data(), *slots};
  }

  // `worker` is notified of entries, `driver` (worker 0) of entries that are finished.
  EntryInbox(const Shared& shared, size_t graphs, EventCount* worker, EventCount* driver)
      : words_(shared.words),
        slots_(shared.slots),
        mask_(slots_.size() - 1),
        graphs_(graphs),
        worker_(worker),
        driver_(driver) {}

  // Appends an entry; under the submission lock.
  void Push(uint32_t graph) {
    const uint64_t number = words_->pushed.load(std::memory_order_relaxed);
    CGRAPH_ASSERT(number - done() < slots_.size());
    words_->pushed.store(number + 1, std::memory_order_relaxed);
    // Last: it publishes the frame. Notify() behind it needs no fence here (event_count.h).
    slots_[number & mask_].store((number + 1) << kGraphBits | graph, std::memory_order_release);
    Wake(WaitPoint::kWakeWorker, *worker_);
  }
  uint64_t pushed() const { return words_->pushed.load(std::memory_order_relaxed); }
  // Returns the graph of an entry, counted from 0; none where it is not submitted.
  std::optional<uint32_t> GraphOf(uint64_t number) const {
    const uint64_t entry = slots_[number & mask_].load(std::memory_order_acquire);
    const uint64_t submitted = entry >> kGraphBits, wanted = (number + 1) & kNumberMask;
    if (!Passed(WaitPoint::kInbox, submitted == wanted)) return std::nullopt;
    const uint64_t graph = entry & kGraphMask;
    if (graph >= graphs_) return std::nullopt;  // no submitter of ours writes that
    return static_cast<uint32_t>(graph);
  }
  // Returns the graph of the first entry that is not finished; for reports.
  std::optional<uint32_t> NextGraph() const { return GraphOf(done()); }

  uint64_t done() const { return words_->done.load(std::memory_order_acquire); }
  // Returns whether something was submitted that is not finished. The two words are not read at one
  // moment, so the answer may be old when it is given; its readers ask again.
  bool pending() const { return pushed() != done(); }
  const std::atomic<uint64_t>& finished_counter() const { return words_->done; }
  void SetDone(uint64_t done) { words_->done.store(done, std::memory_order_release); }
  void NotifyDriver() { Wake(WaitPoint::kWakeDriver, *driver_); }
  EventCount* worker() const { return worker_; }

  // Progress: what a rank that shares no memory tells of its work queue, and rank 0 sets. Rank 0's
  // inbox of that work queue is a copy: the thread that takes a message writes these words, and one
  // thread at a time does.
  struct Progress {
    uint64_t done = 0, at = 0, round = 0;
  };
  Progress progress() const {
    const uint64_t done = this->done();  // first: `at` may then be newer, never older
    return {done, words_->at.load(std::memory_order_relaxed),
            words_->round.load(std::memory_order_relaxed)};
  }
  void SetProgress(const Progress& progress) {
    words_->at.store(progress.at, std::memory_order_relaxed);
    words_->round.store(progress.round, std::memory_order_relaxed);
    SetDone(progress.done);  // last: its reader finds the position that belongs to it
    NotifyDriver();
  }

  // Tell reports where the worker is; `running`: inside a kernel.
  void SetRound(uint64_t round) { words_->round.store(round, std::memory_order_relaxed); }
  void SetStep(uint32_t graph, uint64_t step, bool running) {
    words_->at.store(
        static_cast<uint64_t>(graph) << 33 | static_cast<uint64_t>(running) << 32 | step,
        std::memory_order_relaxed);
  }
  void SetIdle() { words_->at.store(kIdle, std::memory_order_relaxed); }

 private:
  static constexpr int kGraphBits = 24;  // of an entry, below its number
  static constexpr uint64_t kGraphMask = (1ull << kGraphBits) - 1;
  // The number begins again after 2^40 entries: 30 hours of 100 ns. No slot is as old as that.
  static constexpr uint64_t kNumberMask = ~0ull >> kGraphBits;

  Shared::Words* const words_;
  const std::span<std::atomic<uint64_t>> slots_;
  const uint64_t mask_;
  const size_t graphs_;
  EventCount* const worker_;
  EventCount* const driver_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_ENTRY_INBOX_H_
