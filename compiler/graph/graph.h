// Graph: one elaborated graph, in which everything known at compile time is done.
//
// It consists of ops on tensors: each belongs to a method call (or stands alone), runs on one
// device, reads values and makes values. The order of `ops` is program order, which is what the
// program means. State is read and written through values whose storage it is; every write makes a
// new value (single assignment), so nothing here needs a notion of time but program order.
//
// A Module holds what all graphs share: devices, actor instances, their state, the start graph.
#ifndef CGRAPH_COMPILER_GRAPH_GRAPH_H_
#define CGRAPH_COMPILER_GRAPH_GRAPH_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/base/derived_calls.h"
#include "compiler/base/source.h"
#include "compiler/base/transport.h"
#include "compiler/graph/ids.h"
#include "compiler/graph/rules.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/kinds/collective.h"
#include "runtime/base/kinds/dtype.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph::graph {

// A static extent, or one that is known only while running, with its bound.
struct Dim {
  int64_t extent = 0;  // the bound when `symbol` is valid
  SymbolId symbol;
  friend bool operator==(const Dim&, const Dim&) = default;
};
struct Type {
  DType dtype = DType::kF32;
  std::vector<Dim> dims;

  int64_t elements() const;  // at the bound
  int64_t bytes() const;     // at the bound
  friend bool operator==(const Type&, const Type&) = default;
};

struct Instance {
  std::string name;        // "stage[2]"
  std::string actor;       // "Stage"
  DeviceId device;
  std::vector<StateId> states;
  Range range;
};
struct State {
  InstanceId instance;
  std::string name;        // "w", "xs[3]"
  Type type;               // static
  bool written = true;     // false: no graph writes it after the start graph
  std::string copies;      // the places that have it, too, "net[*, 1]"; empty: it has no copies
};

// Symbol: an extent that travels as a value of its own, an i64 scalar.
struct Symbol {
  std::string name;
  int64_t bound = 0;
  ValueId extent;
};

struct Value {
  enum Storage : uint8_t {
    kTemporary,  // made by `producer`, gone after its last use
    kState,      // `state`: its value at the start of the execution, or after `producer` wrote it
    kInput,      // a leaf of an input, the caller's memory; or, for an extent, made with that input
    kConstant,   // `constant`: the bytes, little endian, row-major; lives wherever it is used
  };
  std::string name;
  Type type;
  Storage storage = kTemporary;
  DeviceId home;      // invalid for constants
  OpId producer;      // kTemporary, and kState after a write
  StateId state;
  std::string constant;
  // A view: bytes [offset, offset + type.bytes()) of `base`, which is not a view itself. Without a
  // base, what `producer` wrote into these bytes of a state.
  ValueId base;
  int64_t offset = 0;
  Range range;
};

struct Use {
  ValueId value;
  TransportRequest via;
  Range range;
  DeviceId relay;  // by which it goes; invalid: straight
};

struct Attribute {
  std::string name;
  std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, DType> value;
};

// Collective: makes an op one of several participants. Its operands are those of rank 0, of rank 1,
// ... (of the root alone where only the root gives), its results likewise, as many tensors of each;
// a result lives at its participant. Such an op is a call of its own, on the root; it has a kernel
// for when it goes through the caller's memory.
struct Collective {
  CollectiveKind kind;
  std::optional<Reduction> reduction;
  uint32_t root = 0;                   // a rank
  std::vector<DeviceId> participants;  // by rank; each device once
  TransportKind via = TransportKind::kAuto;    // asked for
};

// FusedStep: one of the kernels that Fuse joined, in order. Operand i is the op's; -1 - k is the
// result of step k. Only the last step's result leaves the kernel.
struct FusedStep {
  std::string kernel;
  std::vector<Attribute> attributes;
  std::vector<int> operands;
  DType dtype;  // of what it makes
};

struct Op {
  std::string name;                   // as declared: "matmul"
  std::string kernel;                 // "matmul"
  std::vector<Attribute> attributes;  // the compile-time arguments, by parameter name
  std::vector<Use> operands;
  std::vector<ValueId> results;
  CallId call;
  DeviceId device;
  bool fails = false;
  bool effect = false;                // kept and ordered although nothing reads it
  bool exchangeable = false;          // an effect that is ordered only by the states it touches
  bool elementwise = false;           // element i of the result is made of the operands' elements i
  std::vector<FusedStep> steps;       // of an op that Fuse made, else empty
  std::vector<std::pair<int, int>> inplace;  // operand i may be result j's memory
  int64_t flops = 0, bytes = 0;
  bool cost_unstated = false;         // of native code: the two above are what is assumed
  std::optional<Collective> collective;
  Range range;
};

