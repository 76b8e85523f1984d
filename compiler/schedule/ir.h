// The schedule: a graph's calls and transfers on lanes, in an order, with the waits between lanes
// and the places of buffers. Lower makes it, and each pass of schedule.h adds to it.
//
// There are two orders. That of a round is how steps and units stand here, and what each lane
// repeats. That of an execution is how one execution meets them: by lag, then by the round's order.
// Between a round of a step and one of another lie the executions between them, and the difference
// of their lags.
#ifndef CGRAPH_COMPILER_SCHEDULE_IR_H_
#define CGRAPH_COMPILER_SCHEDULE_IR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/ids.h"
#include "compiler/base/transport.h"
#include "compiler/graph/graph.h"

namespace cgraph {

// How many lanes a device has for what it exchanges with others: one, one for each other device,
// or for each of them one out and one in. More lanes hold less back, and are more for a machine to
// keep going.
enum class CommLanes : uint8_t { kOne, kPeer, kEdge };
const char* CommLanesName(CommLanes lanes);  // "one"

}  // namespace cgraph

namespace cgraph::schedule {

#define CGRAPH_SCHEDULE_ID(Name, prefix)           \
  struct Name : Id<Name> {                         \
    static constexpr const char* kPrefix = prefix; \
    using Id::Id;                                  \
  };
CGRAPH_SCHEDULE_ID(LaneId, "lane")
CGRAPH_SCHEDULE_ID(ValueLocationId, "location")
CGRAPH_SCHEDULE_ID(BufferId, "buffer")
CGRAPH_SCHEDULE_ID(ChannelId, "channel")
CGRAPH_SCHEDULE_ID(GroupId, "group")
CGRAPH_SCHEDULE_ID(StepId, "step")
CGRAPH_SCHEDULE_ID(UnitId, "unit")
#undef CGRAPH_SCHEDULE_ID

// Without overlap communication and copies stand in the compute lane. Copies into a device and out
// of it have a lane each, as GPUs have an engine for each: what comes in for the next execution
// need not wait for what goes out of this one. What a device exchanges with others goes through
// one lane, or through one for each peer, or for each peer one out and one in; its collectives
// through the one without a peer.
enum class LaneKind : uint8_t {
  kCompute,
  kComm,
  kSend,
  kReceive,
  kCopyIn,
  kCopyOut,
  kInput,
  kOutput
};
inline bool IsHost(LaneKind kind) { return kind == LaneKind::kInput || kind == LaneKind::kOutput; }
struct Lane {
  graph::DeviceId device;
  LaneKind kind;
  graph::DeviceId peer;        // of kComm, kSend and kReceive, when the lane is for one peer
  std::vector<UnitId> units;  // by Order
};

enum class Space : uint8_t { kSlot, kState, kOutput, kInput, kConstant };
// One lifetime of memory. Buffers of one device and space (of one instance, for state) form an
// arena; slot buffers whose lifetimes are ordered anyway may lie on the same bytes.
struct Buffer {
  Space space = Space::kSlot;
  graph::DeviceId device;       // whose memory
  graph::StateId state;         // kState only
  graph::ValueId constant;      // kConstant only
  int64_t bytes = 0;
  int64_t offset = 0;           // in its arena: by PlanMemory
};

// A graph's value as it lies in one memory: where it was made, or where a transfer put it.
struct ValueLocation {
  graph::ValueId value;
  BufferId buffer;
  int64_t offset = 0;  // in the buffer: of a view
};

// Messages from one lane to another, in order.
struct Channel {
  Transport transport;  // kNccl: rendezvous; kShm: a buffer for `capacity` messages
  LaneId from, to;
  uint32_t capacity = 1;
};

// Lanes that make collectives together, by rank.
struct Group {
  std::vector<LaneId> lanes;
};

// What one participant of a collective does.
struct CollectivePart {
  std::vector<ValueLocationId> inputs, outputs, extents;
};

struct Step {
  enum Kind : uint8_t { kCall, kLoad, kInput, kOutput, kCopy, kTransfer, kCollective };
  Kind kind;
  LaneId lane;             // of a transfer: the sending one; of a collective: the root's
  LaneId to_lane;          // kTransfer
  graph::OpId op;          // kCall, kLoad, kCollective
  uint32_t port = 0;       // kInput, kOutput
  ChannelId channel;       // kTransfer
  GroupId group;           // kCollective
  Transport by = Transport::kAuto;  // kCollective: what carries it
  std::vector<CollectivePart> parts;          // kCollective: by rank; its operands are there alone
  graph::CallId call;      // what it works for: of a transfer or copy the call that made the value
  std::vector<ValueLocationId> inputs, outputs;
  // Extents that it reads besides: on the device of `lane`; on that of `to_lane`.
  std::vector<ValueLocationId> extents, to_extents;
  uint64_t expected_ps = 0;
  uint64_t start_ps = 0;  // of its unit, in the timetable by which it was arranged; else 0
  uint32_t lag = 0;       // in round r it works for execution r - lag
  uint64_t held_ps = 0;         // so long, from its start, it holds these resources of the machine
  std::vector<uint32_t> holds;

