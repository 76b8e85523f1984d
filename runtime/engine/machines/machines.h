// Machines: the ranks of an engine that share no memory: one for each node of the plan, which a
// launcher has started. Rank k serves the devices of node k; rank 0 has the caller as well.
//
// Values travel in the plan's own messages (channel/messages). What processes of one machine read
// of each other in shared memory besides, these send: rank 0 the rounds that it submits, the others
// what their work queues have finished and which executions failed. Rank 0 has a WorkQueue for each
// work queue of another rank, whose words are set when such a message comes.
#ifndef CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINES_H_
#define CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINES_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/channel/channel.h"
#include "runtime/device/sync/event_count.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/machines/agreement.h"
#include "runtime/engine/machines/sent_weights.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/launcher.h"
#include "runtime/ranks/messenger.h"
#include "runtime/ranks/refusals.h"
#include "runtime/ranks/supervision.h"
#include "runtime/status/status.h"
#include "runtime/workers/placement.h"

namespace cgraph::engine {

class Core;

struct RoundMessage {
  bool empty = false, flagged = false, failed = false;
};

class Machines final : private ranks::Listener {
 public:
  // `first_tag`: from which on no tag was used before, so that late messages of another engine are
  // none of this one's.
  Machines(Core& core, ranks::Peers& peers, uint32_t first_tag);

  ranks::Messenger& messenger() { return messenger_; }
  // The event count of who goes on with messages, which queues' signals notify, and the channels
  // whose host's part it does; set and added at load.
  device::EventCount* relayer() const { return relayer_; }
  void SetRelayer(device::EventCount* relayer) { relayer_ = relayer; }
  void AddRelay(channel::Channel* channel) { relays_.push_back(channel); }
  // Returns the first of `count` tags that nobody else has; the same at all ranks, which ask for
  // the same ones in the same order. kUnsupported where the wire has no more.
  Result<uint32_t> NewTags(uint64_t count);
  // Goes on with messages and, at ranks other than the first, reports to rank 0. Returns
  // whether anything has happened. A worker calls it, the polling one of its rank; while it does
  // not, since it is inside a kernel or nobody drives it, a thread does, from time to time.
  bool Poll();
  Status StartThread();
  void EndThread();

  // At rank 0: has each of the others load its part of the plan, with devices on these GPUs; waits
  // until they have, at most for so long (0: for ever); tells them of a round; ends their part of
  // the engine, after
  // which none of its messages is under way any more, unless a rank does not end in time: then the
  // messenger is given up.
  void SendPlan(plan::NodeParts& parts, const EngineOptions& options, const device::GpuMap& gpus,
                const workers::Placement& placement);
  Status AwaitLoaded(std::chrono::nanoseconds timeout);
  // Returns the error with which this rank does not load the plan, and those of others, which are
  // waited for a moment.
  Status JoinRefusal(Status own);
  // A round: `flagged` and `failed` are what its frame's last execution has left. Where other ranks
  // have GPUs, `extents` are those that the inputs have.
  void Submitted(uint32_t graph, const RoundMessage& round, std::span<const int64_t> extents);
  void End();
  // Brings what the others have measured, where they measure: times of calls, and steps of traces
  // with times of this rank's clock. Those that do not answer in time are left out.
  void Gather();
  void ForgetMeasurements();
  ranks::Process ProcessOf(uint32_t rank) const;
  // Returns a line for each rank that has told nothing for long: it is stopped, or its machine
  // cannot be reached.
  std::string SilentRanks() const;
  bool IsSilent(uint32_t rank) const { return SilenceOf(rank).has_value(); }

  // While the plan is loaded: what ranks agree on.
  Agreement& agreement() { return agreement_; }
  // Returns whether nobody is to wait for other ranks any more; goes on with messages while the
  // plan is loaded, since whoever waits for a device's library does not.
  bool GivesUp();
  // The devices, communicators and memory are there: from now on a worker goes on with messages.
  void EndLoading() { loading_.store(false, std::memory_order_relaxed); }

  // At the others: tells rank 0 that the plan is loaded, or why not, and how many bytes of weights
  // came from where; hears a message of rank 0.
  void Loaded(const Status& status, uint64_t read_bytes, uint64_t sent_bytes);
  // Rank 0, whom another rank asks for weights; null at rank 0. `numbers`: of the slices of weights
  // in this rank's part of the plan.
  FirstRank* first_rank() { return first_rank_.get(); }
  void SetWeights(std::vector<uint32_t> numbers);
  // At rank 0: returns how many bytes of weights a rank has read, and was sent.
  std::pair<uint64_t, uint64_t> WeightsOf(uint32_t rank) const;
  // Returns whether somebody may wait for what the message says.
  bool Dispatch(uint32_t from, std::span<const std::byte> message);

