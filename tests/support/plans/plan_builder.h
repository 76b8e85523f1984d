// Plans by hand, for tests: devices, lanes, values, and instructions appended to lanes.
//
//   PlanBuilder plan;
//   auto host = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
//   GraphBuilder& g = plan.Graph("main");
//   auto x = g.Input("x", DType::f32, {4});
//   auto y = g.Output("y", DType::f32, {4});
//   g.Take(host, x);
//   g.Call(host, plan.Kernel("relu"), {x}, {y});
//   g.Give(host, y);
//   std::unique_ptr<Plan> p = plan.Build();
//
// The order of the calls is program order (`program_order`); Build() finds the certificate
// (`order`) and lays the lanes out one after the other. Nothing is checked: tests build wrong plans
// on purpose. A graph without a certificate (a cyclic wait) gets program order as its `order`.
#ifndef CGRAPH_TESTS_SUPPORT_PLANS_PLAN_BUILDER_H_
#define CGRAPH_TESTS_SUPPORT_PLANS_PLAN_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan::testing {

// A dimension: a number, or a symbol with its bound.
struct DimSpec {
  DimSpec(int64_t extent, uint32_t symbol = kNone) : extent(extent), symbol(symbol) {}  // NOLINT
  int64_t extent;
  uint32_t symbol;
};
using Dims = std::vector<DimSpec>;

struct KernelOptions {
  bool fails = false;
  std::vector<Inplace> inplace;
};

class PlanBuilder;

// Values are indices into the graph's values. Instructions are handles: positions in program order,
// which At() turns into the instruction and, after Build(), Index() into its place in the plan.
class GraphBuilder {
 public:
  using Handle = uint32_t;

  // Memory. A value gets a buffer of its own behind the others of the (device, space) arena, or,
  // At, in the same arena at a given offset: so memory is reused.
  uint32_t Value(const std::string& name, uint32_t device, DType dtype, const Dims& dims,
                 Space space = Space::slot);
  uint32_t ValueAt(const std::string& name, uint32_t device, uint64_t offset, DType dtype,
                   const Dims& dims, Space space = Space::slot);
  uint32_t View(uint32_t of, uint64_t offset, DType dtype, const Dims& dims);
  uint32_t Input(const std::string& name, DType dtype, const Dims& dims);   // port and value
  uint32_t Output(const std::string& name, DType dtype, const Dims& dims);  // port and value
  uint32_t State(uint32_t actor, uint32_t state);  // the actor's state variable
  uint32_t Constant(const std::string& name, uint32_t device, DType dtype, const Dims& dims,
                    const std::vector<uint8_t>& bytes);
  uint32_t Symbol(const std::string& name, int64_t bound);
  // Returns the i64 value in which `device` finds the symbol's extent (made in its slots when not
  // given).
  uint32_t Extent(uint32_t symbol, uint32_t device, uint32_t value = kNone);
  // Sets the copies of slot arenas made from here on (default: the graph's inflight).
  GraphBuilder& Copies(uint16_t copies) {
    copies_ = copies;
    return *this;
  }

  uint32_t Event() { return graph_->events++; }
  // capacity 0: rendezvous; otherwise buffered.
  uint32_t Channel(uint32_t from_lane, uint32_t to_lane, uint32_t capacity = 0,
                   TransportKind transport = TransportKind::local, uint32_t communicator = kNone);
  uint32_t Collective(const std::string& kind, uint32_t communicator,
                      const std::string& reduction = "", int32_t root = 0);
  // Sets the method call that instructions appended from here on belong to.
  GraphBuilder& Method(uint32_t place, const std::string& method, uint32_t line = 0,
                       std::vector<int32_t> indices = {});
  GraphBuilder& NoMethod() {
    call_ = kNone;
    return *this;
  }

