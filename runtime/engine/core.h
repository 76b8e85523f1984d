// Core: a loaded plan, its workers, and the one submission order over all its graphs.
//
// Files: load/ prepares a plan, core.cpp loads and starts, teardown.cpp ends, submit.cpp takes
// executions in, handover.cpp takes inputs from memory of GPUs and gives results there, drive.cpp
// drives workers and watches that they move, ranks.cpp has workers in other processes,
// gpu_ranks.cpp GPUs in these, machines/ has workers on other machines, gpus.cpp says which devices
// run on GPUs, report/ who waits for whom, measurements.cpp what was measured, states/ reads and
// sets states and objects.
//
// Threads. Submission is under `submission_`. Worker 0 is driven by the holder of `driver_lock_`: a
// caller inside Get() or a full Execute(), or the fallback driver while a caller waits with a
// deadline, has dropped an execution, or does something else. The watchdog looks at the work
// queues' positions from time to time.
//
// A Core outlives its Engine for as long as results are held: then only the runs are left of it.
#ifndef CGRAPH_RUNTIME_ENGINE_CORE_H_
#define CGRAPH_RUNTIME_ENGINE_CORE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/base/sync/mutex.h"
#include "runtime/cluster/processes.h"
#include "runtime/cluster/shared/exchange.h"
#include "runtime/cluster/shared/region.h"
#include "runtime/device/backends.h"
#include "runtime/device/shared_heap.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/execution_state.h"
#include "runtime/engine/machines/machines.h"
#include "runtime/engine/machines/plan_message.h"
#include "runtime/engine/report/collect.h"
#include "runtime/engine/report/position_log.h"
#include "runtime/engine/run_pool.h"
#include "runtime/engine/turns.h"
#include "runtime/execute/worker.h"
#include "runtime/load/arenas.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/load/kernels.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/load/queue_map.h"
#include "runtime/native/running_call.h"
#include "runtime/native/stored_objects.h"
#include "runtime/plan/placement.h"

namespace cgraph::engine {

// The status for a failed allocation; its message is short enough to need no memory of its own.
Status OutOfMemory();

class Core {
 public:
  static Result<Core*> Load(std::unique_ptr<plan::Plan> plan, const EngineOptions& options);
  // Serves a rank of an engine in another process, in this one; returns the exit code.
  static int Serve(uint32_t rank, std::shared_ptr<cluster::Region> region,
                   cluster::Control& control);
  // The same, at a rank that shares no memory with rank 0, for one engine, whose plan_ is a part of
  // the plan. Calls `begun` as soon as
  // messages about the engine are heard.
  static void ServeMachine(cluster::Peers& peers, PlanMessage told,
                           const std::function<void(RankReporter&)>& begun);

  // Submits an execution. The caller gets two references: one for the Execution, one for its first
  // Outputs.
  Result<ExecutionState*> Submit(uint32_t graph, std::span<const Input> inputs, WhenFull when_full);

  // Fails inside a method that this engine calls, and where a library saves or restores an object
  // for it: a wait for the engine would be one for itself there.
  Status CheckCaller() const {
    const bool inside = native::IsInsideCall() ||
                        snapshot_thread_.load(std::memory_order_relaxed) != std::thread::id();
    return inside ? CheckCallerInside() : Status::Ok();
  }
  // Submit the empty rounds that a run (of a graph with lags) needs to be finished. Flush() drives
  // until there is room for them; Hasten() leaves that to the fallback driver and never blocks.
  Status Flush(const ExecutionState& run);
  Status Hasten(const ExecutionState& run);
  // Blocks until the run is over or the engine has ended; drives worker 0.
  void Await(ExecutionState& run);
  // As Await(), without driving; returns when `deadline` has passed, too.
  void AwaitUntil(ExecutionState& run, const Deadline& deadline);
  // Makes sure that submitted executions go on although nobody waits for them.
  void EnsureProgress();
  void Return(ExecutionState* run);  // its last reference is gone

