// What the ranks of an engine that share no memory tell each other, besides the plan's own
// messages: a MachineMessage, and a text behind it.
#ifndef CGRAPH_RUNTIME_CLUSTER_MESSAGE_H_
#define CGRAPH_RUNTIME_CLUSTER_MESSAGE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"

namespace cgraph::cluster {

inline constexpr uint32_t kMachineTag = kControlTag;
// How long the others are given to answer or to end an engine: one may be inside a kernel.
inline constexpr std::chrono::seconds kMachineGrace(1);
// How often a rank tells that it is alive.
inline constexpr std::chrono::milliseconds kAliveInterval(250);

// RoundMessage: a round to run. Its frame's last execution has left `flagged` and `failed`.
struct RoundMessage {
  bool empty, flagged, failed;
};

// MachineMessage: the beginning of a message; a text follows. It fits one unit of the wire: with
// two units a hop of 4 KiB by TCP took 10 to 12 us instead of 7 (docs/benchmarks.md).
struct MachineMessage {
  enum Kind : uint32_t {
    kNone,          // nothing that a rank sends
    kGpus,          // which GPUs has your machine? or: it has
    kDescribe,      // your machine, to people; or: this is it
    kPlan,          // load this part of a plan
    kAskWeights,    // what are your weights?
    kWeights,       // they are
    kAgree,         // what a rank says while it loads the plan; or: what all have agreed on
    kLoaded,        // it is loaded, or why not
    kRound,         // run a round of a graph
    kProgress,      // of a work queue
    kFailure,       // of an execution
    kHeads,         // where the queues of a work queue are
    kDeviceFailed,  // as a whole: the engine ends
    kAlive,         // nothing else is to be sent
    kClock,         // what time is it? or: it is
    kMeasure,       // tell what was measured
    kTimings,       // of a work queue's steps in a graph
    kTrace,         // steps of a work queue
    kMeasured,      // that was all
    kForget,        // what was measured
    kStates,        // a StateRequest about states, and its piece; or: the answer
    kEnd,           // the engine has ended
    kEnded,         // and nothing of it is under way from here any more
    kQuit,          // end the process, with rank 0's exit code
  };
  Kind kind = kNone;
  uint32_t graph = 0, frame = 0, work_queue = 0;
  uint32_t question = 0;  // from 1: its number, in the answer, too
  StatusCode code = StatusCode::kOk;  // otherwise the text says why
  uint64_t text_bytes = 0;
  union {
    struct {
      uint32_t cores, gpus;
      uint64_t process_bytes;  // of the text: who answers; why there are no GPUs follows
    } gpus;
    // The text: the extents that the inputs have, by symbol, where devices have queues.
    RoundMessage round;
    struct {
      uint64_t done, at, round;
    } progress;
    struct {
      uint32_t program_order;
    } failure;
    struct {
      uint64_t weight_bytes_read, weight_bytes_sent;  // from own files, by rank 0
    } loaded;
    struct {
      uint32_t weight;  // its number in the plan
      // Asks about a piece, of which the rank has one with this digest if it `has` any; otherwise
      // about the file and the tensor.
      bool piece, has;
      bool same;  // the piece; otherwise the text is the bytes
      uint8_t dtype;
      uint64_t digest, file_bytes;  // the digest of the header, where the file is described
      int64_t modified_ns;
    } weights{};  // the largest: so that no byte is sent that was not written
    struct {
      int64_t now_ns;
    } clock;
    struct {
      int32_t exit_code;
    } quit;
  };
};
static_assert(sizeof(MachineMessage) <= Wire::kMessageUnit);

// TimedStep: what is sent of a step's Timing.
struct TimedStep {
  uint64_t ns = 0, count = 0;
};

// Returns the time on the steady clock, by which messages state times.
inline int64_t NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

inline void SendMessage(Messenger& messenger, uint32_t to, MachineMessage message,
                        std::string_view text = {}) {
  message.text_bytes = text.size();
  messenger.SendCopy(to, kMachineTag, std::as_bytes(std::span(&message, 1)),
                     std::as_bytes(std::span(text.data(), text.size())));
}

// Returns the beginning of a message, and its text, which lies in it.
inline std::pair<MachineMessage, std::string_view> ReadMessage(std::span<const std::byte> bytes) {
  MachineMessage message;
  if (bytes.size() < sizeof(message)) return {message, {}};
  std::memcpy(&message, bytes.data(), sizeof(message));
  const uint64_t text = std::min<uint64_t>(message.text_bytes, bytes.size() - sizeof(message));
  return {message, {reinterpret_cast<const char*>(bytes.data()) + sizeof(message), text}};
}

// Goes on with messages until `until()`. While nothing comes it yields its core for a moment, since
// an answer is often on its way, and then pauses, for longer and longer.
template <typename Until>
void PollUntil(Messenger& messenger, Until&& until) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kYields{100}, kShortest{20}, kLongest{1000};
  std::chrono::microseconds pause = kShortest;
  auto moved = Clock::now();
  while (!until()) {
    if (messenger.Poll()) {
      pause = kShortest;
      moved = Clock::now();
    } else if (Clock::now() - moved < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongest);
    }
  }
}

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_MESSAGE_H_
