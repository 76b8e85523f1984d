// Ranks: the processes of an engine, and what they tell each other. Rank 0 is the process that
// loads the plan, submits and gives results. The functions of this class are one protocol:
//
//   rank 0                                    every other rank
//   Start        load the plan, or your part  ReportLoaded   it is loaded, or why not
//   AwaitLoaded  all have loaded it; begin    AwaitStart (messages: the first round says it)
//   TellRound    run a round of a graph       what is finished, what has failed, queue positions
//   AskStates    what does an actor keep?     AnswerStates
//   GatherMeasurements, ForgetMeasurements    the times of calls, and traces
//   End          the engine has ended         its queues are closed
//
// It goes over one of two wires. Ranks of one machine share memory (region_ranks.h): there a round,
// a signal and the position of a queue are single stores, which the other rank reads. Ranks of
// several machines send messages (message_ranks.h). Where one process has all the threads there is
// one rank: this class itself, which sends nothing.
//
// The plan's own values do not go this way: transports move them (runtime/transport).
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_RANKS_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_RANKS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/cluster/message.h"
#include "runtime/cluster/state_request.h"
#include "runtime/cluster/supervision.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/round_receiver.h"
#include "runtime/execute/workers.h"
#include "runtime/load/load.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// EngineView: what Ranks see of the engine in this process.
struct EngineView {
  LoadedPlan& loaded;
  Workers& workers;
  Ending& ending;
  RoundReceiver& rounds;  // at ranks other than the first
  // Ends the engine because a rank is gone: which, its process, and how it ended.
  std::function<void(uint32_t rank, const std::string& process, const std::string& how)> lost;
  // Ends the engine with the error of a device.
  std::function<void(Status)> device_failed;
  // Discards what was measured.
  std::function<void()> forget;
};

class Ranks {
 public:
  // The parts of `engine` are not made yet: the constructor only keeps where they will be.
  Ranks(const EngineOptions& options, const EngineView& engine)
      : options_(options), loaded_(engine.loaded), ending_(engine.ending), engine_(engine) {}
  virtual ~Ranks() = default;

  // ---- loading the plan

  // Called once the parts are made: sets the place of this rank in `engine.loaded`, where it is
  // known by now, and joins the others.
  virtual void TakePlace() {}
  // At rank 0: refuses a plan that the ranks do not fit, or options that they do not support.
  virtual Status Check(const plan::Plan&) const { return Status::Ok(); }
  // At rank 0: the number of workers, and the plan's lanes dealt to them, for the proof.
  virtual uint32_t WorkersOf(const plan::Plan& plan) const;
  virtual void Deal(plan::Plan& plan) const;
  // At rank 0: starts the other ranks, or tells them, to load the plan. They do so while this one
  // loads it. The plan must be placed. kUnsupported where they cannot run it, kNotFound where the
  // system starts none.
  virtual Status Start() { return Status::Ok(); }
  // Returns what loading has to know of other ranks.
  virtual LoadContext Context();
  // Sets what workers have to know of other ranks, but for what is measured.
  virtual void Configure(Workers::Settings& settings);
  // Called when devices, communicators and memory are there: from now on a worker goes on with
  // messages.
  virtual void EndLoading() {}
  // At rank 0: waits until all ranks have loaded the plan, and lets them begin.
  virtual Status AwaitLoaded() { return Status::Ok(); }
  // At rank 0, which has failed to load the plan: returns the error to report. Another rank may be
  // the cause.
  virtual Status WithRefusals(Status own) { return own; }
  // At another rank: says that the plan is loaded, or why not; waits until rank 0 lets it begin.
  virtual void ReportLoaded(const Status&) {}
  virtual void AwaitStart() {}
  // Start and end a thread that tells and hears what no worker does. It must have ended before
  // queues are closed. kNotFound where the system makes none.
  virtual Status StartThread() { return Status::Ok(); }
  virtual void EndThread() {}

  // ---- running it

  // At rank 0: tells ranks that share no memory of a round. `extents`: those that its inputs have,
  // where devices have queues; else none.
  virtual void TellRound(uint32_t /*graph*/, const cluster::RoundMessage&,
                         std::span<const int64_t> /*extents*/) {}
  // At another rank that has no worker: goes on with messages until `until()`.
  virtual void Idle(const std::function<bool()>& /*until*/) {}
  // At rank 0: hands the request to a rank and waits, while `patient()`, until the answer has
  // replaced it. `piece` has room for the longest answer. False where none has come.
  virtual bool AskStates(uint32_t /*rank*/, cluster::StateRequest&, std::span<uint8_t> /*piece*/,
                         const std::function<bool()>& /*patient*/) {
    return false;
  }
  // At another rank. IsAskedStates() returns whether rank 0 asks; AnswerStates() calls `answer`,
  // which replaces request and piece.
  using StateAnswer = std::function<void(cluster::StateRequest&, std::span<uint8_t> piece)>;
  virtual bool IsAskedStates() const { return false; }
  virtual void AnswerStates(const StateAnswer& /*answer*/) {}
  // At rank 0: fetches what other machines have measured; discards it.
  virtual void GatherMeasurements() {}
  virtual void ForgetMeasurements() {}
  // Returns how many captures other ranks of this machine have.
  virtual uint32_t CapturesOfOthers() const { return 0; }

  // Returns the error of a device that has failed as a whole, of another rank that shares memory
  // with this one.
  virtual std::optional<Status> DeviceFailure() const { return std::nullopt; }
  // Returns whether a device may notice that another rank has gone.
  virtual bool LosesPeers() const { return false; }
  // IsHalted() returns whether a rank is known to stand still, or has told nothing for long.
  // HaltedText() has a line for each such rank.
  virtual bool IsHalted(uint32_t /*rank*/) const { return false; }
  virtual std::string HaltedText() const { return ""; }
  // Returns the process of a rank; nothing where it is not known.
  virtual std::optional<cluster::Process> ProcessOf(uint32_t /*rank*/) const {
    return std::nullopt;
  }
  // Returns "rank 1: process 123 on node7", as far as it is known.
  std::string TextOf(uint32_t rank) const;
  std::vector<Engine::Stats::Rank> Stats() const;

  // ---- the end

  // Called once this rank's queues are closed, where ranks of a machine have GPUs: lets go of other
  // ranks' memory, and waits until all ranks have. Until then another rank may read memory of this
  // one's GPU, which goes with the process.
  virtual void CloseShared() {}
  // At rank 0: ends the other ranks. No result needs what they still compute.
  virtual void End() {}

 protected:
  // Returns how long a rank waits for others while the plan is loaded; 0: for ever.
  std::chrono::nanoseconds LoadPatience() const;
  // Returns how many bytes of weights a rank has read, and was sent.
  virtual std::pair<uint64_t, uint64_t> WeightBytesOf(uint32_t rank) const;

  const EngineOptions& options_;
  LoadedPlan& loaded_;
  Ending& ending_;
  const EngineView& engine_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_RANKS_H_
