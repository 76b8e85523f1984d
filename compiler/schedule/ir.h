// Schedule: a graph's calls and transfers on lanes, in an order, with the waits between lanes and
// the places of buffers. Lower makes it, and each pass of schedule.h adds to it.
//
// There are two orders. The order of a round is that of the steps and units in their tables, and
// the one that each lane repeats. The order of an execution is how one execution meets them: by
// lag, then by the round's order. The number of rounds between two steps is the number of
// executions between them plus the difference of their lags.
#ifndef CGRAPH_COMPILER_SCHEDULE_IR_H_
#define CGRAPH_COMPILER_SCHEDULE_IR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/ids.h"
#include "compiler/base/source.h"
#include "compiler/base/transport.h"
#include "compiler/graph/graph.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/kinds/comm_lanes.h"

namespace cgraph::schedule {

CGRAPH_ID(LaneId, "lane")
CGRAPH_ID(ValueLocationId, "location")
CGRAPH_ID(BufferId, "buffer")
CGRAPH_ID(ChannelId, "channel")
CGRAPH_ID(GroupId, "group")
CGRAPH_ID(StepId, "step")
CGRAPH_ID(UnitId, "unit")

// The kinds of lanes. Without overlap, communication and copies stand in the compute lane. Copies
// into a device and out of it have a lane each, as GPUs have an engine for each: a copy in for the
// next execution need not wait for a copy out of this one. Exchanges with other devices go through
// one lane, or through one for each peer, or for each peer one out and one in; collectives through
// the one without a peer.
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
// Buffer: one lifetime of memory. Buffers of one device and space (of one instance, for state) form
// an arena; slot buffers whose lifetimes are ordered anyway may lie on the same bytes.
struct Buffer {
  Space space = Space::kSlot;
  graph::DeviceId device;       // whose memory
  graph::StateId state;         // kState only
  graph::ValueId constant;      // kConstant only
  int64_t bytes = 0;
  int64_t offset = 0;           // in its arena: by PlanMemory
};

// ValueLocation: a graph's value as it lies in one memory: where it was made, or where a transfer
// put it.
struct ValueLocation {
  graph::ValueId value;
  BufferId buffer;
  int64_t offset = 0;  // in the buffer: of a view
};

// Channel: messages from one lane to another, in order.
struct Channel {
  TransportKind transport;  // sends messages; where it buffers them, `capacity` of them
  LaneId from, to;
  uint32_t capacity = 1;
};

// Group: lanes that make collectives together, by rank.
struct Group {
  std::vector<LaneId> lanes;
};

// CollectivePart: one participant's part of a collective.
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
  TransportKind by = TransportKind::kAuto;  // kCollective: what carries it
  std::vector<CollectivePart> parts;          // kCollective: by rank; its operands are there alone
  graph::CallId call;      // what it works for: of a transfer or copy the call that made the value
  std::vector<ValueLocationId> inputs, outputs;
  // Extents that the step reads besides: on the device of `lane`; on that of `to_lane`.
  std::vector<ValueLocationId> extents, to_extents;
  uint64_t expected_ps = 0;
  uint64_t start_ps = 0;  // of its unit, in the timetable by which it was arranged; else 0
  uint32_t lag = 0;       // in round r it works for execution r - lag
  uint64_t held_ps = 0;   // how long, from its start, it holds `holds`
  std::vector<uint32_t> holds;  // resources of the machine

  // ProgramPosition: where program order puts a step: after which call (0: at the start; i + 1:
  // after call i), extents before values before outputs, in order of the first consumer, hop by
  // hop.
  struct ProgramPosition {
    uint32_t call = 0;
    enum Class : uint8_t { kOps, kExtents, kValues, kOutputs } order = kOps;
    uint32_t consumer = 0;
    uint32_t hop = 0;
    auto operator<=>(const ProgramPosition&) const = default;
  } place;
  uint32_t program_order = 0;  // its position in program order: by Order
};

struct Wait {
  UnitId unit;
  uint32_t lag = 0;  // in rounds; of a dependency, in executions
};
// ScheduleUnit: the work that a lane does without a wait or a signal in between: all ops of a call,
// or one end of a transfer, or one participant's part of a collective, or one other step. It waits
// before its first step.
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

// Extent: the location from which a device reads a symbol's extent.
struct Extent {
  graph::SymbolId symbol;
  graph::DeviceId device;
  ValueLocationId location;
};

// Edge: how one value travels to one device; for `--emit transports`.
struct Edge {
  graph::ValueId value;
  graph::DeviceId from, to;
  TransportRequest chosen;
  std::string why;
  graph::DeviceId relay;  // by which it goes; invalid: straight
};

// CollectiveChoice: how one collective travels; for `--emit transports`, too.
struct CollectiveChoice {
  graph::OpId op;
  TransportKind chosen;
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
  // Returns all units, in the order in which one execution meets them.
  std::vector<UnitId> ExecutionOrder() const;
  // Returns by step its place in that order.
  std::vector<uint32_t> Moments() const;
  // Returns the rounds from that of `from` to that of `to` in the execution `executions` later.
  int64_t Rounds(UnitId from, UnitId to, int64_t executions) const {
    return executions + FirstStep(to).lag - FirstStep(from).lag;
  }
  // Returns the expected time of all steps of a unit together.
  uint64_t ExpectedPs(UnitId unit) const;
};

// Returns whether the messages of a channel are, in the plan, broadcasts among the two: what NCCL
// carries from machine to machine. There both ends meet as the members of a collective do, and
// their ranks agree on a communicator.
inline bool IsBroadcast(const graph::Module& module, const Schedule& schedule, ChannelId id) {
  const Channel& channel = schedule.channels[id];
  const auto node_of = [&](LaneId lane) {
    return module.devices[schedule.lanes[lane].device].node;
  };
  return channel.transport == TransportKind::kNccl && node_of(channel.from) != node_of(channel.to);
}

// Returns the copies: executions e and e + copies share memory; 0: every execution has its own.
inline int64_t Copies(Space space, const graph::Graph& graph) {
  switch (space) {
    case Space::kSlot: return graph.inflight;
    case Space::kState: case Space::kConstant: return 1;
    case Space::kOutput: case Space::kInput: return 0;
  }
  return 0;
}

}  // namespace cgraph::schedule

namespace cgraph {

// Per graph and lane its steps in order, one line each, with what they wait for. `sources` say in
// which line a value without a name is made; null: unknown.
void PrintSchedule(const graph::Module& module, const std::vector<schedule::Schedule>& schedules,
                   const Sources* sources, llvm::raw_ostream& out);

// Per graph its edges between devices: value, from, to, transport, why. One line each.
void PrintTransports(const graph::Module& module, const std::vector<schedule::Schedule>& schedules,
                     const Sources* sources, llvm::raw_ostream& out);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SCHEDULE_IR_H_