  // handover.cpp
  // Returns the GPU of this process that the driver has this number; null: it is none of ours.
  device::SharedGpu* SharedGpuOf(uint32_t number) const;
  // Returns the GPU that a result lies in memory of; null: it lies in the host's.
  device::SharedGpu* GpuOfResult(const ExecutionState& run, size_t i) const;
  std::string SharedGpusText() const;

  // Ends the engine for everybody: every later call gets `status`. The first call of End() counts.
  void End(Status status);
  // Ends the engine with the error of a device that has failed as a whole, if any has: perhaps the
  // report of it has not been heard yet.
  void EndWhereDeviceFailed();
  // Ends the engine with the error of a device; where another rank is gone, of which the error may
  // be a consequence, that is said instead.
  void EndByDevice(Status failure);
  // Called by the worker of a rank other than the first when it begins a round: does what rank 0
  // cannot do for the GPUs of this one.
  void BeginRound(Frame& frame);
  bool ended() const { return ending_.has_ended(); }
  // Returns whether some device does its work later than it is issued.
  bool has_queues() const { return has_queues_; }
  // Returns whether a GPU of this machine is this process's.
  bool uses_gpus() const { return !shared_gpus_.empty(); }
  bool several_ranks() const { return ranks_.count != 1; }
  // Returns whether another machine has this device of the plan.
  bool IsElsewhere(uint32_t device) const {
    return machines_ != nullptr && plan_->devices[device]->node != ranks_.rank;
  }
  // Returns whether this process has the worker.
  bool IsHere(uint32_t worker) const {
    return !several_ranks() || ranks_.of_worker[worker] == ranks_.rank;
  }
  Status EndStatus() const { return ending_.why(); }
  void Teardown();
  void JoinWatchdog();  // after Teardown, which may have been called by it
  void Release();  // after both: gives up everything but the runs that callers hold

  const plan::Plan& plan() const { return *plan_; }
  const std::string& OutputName(uint32_t graph, size_t i) const { return output_names_[graph][i]; }
  // Describes where queues of a work queue stand.
  std::string Describe(const std::vector<Position>& positions, uint32_t work_queue) const;
  std::string WaitReport() const;
  std::string WaitReportDot() const;
  Engine::Stats GetStats();
  std::string NoteOfWorkers() const;
  std::vector<std::pair<std::string, double>> Profile() const;
  plan::GraphTrace Trace(uint32_t graph) const;
  plan::TraceProcesses TraceProcesses() const;
  void ForgetMeasurements();

  // states.cpp
  const std::vector<Engine::State>& states() const { return states_; }
  Status ReadState(std::string_view name, std::span<uint8_t> to);
  Status WriteState(std::string_view name, std::span<const uint8_t> from);
  Result<Engine::Snapshot> TakeSnapshot();
  Result<std::vector<std::string>> RestoreSnapshot(
      std::span<const Engine::Snapshot::Tensor> tensors);

 private:
  // Progress: what the watchdog remembers from one look to the next.
  struct Progress {
    using Time = std::chrono::steady_clock::time_point;
    struct Graph {
      uint64_t retired = 0, submitted = 0;
      bool pending = false;  // some round was not finished
      Time since;            // the oldest execution has been at work
    };
    // Time as the watchdog has seen it pass: it stands still while the process is stopped.
    Time Tick() {
      constexpr auto kLongestTick = std::chrono::milliseconds(100);  // two looks
      const Time time = std::chrono::steady_clock::now();
      now += std::min<std::chrono::nanoseconds>(time - last, kLongestTick);
      last = time;
      return now;
    }
    Time now = std::chrono::steady_clock::now(), last = now;

    std::vector<uint64_t> seen;  // per work queue: finished entries, and position
    Time since = std::chrono::steady_clock::now();
    std::vector<Graph> graphs;
  };

