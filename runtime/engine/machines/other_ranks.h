// OtherRanks: the other ranks of an engine of several machines, as rank 0 has them. Rank 0 has each
// of them load its part of the plan, tells them of the rounds that it submits, and hears how far
// they are: it has a WorkQueue for each work queue of another rank, whose words are set when such a
// message comes. rank_reporter.h is the other side.
#ifndef CGRAPH_RUNTIME_ENGINE_MACHINES_OTHER_RANKS_H_
#define CGRAPH_RUNTIME_ENGINE_MACHINES_OTHER_RANKS_H_

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
#include "runtime/cluster/agreement.h"
#include "runtime/cluster/launcher.h"
#include "runtime/cluster/message.h"
#include "runtime/cluster/messenger.h"
#include "runtime/cluster/refusals.h"
#include "runtime/cluster/state_request.h"
#include "runtime/cluster/supervision.h"
#include "runtime/engine/machines/engine_view.h"
#include "runtime/engine/machines/sent_weights.h"
#include "runtime/engine/options.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/placement.h"

namespace cgraph::engine {

class OtherRanks final : private cluster::Listener {
 public:
  // `agreement`: what ranks agree on while they load the plan; gets the messages about it.
  OtherRanks(const EngineView& engine, cluster::Peers& peers, cluster::Agreement& agreement);

  // Has each rank load its part of the plan, with devices on these GPUs. `first_tag`: of the
  // engine's own messages.
  void SendPlan(plan::NodeParts& parts, const EngineOptions& options, uint32_t first_tag,
                const device::GpuMap& gpus, const plan::Placement& placement);
  // Waits until all have loaded it, at most for so long (0: for ever).
  Status AwaitLoaded(std::chrono::nanoseconds timeout);
  // Returns whether a rank has refused the plan, or is lost.
  bool AnyFailed() const;
  // Returns the error with which rank 0 does not load the plan, and those of others, which are
  // waited for a moment. `interrupted`: another rank is why rank 0 does not.
  Status JoinRefusal(Status own, bool interrupted);

  // Tells of a round. Where other ranks have GPUs, `extents` are those that the inputs have.
  void SendRound(uint32_t graph, const cluster::RoundMessage& round,
                 std::span<const int64_t> extents);
  // Ends their part of the engine, after which none of its messages is under way any more, unless a
  // rank does not end in time: then the messenger is given up.
  void End();

  // Brings what they have measured, where they measure: times of calls, and steps of traces with
  // times of this rank's clock. Those that do not answer in time are left out.
  void GatherMeasurements();
  void ForgetMeasurements();

  // Asks a rank about states; one question at a time. Its answer is taken once it is there.
  void AskStates(uint32_t rank, const cluster::StateRequest& request,
                 std::span<const uint8_t> piece);
  bool HasStates() const { return has_states_.load(std::memory_order_acquire); }
  void TakeStates(cluster::StateRequest& request, std::span<uint8_t> piece);

  // Returns a line for each rank that has told nothing for long: it is stopped, or its machine
  // cannot be reached.
  std::string SilentRanks() const;
  bool IsSilent(uint32_t rank) const { return SilenceOf(rank).has_value(); }
  // Returns how many bytes of weights a rank has read, and was sent.
  std::pair<uint64_t, uint64_t> WeightBytesOf(uint32_t rank) const;

 private:
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    return buffers_[from].New(bytes);
  }
  bool OnMessage(uint32_t from, std::span<const std::byte>) override;
  // Returns whether somebody may wait for what the message says.
  bool Dispatch(uint32_t from, std::span<const std::byte> message);
  void OnLost(const cluster::Supervision::Lost& lost);
  void OnLoaded(uint32_t from, const cluster::MachineMessage& message, std::string_view text);
  void OnFailure(uint32_t from, const cluster::MachineMessage& message, std::string_view text);
  void OnHeads(const cluster::MachineMessage& message, std::string_view text);
  void OnClock(uint32_t from, const cluster::MachineMessage& message);
  void OnTimings(const cluster::MachineMessage& message, std::string_view text);
  void OnTrace(uint32_t from, const cluster::MachineMessage& message, std::string_view text);

  void SendToAll(const cluster::MachineMessage& message, std::string_view text = {});
  bool AnswerWeightQuestions();
  bool HasRefusals() const;
  std::optional<std::chrono::nanoseconds> SilenceOf(uint32_t rank) const;  // where it is long
  void AlignClocks();
  bool AskAll(cluster::MachineMessage::Kind kind);

  const EngineView& engine_;
  cluster::Peers& peers_;
  cluster::Messenger& messenger_;
  cluster::Agreement& agreement_;
  const uint32_t others_;                       // how many
  std::vector<cluster::ReceiveBuffers> buffers_;  // by rank
  WeightQuestions questions_;

  mutable std::mutex mutex_;  // of the next five
  Status load_error_;
  std::vector<cluster::Refusal> refusals_;
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> weight_bytes_;  // by rank: read, and sent
  std::vector<bool> has_loaded_;                                    // by rank: or has told why not
  bool started_ = false;  // all have loaded the plan: who is lost now ends the engine
  std::atomic<uint32_t> loaded_{0}, ended_{0};
  std::vector<std::atomic<int64_t>> last_message_ns_;  // when, on the steady clock, by rank

  std::string states_;                  // the answer about states
  std::atomic<bool> has_states_{false};  // it is there

  // What they have measured.
  struct OtherClock {
    int64_t offset_ns = 0;              // of it against this rank's
    int64_t round_trip_ns = INT64_MAX;  // in which that was measured: half of it is the error
  };
  std::mutex gather_mutex_;
  std::vector<OtherClock> clocks_;     // by rank
  std::atomic<uint32_t> question_{0};  // the number of the last one
  std::atomic<int64_t> asked_ns_{0};   // when
  std::atomic<uint32_t> answers_{0};   // to it
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MACHINES_OTHER_RANKS_H_