// Call: one method call, atomic when it fails; or one op that stands alone in a graph.
struct Call {
  InstanceId instance;           // invalid: an op outside a method
  std::string method;            // "forward"; of an op outside a method its name
  std::vector<int64_t> indices;  // the loop variables around it, outermost first
  std::vector<std::string> index_names;
  Range site;                    // the call in the graph's body
  DeviceId device;
  std::vector<CallId> after;     // earlier calls that must have ended: `x after y`, sorted
  // A call that `grad` has made names the call whose gradients it computes, which has the same
  // place and indices, that call's method, and which gradients. Prune may remove that call; then
  // the id is invalid, and rules of schedules go by the method.
  CallId derived_from;
  std::string forward_method;    // empty: `grad` has not made this call
  Half half = Half::kWhole;
  bool differentiated = false;   // `grad` went through it: what it makes may be asked for no more
  bool recompute = false;        // what derived calls read of it is made again there
};

struct Port {
  std::string name;  // "x", "pair.x", "result[2]"
  Use use;
};

// Bucket: values that go together, as one message, from the device where all of them live to
// another one that reads all of them. `via` is the way of the message, and that of the uses it
// serves.
struct Bucket {
  DeviceId to;
  TransportRequest via;  // nccl or shm
  std::vector<ValueId> values;
};

// Repeat: of a graph that is executed round after round, which is one run. Inputs and outputs
// behind the first so many are not the program's: each round is given what `before` or the round
// before it has made. Ports are numbers of inputs and outputs.
struct Repeat {
  struct Carry {
    uint32_t input;
    uint32_t first;               // an output of `before`, for the first round
    std::optional<uint32_t> next;  // an output of the round before, for the later ones
  };
  std::optional<uint32_t> before;       // a graph of the module, executed once; none: nothing is
  std::optional<uint32_t> before_done;  // an output of it: no round begins where it is true
  bool before_yields = false;           // its outputs are a row, too
  uint32_t done = 0;                    // an output, of bools: the last round is where all are true
  int64_t limit = 0;
  std::optional<uint32_t> limit_input;  // an i64: at most `limit`
  uint32_t inputs = 0, outputs = 0;     // the program's own
  std::vector<Carry> carries;
};

struct Graph {
  std::string name;
  Range range;
  std::optional<Repeat> repeat;
  int64_t inflight = 1;
  std::optional<bool> overlap;
  uint64_t timeout_ps = 0;
  std::optional<Rules> rules;  // without: each device makes its calls in program order

  Table<SymbolId, Symbol> symbols;
  Table<ValueId, Value> values;
  Table<OpId, Op> ops;      // in program order; the ops of one call are contiguous
  Table<CallId, Call> calls;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<Bucket> buckets;
};

// Returns the value whose bytes a value is: a view's base.
inline ValueId RootOf(const Graph& graph, ValueId id) {
  const Value& value = graph.values[id];
  return value.base.valid() ? value.base : id;
}
// Returns the call that made a value; invalid for values that exist at the start.
inline CallId MakerOf(const Graph& graph, ValueId id) {
  const OpId producer = graph.values[RootOf(graph, id)].producer;
  return producer.valid() ? graph.ops[producer].call : CallId();
}
// Returns the device where an op reads its operand `at`; for a collective, that of the participant
// that gives it.
DeviceId ReaderOf(const Op& op, size_t at);

struct Module {
  Table<DeviceId, LogicalDevice> devices;  // device0 is the caller
  Table<InstanceId, Instance> instances;
  Table<StateId, State> states;
  std::vector<std::pair<std::string, std::string>> parameters;  // what -D may say, as it was
  Graph start;                      // writes every state once
  std::vector<Graph> graphs;
};

}  // namespace cgraph::graph

namespace cgraph {

// What `--emit graph` shows: instances, then per graph its ops in program order, one line each.
void Print(const graph::Module& module, llvm::raw_ostream& out);

// CHECKs what Elaborate promises: ids in range, single assignment, operands made before they are
// used, views inside their base, ops of a call contiguous and on its device, state touched only by
// ops on its instance's device, an extent for every symbol. `phase`: the one that made it, for the
// message.
void Validate(const graph::Module& module, const char* phase);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_GRAPH_H_