  // Where program order puts it: after which call (0: at the start; i + 1: after call i), extents
  // before values before gives, in order of the first consumer, hop by hop.
  struct ProgramPosition {
    uint32_t call = 0;
    enum Class : uint8_t { kOps, kExtents, kValues, kOutputs } order = kOps;
    uint32_t consumer = 0;
    uint32_t hop = 0;
    auto operator<=>(const ProgramPosition&) const = default;
  } place;
  uint32_t program_order = 0;  // its position in program order: by Order
};

// What a lane does without looking up: all ops of a call, or one end of a transfer, or one
// participant's part of a collective, or one other step. It waits before its first step.
struct Wait {
  UnitId unit;
  uint32_t lag = 0;  // in rounds; of a dependency, in executions
};
struct ScheduleUnit {
  LaneId lane;
  uint32_t index = 0;       // in its lane
  StepId first;             // steps first .. first + count - 1
  uint32_t count = 1;
  UnitId sender;            // of the receiving end of a transfer: the unit before it
  UnitId first_part;        // of a collective: the unit of rank 0; the others follow it
  std::vector<Wait> waits;  // by Synchronise
  bool signals = false;     // after its last step: some unit waits for it
};

// What a device reads a symbol's extent from.
struct Extent {
  graph::SymbolId symbol;
  graph::DeviceId device;
  ValueLocationId location;
};

// How one value travels to one device: for `--emit transports`.
struct Edge {
  graph::ValueId value;
  graph::DeviceId from, to;
  TransportRequest chosen;
  std::string why;
  graph::DeviceId relay;  // by which it goes; invalid: straight
};

// How one collective goes: for `--emit transports` too.
struct CollectiveChoice {
  graph::OpId op;
  Transport chosen;
  std::string why;
};

struct Schedule {
  bool overlap = true;
  CommLanes comm_lanes = CommLanes::kOne;
  Table<LaneId, Lane> lanes;
  Table<BufferId, Buffer> buffers;
  Table<ValueLocationId, ValueLocation> locations;
  Table<ChannelId, Channel> channels;
  Table<GroupId, Group> groups;
  Table<StepId, Step> steps;  // in the order of a round: by Order, then by OrderTasks
  Table<UnitId, ScheduleUnit> units;  // likewise; ends of a transfer and parts are neighbours
  std::vector<ValueLocationId> inputs, outputs;  // of the graph's ports
  std::vector<Extent> extents;
  std::vector<Edge> edges;
  std::vector<CollectiveChoice> collective_choices;

  const Step& FirstStep(UnitId unit) const { return steps[units[unit].first]; }
  uint32_t LongestLag() const;  // of its steps
  // All units, in the order in which one execution meets them.
  std::vector<UnitId> ExecutionOrder() const;
  // By step: its place in that order.
  std::vector<uint32_t> Moments() const;
  // From the round of `from` to that of `to` in the execution so many later.
  int64_t Rounds(UnitId from, UnitId to, int64_t executions) const {
    return executions + FirstStep(to).lag - FirstStep(from).lag;
  }
  // Of all its steps together.
  uint64_t ExpectedPs(UnitId unit) const;
};

// Executions e and e + copies share memory; 0: every execution has its own.
inline int64_t Copies(Space space, const graph::Graph& graph) {
  switch (space) {
    case Space::kSlot: return graph.inflight;
    case Space::kState: case Space::kConstant: return 1;
    case Space::kOutput: case Space::kInput: return 0;
  }
  return 0;
}

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_IR_H_
