// OtherRanks: the other ranks of an engine of several machines, as rank 0 has them. Rank 0 has each
// of them load its part of the plan, tells them of the rounds that it submits, and hears how far
// they are. It has a WorkQueue for each work queue of another rank; a message about progress sets
// the words of that WorkQueue. rank_reporter.h is the other side.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_OTHER_RANKS_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_OTHER_RANKS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/launcher.h"
#include "runtime/cluster/message.h"
#include "runtime/cluster/messenger.h"
#include "runtime/cluster/refusals.h"
#include "runtime/cluster/supervision.h"
#include "runtime/engine/ranks/message_ranks.h"
#include "runtime/engine/ranks/sent_weights.h"
#include "runtime/engine/ranks/told_measurements.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// LoadTally: which of the other ranks have loaded the plan, and why others have not. Any thread may
// call it.
class LoadTally {
 public:
  explicit LoadTally(uint32_t ranks) : has_loaded_(ranks, false) {}

  // Notes what a rank has told: kOk, or why it has refused the plan; and the bytes of weights that
  // it has read, and was sent.
  void Note(uint32_t rank, const cluster::Process& process, Status status,
            std::pair<uint64_t, uint64_t> weight_bytes);
  // Notes that a rank is lost. False where the engine has begun: then the loss ends it.
  bool NoteLost(const cluster::Supervision::Lost& lost);

  bool AllHaveTold() const { return told_.load(std::memory_order_acquire) == has_loaded_.size(); }
  bool AnyRefused() const;
  bool AnyFailed() const;  // or is lost
  // Returns the error of what was told so far: of a rank that is lost, else of those that refused.
  Status Error() const;
  // The same, with the error of rank 0; without it where rank 0 was `interrupted` by a refusal.
  Status ErrorWith(Status own, const cluster::Process& process, bool interrupted);
  // Begins: from now on the loss of a rank ends the engine. Error() where one has failed.
  Status Begin();
  bool begun() const;
  std::vector<uint32_t> Missing() const;
  std::pair<uint64_t, uint64_t> WeightBytesOf(uint32_t rank) const;

 private:
  Status ErrorLocked() const;

  mutable std::mutex mutex_;  // of the next five
  Status lost_;
  std::vector<cluster::Refusal> refusals_;
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> weight_bytes_;  // by rank: read, and sent
  std::vector<bool> has_loaded_;  // by rank: or has told why not; rank 0 is none of them
  bool begun_ = false;
  std::atomic<uint32_t> told_{1};  // ranks; rank 0 counts as told
};

class OtherRanks final : public MessageRanks, private cluster::Listener {
 public:
  OtherRanks(const EngineOptions& options, const EngineView& engine);

  Status Check(const plan::Plan& plan) const override;
  uint32_t WorkersOf(const plan::Plan& plan) const override { return plan.workers; }
  void Deal(plan::Plan& plan) const override;
  Status Start() override;
  Status AwaitLoaded() override;
  Status WithRefusals(Status own) override;
  void TellRound(uint32_t graph, const cluster::RoundMessage& round,
                 std::span<const int64_t> extents) override;
  bool AskStates(uint32_t rank, cluster::StateRequest& request, std::span<uint8_t> piece,
                 const std::function<bool()>& patient) override;
  void GatherMeasurements() override;
  void ForgetMeasurements() override {
    if (IsServed()) SendToAll({.kind = cluster::MachineMessage::kForget});
  }
  bool IsHalted(uint32_t rank) const override { return SilenceOf(rank).has_value(); }
  std::string HaltedText() const override;
  // When it returns, no message of the engine is under way any more. Where a rank does not end in
  // time, the messenger is given up.
  void End() override;

 private:
  bool AnyFailed() const override { return tally_.AnyFailed(); }
  std::pair<uint64_t, uint64_t> WeightBytesOf(uint32_t rank) const override;

  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    return buffers_[from].New(bytes);
  }
  bool OnMessage(uint32_t from, std::span<const std::byte>) override;
  // Returns whether a thread may wait for what the message says.
  bool Dispatch(uint32_t from, std::span<const std::byte> message);
  void OnLost(const cluster::Supervision::Lost& lost);
  void OnFailure(uint32_t from, const cluster::MachineMessage& message, std::string_view text);
  void OnHeads(const cluster::MachineMessage& message, std::string_view text);

  void SendPlan();
  void SendToAll(const cluster::MachineMessage& message, std::string_view text = {});
  bool AnswerWeightQuestions();
  bool IsServed() const;  // all have loaded the plan, and none has ended its part
  std::optional<std::chrono::nanoseconds> SilenceOf(uint32_t rank) const;  // where it is long

  const uint32_t others_;  // how many
  bool claimed_ = false;   // the other ranks serve this engine
  std::vector<cluster::ReceiveBuffers> buffers_;  // by rank
  WeightQuestions questions_;
  LoadTally tally_;
  MeasurementQuestions measurements_;
  std::atomic<uint32_t> ended_{0};                     // ranks
  std::vector<std::atomic<int64_t>> last_message_ns_;  // when, on the steady clock, by rank
  std::string states_;                                 // the answer about states
  std::atomic<bool> has_states_{false};                // it is there
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_OTHER_RANKS_H_