 private:
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    return buffers_[from].New(bytes);
  }
  bool OnMessage(uint32_t from, std::span<const std::byte>) override {
    std::vector<std::byte> message = buffers_[from].Take();
    last_message_ns_[from].store(NowNs(), std::memory_order_relaxed);
    const bool matters = Dispatch(from, message);
    buffers_[from].Return(std::move(message));
    return matters;
  }
  void SendToAll(const MachineMessage& message, std::string_view text);
  static int64_t NowNs() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }
  std::optional<std::chrono::nanoseconds> SilenceOf(uint32_t rank) const;  // where it is long
  bool Interrupted() const;
  bool Refused() const;
  bool AnswerQuestions();
  bool PollOnce(bool positions);
  void RunThread();
  void OnLost(const ranks::Supervision::Lost& lost);
  void OnLoaded(uint32_t from, const MachineMessage& message, std::string_view text);
  std::string NamesOf(const std::vector<uint32_t>& ranks) const;
  void OnFailure(uint32_t from, const MachineMessage& message, std::string_view text);
  void Report(bool positions);
  void SendAnswers();
  void SendMeasurements();
  void AlignClocks();
  bool Ask(uint32_t kind);
  void OnClock(uint32_t from, const MachineMessage& message);
  void OnTimings(const MachineMessage& message, std::string_view text);
  void OnTrace(uint32_t from, const MachineMessage& message, std::string_view text);
  void ReportFailures(uint32_t work_queue);
  void ReportHeads(uint32_t work_queue);

  Core& core_;
  ranks::Peers& peers_;
  ranks::Messenger& messenger_;
  uint32_t next_tag_;
  device::EventCount* relayer_ = nullptr;
  std::vector<channel::Channel*> relays_;  // of ends on queues
  std::vector<ranks::ReceiveBuffers> buffers_;  // by rank

  // Rank 0: how far the others are.
  WeightQuestions questions_;
  Agreement agreement_;
  std::atomic<bool> loading_{true};
  bool was_interrupted_ = false;  // by another rank, while this one loaded the plan
  mutable std::mutex mutex_;      // of the next five
  Status load_error_;
  std::vector<ranks::Refusal> refusals_;
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> weights_;  // by rank: bytes read, and sent
  std::vector<bool> has_loaded_;                               // by rank: has told so, or why not
  bool started_ = false;  // all have loaded the plan: who is lost now ends the engine
  std::atomic<uint32_t> loaded_{0}, ended_{0};
  std::vector<std::atomic<int64_t>> last_message_ns_;  // when, on the steady clock, by rank
  std::mutex gather_mutex_;
  std::atomic<uint32_t> answers_{0};
  struct OtherClock {
    int64_t offset_ns = 0;              // of it against this rank's
    int64_t round_trip_ns = INT64_MAX;  // in which that was measured: half of it is the error
  };
  std::vector<OtherClock> clocks_;   // by rank
  std::atomic<int64_t> asked_ns_{0};
  std::atomic<uint32_t> question_{0};  // the number of the last one

  // The others.
  std::unique_ptr<AskedFirstRank> first_rank_;
  // What was reported to rank 0 last, per work queue.
  struct Reported {
    uint64_t done = 0, at = 0, failures = 0;
    // Of failures, by graph and frame.
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> versions;
    std::chrono::steady_clock::time_point when, heads_when;
    bool heads = false;  // some were told of
  };
  std::mutex report_mutex_;  // of the next
  std::vector<Reported> reported_;
  std::atomic<uint32_t> asked_clock_{0}, asked_measurements_{0};  // questions; 0: none
  std::vector<size_t> traced_;  // per work queue: steps that were sent

  std::atomic<uint64_t> polls_{0};  // of the worker
  std::mutex thread_mutex_;
  std::condition_variable thread_ends_;
  bool ends_ = false;  // under thread_mutex_
  std::thread thread_;
};

// Returns the number of nodes that a plan has devices of.
uint32_t NodesOf(const plan::Plan& plan);
// kInvalid where a launcher has started another number of processes.
Status CheckNodes(const plan::Plan& plan, const ranks::Peers& peers);

// Serves engines of rank 0 at a rank other than the first, one after the other, until rank 0 ends
// this; returns the exit code of the process. `describe`: what DescribeMachines() gets.
int ServeMachine(ranks::Peers& peers, const std::function<std::string()>& describe = nullptr);
// At rank 0: ends the other ranks, once no engine is left. False where one of them did not end its
// part of an engine in time; then nothing is done. Where one is lost while all end, which the
// others would wait for, all processes are ended with the exit code.
bool EndMachines(ranks::Peers& peers, int exit_code);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINES_H_