  Core(std::unique_ptr<plan::Plan> plan, const EngineOptions& options)
      : plan_(std::move(plan)), options_(options) {}
  ~Core() = default;

  // core.cpp
  void Loading(const std::string& what) const {
    if (options_.loading) options_.loading(what);
  }
  static uint32_t WorkersOf(const plan::Plan& plan, const EngineOptions& options);
  Status TryLoadPlan();
  Status LoadPlan();
  Status LoadShared();
  Status ImportModules();
  Status OpenDevices();
  Status MakeGraphs();
  Status MakeWorkers();
  Status PrepareGraphs();
  Status MakeWorkQueues();
  Status OpenQueues();
  void FindConflicts();
  Status StartWorkers();
  Status StartThreads();
  Status RunStartGraph();
  Status ReserveRuns();

  // teardown.cpp
  void CloseQueues();
  void TellAbandoned(std::string kernels) const;
  void FreeGraphs();

  // gpus.cpp
  Status FindGpus();
  device::GpuMap OwnGpus() const;
  device::GpuMap GpusOfMachine() const;
  std::map<uint32_t, uint32_t> NumbersOfGpus() const;

  // ranks.cpp
  Status StartRanks();
  Status SendParts();
  Status StartProcesses();
  Status AwaitRanks();
  // Returns how long a rank waits for others while the plan is loaded; 0: for ever.
  std::chrono::nanoseconds LoadPatience() const;
  void PlaceLanes();
  void PlaceRanks();
  void ViewRanks();
  Status LoadRank();
  Worker* PollingWorker();
  bool AmongGpuRanks() const { return view_.exchange != nullptr; }
  device::AmongProcesses Among();
  void SetDeviceFailure(const Status& failure);
  Status OpenAbsent();
  Status WithRefusals(Status own);
  void CloseRank();
  Status ShareHeads(WorkQueue& work_queue);
  void RunHeadsTeller();
  Status ShareTrace(WorkQueue& work_queue);
  void OnRankLost(uint32_t rank, int pid, const std::string& exit_text);
  void EndWithout(uint32_t rank, const std::string& process, const std::string& how);
  void EndRanks();
  std::string DevicesOf(uint32_t rank) const;
  std::string RankText(uint32_t rank) const;
  std::string StoppedRanks() const;  // a line for each; under report_mutex_
  std::vector<Engine::Stats::Rank> RankStats() const;
  // Returns how many bytes of weights this rank reads, and was sent.
  std::pair<uint64_t, uint64_t> WeightBytes() const;

  // report/wait_report.cpp; under report_mutex_
  ReportSource Source() const;
  std::vector<WaitingLane> WaitingLanes() const;
  void SetRank(uint32_t work_queue, WaitingLane& lane) const;
  std::string ReportOf(const std::vector<WaitingLane>& lanes) const;