  // Append instructions to a lane.
  Handle Call(uint32_t lane, uint32_t kernel, const std::vector<uint32_t>& inputs,
              const std::vector<uint32_t>& outputs);
  Handle Copy(uint32_t lane, uint32_t from, uint32_t to);
  Handle Take(uint32_t lane, uint32_t input, const std::vector<uint32_t>& extents = {});
  Handle Give(uint32_t lane, uint32_t output);
  Handle Load(uint32_t lane, uint32_t weight, uint32_t value);
  Handle Signal(uint32_t lane, uint32_t event);
  Handle Wait(uint32_t lane, uint32_t event, uint16_t lag = 0);
  // Adds a signal at the end of one lane and a wait for it at the end of another.
  uint32_t Sync(uint32_t from_lane, uint32_t to_lane, uint16_t lag = 0);
  Handle Send(uint32_t channel, const std::vector<uint32_t>& values, uint32_t transfer);
  Handle Receive(uint32_t channel, const std::vector<uint32_t>& values, uint32_t transfer);
  // Adds a send and its receive; returns the send (the receive is the next handle).
  Handle Transfer(uint32_t channel, uint32_t from, uint32_t to);
  // Adds one member's part of a collective. All parts of one collective share their
  // `program_order`.
  Handle Part(uint32_t lane, uint32_t collective, const std::vector<uint32_t>& inputs,
              const std::vector<uint32_t>& outputs);
  // Adds a part to a group that was appended before (only to the latest one).
  void Group(Handle comm, plan::Part part, uint32_t subject, const std::vector<uint32_t>& inputs,
             const std::vector<uint32_t>& outputs, uint32_t transfer);

  Handle Last() const { return static_cast<Handle>(items_.size() - 1); }
  Instruction& At(Handle handle) { return items_[handle].instruction; }
  uint32_t Index(Handle handle) const { return items_[handle].index; }  // after Build()
  GraphBuilder& Lag(uint16_t lag) {
    At(Last()).mutate_lag(lag);
    return *this;
  }
  GraphBuilder& Capture(uint32_t capture) {
    At(Last()).mutate_capture_id(capture);
    return *this;
  }
  plan::Graph& graph() { return *graph_; }

 private:
  friend class PlanBuilder;
  struct Item {
    Instruction instruction;
    uint32_t lane = 0;
    uint32_t index = 0;
  };
  GraphBuilder(PlanBuilder* plan, plan::Graph* graph) : plan_(plan), graph_(graph) {}

  uint32_t FindArena(uint32_t device, Space space, uint32_t owner);
  uint32_t AddValue(const std::string& name, DType dtype, const Dims& dims, uint32_t buffer,
                    uint64_t offset);
  uint32_t AddBuffer(uint32_t arena, uint64_t offset, uint64_t bytes);
  Handle Append(uint32_t lane, Instruction instruction);
  Handle AppendOperands(uint32_t lane, Kind kind, uint32_t subject,
                        const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs);
  uint32_t AddOperands(const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs);
  Handle AppendComm(uint32_t lane, CommPart part, const std::vector<uint32_t>& inputs,
                    const std::vector<uint32_t>& outputs);
  void Finish();
  void FindOrder();

  PlanBuilder* plan_;
  plan::Graph* graph_;
  std::vector<Item> items_;
  uint16_t copies_ = 1;
  uint32_t call_ = kNone;
};

class PlanBuilder {
 public:
  static constexpr uint32_t kCaller = 0;  // device 0

  PlanBuilder();

  uint32_t Device(DeviceKind kind, uint32_t index);
  uint32_t Lane(uint32_t device, LaneKind kind);
  uint32_t Kernel(const std::string& name, const KernelOptions& options = {});
  // Adds an actor; state variables by name and number of f32 elements.
  uint32_t Actor(const std::string& name, uint32_t device,
                 const std::vector<std::pair<std::string, uint64_t>>& states = {});
  uint32_t Communicator(const std::vector<uint32_t>& lanes);
  uint32_t Weight(const std::string& file, const std::string& tensor);
  uint32_t Name(const std::string& text);

  GraphBuilder& Graph(const std::string& name, uint32_t inflight = 1);
  GraphBuilder& Start() { return *start_; }
  plan::Plan& plan() { return *plan_; }

  // Builds the plan; called once, at the end.
  std::unique_ptr<plan::Plan> Build();

 private:
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<GraphBuilder> start_;
  std::vector<std::unique_ptr<GraphBuilder>> graphs_;
};

}  // namespace cgraph::plan::testing

#endif  // CGRAPH_TESTS_SUPPORT_PLANS_PLAN_BUILDER_H_