  // states.cpp
  using StateAddress = Arenas::StateAddress;
  void ListStates();
  uint32_t RankOfDevice(uint32_t device) const;
  bool ReachesMemoryOf(uint32_t device) const;
  Status CopyStatesOut(uint32_t actor, uint64_t offset, std::span<uint8_t> to);
  Status CopyStatesIn(uint32_t actor, uint64_t offset, std::span<const uint8_t> from);
  Status CheckCallerInside() const;
  // Returns whether this thread saves or restores objects, which it does under submission_.
  bool HoldsSubmission() const {
    return snapshot_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  Status AwaitIdle();
  Status DriveToIdle();
  Result<size_t> FindState(std::string_view name, uint64_t bytes);
  Status CheckElements(size_t state, std::span<const uint8_t> bytes) const;

  // handover.cpp
  void FindSharedGpus();
  Status AwaitProducers(std::span<const Input> inputs) const;
  Status FetchInput(const InputPort& port, const Frame::InputBlock& at, const Input& input,
                    uint64_t bytes) const;

  // snapshot.cpp; under submission_
  struct Restoring;
  std::string ObjectName(uint32_t actor) const;
  Result<Restoring> Assign(std::span<const Engine::Snapshot::Tensor> tensors);
  Status RestoreObjects(const Restoring& all);
  Status PutBack(const Restoring& all, size_t count,
                 const std::vector<std::vector<uint8_t>>& before, Status why);

  // objects.cpp
  using ObjectTask = cluster::StateRequest::Kind;
  Result<native::StoredObject> DoWithObject(uint32_t actor, ObjectTask task,
                                            std::span<const uint8_t> bytes = {});
  Result<native::StoredObject> DoWithOwnObject(uint32_t actor, ObjectTask task,
                                               std::span<const uint8_t> bytes = {});

  // requests.cpp; at rank 0, under submission_
  using TakePiece = std::function<void(uint64_t begin, std::span<const uint8_t> piece)>;
  Status AskInPieces(uint32_t rank, cluster::StateRequest& request, std::span<const uint8_t> from,
                     const TakePiece& take);
  Status AskRank(uint32_t rank, cluster::StateRequest& request, std::span<uint8_t> piece);
  // at the others
  bool IsAsked() const;
  void Answer();
  void AnswerPiece(cluster::StateRequest& request, std::span<uint8_t> piece);
  Status CopyPiece(cluster::StateRequest& request, std::span<uint8_t> piece);
  Status RestorePiece(const cluster::StateRequest& request, std::span<const uint8_t> piece);
  Status SavePiece(cluster::StateRequest& request, std::span<uint8_t> piece);

  // submit.cpp; all under submission_
  Status Match(LoadedGraph& graph, std::span<const Input> inputs);
  Status CopyInput(const LoadedGraph& graph, Frame::InputBlock& at, size_t p);
  Status MatchPort(const LoadedGraph& graph, uint32_t port, const Input& input);
  Status CheckData(const LoadedGraph& graph, uint32_t port, const Input& input) const;
  Status AwaitCapacity(LoadedGraph& graph, WhenFull when_full, bool& waited);
  Status TryCapacity(LoadedGraph& graph, WhenFull when_full, Turns::Caller& self, bool& listed);
  LoadedGraph* Conflicting(const LoadedGraph& graph);
  void Retire(LoadedGraph& graph);
  Status BeginEmpty(LoadedGraph& graph);
  void AssertSubmittable(const LoadedGraph& graph, const ExecutionState& run) const;
  void SubmitRound(LoadedGraph& graph, ExecutionState* run);
  void ResetFlags(Frame& frame, const LoadedGraph& graph, bool empty);
  void ClearPoison(Frame& frame);
  void AcceptRound(uint32_t graph, const cluster::RoundMessage& round, std::string_view extents);
  Status FlushUntil(LoadedGraph& graph, uint64_t until, bool interruptible = false);
  void FlushWanted();  // takes submission_
  Status AwaitOldest(LoadedGraph& graph, bool interruptible = false);
  Status SubmitEmpty(LoadedGraph& graph);
  Result<ExecutionState*> TakeRun(LoadedGraph& graph);
  Result<ExecutionState*> MakeRun(uint32_t graph);

  // measurements.cpp
  void GatherMeasurements() const;
  uint32_t Captures() const;  // of this rank
  bool CountsAsOnGpus(const plan::GraphIndex& index,
                      std::span<const plan::CollectivePart> members) const;
  std::vector<Engine::Stats::Communicator> CommunicatorsOnGpus() const;

  // drive.cpp
  bool Pending() const;
  bool AwaitDone(const ExecutionState& run, bool interruptible);
  template <typename Over>
  void AwaitWithoutDriving(Over&& over, const Deadline& deadline);
  template <typename Until>
  void DriveUntil(Until&& until);
  void ReleaseDriverLock();
  void RunFallbackDriver();
  void Watch(Progress progress);
  void TimeOut(const std::string& why);
  std::chrono::nanoseconds LookInterval() const;
  bool Stalled(Progress& progress);
  void NotePosition(uint32_t work_queue, const Position& position, bool moved);
  std::optional<std::string> LookAtGraphs(Progress& progress);
  bool Overdue(const LoadedGraph& graph, Progress::Graph& seen) const;

  // The processes of the engine: those of one machine share a region, those of several have
  // machines_.
  struct Ranks {
    uint32_t rank = 0, count = 1;
    std::vector<uint32_t> of_worker;
    std::shared_ptr<cluster::Region> region;
    cluster::Control* control = nullptr;              // in the region
    std::unique_ptr<cluster::Processes> processes;  // at rank 0
  };

  std::unique_ptr<plan::Plan> plan_;
  EngineOptions options_;
  plan::Placement placement_;
  std::vector<plan::GraphTotals> totals_;  // by graph, where ranks have parts of the plan
  Ranks ranks_;
  std::unique_ptr<Machines> machines_;
  friend class Machines;
  friend class OtherRanks;
  friend class RankReporter;
  // The GPU of each device that runs on one, as the machine of the device's node counts.
  device::GpuMap gpus_;
  std::vector<std::unique_ptr<device::Device>> devices_;
  std::vector<std::shared_ptr<device::SharedGpu>> shared_gpus_;  // of these, each once
  std::unique_ptr<device::SharedHeap> heap_;  // of what lanes share beside values
  std::unique_ptr<cluster::Exchange> exchange_;  // where ranks of one machine have GPUs
  RankView view_;
  std::unique_ptr<Kernels> kernels_;
  std::vector<Engine::State> states_;
  std::vector<std::pair<uint32_t, uint64_t>> places_of_states_;  // actor, and offset in its states
  std::vector<std::pair<uint32_t, uint64_t>> objects_;  // actors that have one, and the offset of
                                                        // its number in their states
  std::vector<uint8_t> object_bytes_;  // of the object that this rank, not the first, is asked for
  NativeCollectives native_;
  std::unique_ptr<Arenas> arenas_;
  QueueMap queue_map_;
  device::SemaphoreArray queue_ends_;  // per queue: entries that are over
  std::vector<std::unique_ptr<LoadedGraph>> graphs_;  // the plan's, then the start graph
  std::vector<std::unique_ptr<WorkQueue>> work_queues_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<std::string>> output_names_;
  std::atomic<uint64_t> measured_from_{0};  // steady clock: what began before is forgotten
  bool yields_ = false;  // whether an idle worker yields its core at once (spin.h)
  bool has_start_ = false;
  bool has_queues_ = false;

  Mutex submission_;
  Turns turns_;
  // Who holds the lock while libraries save and restore objects, which must not call the engine.
  std::atomic<std::thread::id> snapshot_thread_{};
  std::vector<const Input*> given_;             // per port, of the Execute() in progress
  RunPool runs_;
  uint64_t executions_ = 0;
  uint64_t errors_ = 0;
  std::atomic<uint64_t> allocations_{0};

  alignas(128) Mutex driver_lock_;  // its holder drives worker 0
  alignas(128) std::atomic<bool> fallback_driver_called_{false};
  EventCount fallback_driver_wakeup_;
  std::thread fallback_driver_;
  EventCount watchdog_wakeup_;
  std::thread watchdog_;
  std::thread heads_teller_;  // of a rank other than the first
  std::atomic<std::thread::id> watchdog_id_{};

  PositionLog positions_;  // the watchdog's

  mutable std::mutex report_mutex_;
  std::string end_drawing_;  // under report_mutex_: of the time-out that has ended the engine
  bool released_ = false;  // under report_mutex_: there is nothing left to report about

  Ending ending_;
  std::mutex teardown_mutex_;
  bool torn_down_ = false;
  // Made with the core, since there may be no memory left when it is torn down.
  Status closed_{StatusCode::kClosed, "the engine was torn down"};
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_CORE_H_
