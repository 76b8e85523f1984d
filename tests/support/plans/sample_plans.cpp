#include "tests/support/plans/sample_plans.h"

#include <map>
#include <set>
#include <utility>

#include "tests/support/plans/plan_builder.h"

namespace cgraph::plan::testing {
namespace {

// Adds the waits that program order needs: a value's reader on another lane waits for its writer,
// and every lane of execution e waits for all lanes of execution e - copies. The caller's inputs
// and outputs are on lanes of their own, so that no output holds up an input.
class Synced {
 public:
  Synced(PlanBuilder& plan, uint32_t inflight) : plan_(plan), graph_(plan.Graph("main", inflight)) {
    graph_.Copies(static_cast<uint16_t>(inflight));
  }

  GraphBuilder& graph() { return graph_; }

  // Must be called first: slots are free again when every lane is through with the execution that
  // used them before.
  void BeginLanes(const std::vector<uint32_t>& lanes) {
    const auto copies = static_cast<uint16_t>(plan_.plan().graphs[0]->inflight);
    for (uint32_t from : lanes) {
      ends_.push_back({from, graph_.Event()});
      for (uint32_t to : lanes) {
        if (from != to) {
          graph_.Wait(to, ends_.back().second, copies);
        }
      }
    }
  }
  void EndLanes() {
    for (const auto& [lane, event] : ends_) {
      graph_.Signal(lane, event);
    }
  }

  void Take(uint32_t lane, uint32_t input, const std::vector<uint32_t>& extents = {}) {
    graph_.Take(lane, input, extents);
    std::vector<uint32_t> values = extents;
    values.push_back(input);
    Wrote(lane, values);
  }
  void Give(uint32_t lane, uint32_t output) {
    Reads(lane, {output});
    graph_.Give(lane, output);
  }
  void Call(uint32_t lane, uint32_t kernel, const std::vector<uint32_t>& inputs,
            const std::vector<uint32_t>& outputs, uint64_t expected = 0) {
    Reads(lane, inputs);
    graph_.Call(lane, kernel, inputs, outputs);
    graph_.At(graph_.Last()).mutate_expected(expected);
    Wrote(lane, outputs);
  }
  void Transfer(uint32_t channel, uint32_t from, uint32_t to) {
    const Channel ends = graph_.graph().channels[channel];
    Reads(ends.from_lane(), {from});
    graph_.Transfer(channel, from, to);
    Wrote(ends.to_lane(), {to});
  }

  void Reads(uint32_t lane, const std::vector<uint32_t>& values) {
    for (uint32_t value : values) {
      const auto program_order = written_.find(value);
      if (program_order != written_.end() && program_order->second.lane != lane &&
          program_order->second.seen_by.insert(lane).second) {
        graph_.Wait(lane, program_order->second.event);
      }
    }
  }
  void Wrote(uint32_t lane, const std::vector<uint32_t>& values) {
    const uint32_t event = graph_.Event();
    graph_.Signal(lane, event);
    for (uint32_t value : values) {
      written_[value] = {lane, event, {}};
    }
  }

 private:
  PlanBuilder& plan_;
  GraphBuilder& graph_;
  struct Written {
    uint32_t lane;
    uint32_t event;
    std::set<uint32_t> seen_by;  // lanes that have waited for it
  };
  std::map<uint32_t, Written> written_;              // by value
  std::vector<std::pair<uint32_t, uint32_t>> ends_;  // lane, event at its end
};

const Dims kRow = {4};

// Pipeline: a stage of a pipeline, and how it builds its calls.
class Pipeline {
 public:
  explicit Pipeline(const PipelineOptions& options)
      : options_(options), synced_(plan_, options.inflight) {}

  std::unique_ptr<Plan> Build() {
    take_ = plan_.Lane(PlanBuilder::kCaller, LaneKind::host);
    give_ = plan_.Lane(PlanBuilder::kCaller, LaneKind::host);
    forward_ = plan_.Kernel("forward");
    backward_ = plan_.Kernel("backward", {.inplace = {Inplace(2, 1)}});
    update_ = plan_.Kernel("update", {.inplace = {Inplace(0, 0), Inplace(1, 1)}});
    AddStages();
    GraphBuilder& g = synced_.graph();
    const uint32_t x = g.Input("x", DType::f32, kRow);
    std::vector<uint32_t> lanes = {take_, give_};
    for (const Stage& stage : stages_) {
      lanes.push_back(stage.compute);
      if (stage.comm != stage.compute) {
        lanes.push_back(stage.comm);
      }
    }
    synced_.BeginLanes(lanes);
    synced_.Take(take_, x);
    h_[0].assign(options_.micro_batches, x);
    for (uint32_t tick = 0; tick < 2 * (options_.micro_batches + options_.stages - 1); ++tick) {
      for (uint32_t s = 0; s < options_.stages; ++s) {
        Tick(tick, s);
      }
    }
    const uint32_t y = g.Output("y", DType::f32, kRow);
    for (uint32_t s = 0; s < options_.stages; ++s) {
      g.Method(stages_[s].actor, "update", 30);
      const std::vector<uint32_t> state = {stages_[s].weights, stages_[s].gradients};
      synced_.Call(stages_[s].compute, update_, state, state);
    }
    g.NoMethod();
    synced_.Call(give_, plan_.Kernel("last"), {h_[options_.stages].back()}, {y});
    synced_.Give(give_, y);
    synced_.EndLanes();
    return plan_.Build();
  }

 private:
  struct Stage {
    uint32_t device, compute, comm, actor, weights, gradients;
    uint32_t down = kNone;  // channel to the next stage
    uint32_t up = kNone;    // channel to the stage before
  };

  void AddStages() {
    GraphBuilder& g = synced_.graph();
    for (uint32_t s = 0; s < options_.stages; ++s) {
      Stage stage;
      stage.device = plan_.Device(DeviceKind::gpu, s);
      stage.compute = plan_.Lane(stage.device, LaneKind::compute);
      stage.comm = options_.overlap ? plan_.Lane(stage.device, LaneKind::comm) : stage.compute;
      stage.actor = plan_.Actor("stage[" + std::to_string(s) + "]", stage.device,
                                {{"w", 4}, {"gw", 4}});
      plan_.plan().actors.back()->class_name = "Stage";
      stage.weights = g.State(stage.actor, 0);
      stage.gradients = g.State(stage.actor, 1);
      stages_.push_back(stage);
    }
    for (uint32_t s = 0; s + 1 < options_.stages; ++s) {
      stages_[s].down = g.Channel(stages_[s].comm, stages_[s + 1].comm, options_.capacity);
      stages_[s + 1].up = g.Channel(stages_[s + 1].comm, stages_[s].comm, options_.capacity);
    }
    h_.assign(options_.stages + 1, std::vector<uint32_t>(options_.micro_batches, kNone));
    saved_ = gradient_ = h_;
  }

  void Tick(uint32_t tick, uint32_t s) {
    for (uint32_t mb = 0; mb < options_.micro_batches; ++mb) {
      const bool fills = mb < options_.stages - s;
      if (tick == (fills ? s + mb : 2 * mb + s)) {
        Forward(s, mb);
      }
      if (tick == 2 * options_.stages - 1 - s + 2 * mb) {
        Backward(s, mb);
      }
    }
  }

  uint32_t NewValue(const std::string& name, uint32_t s, uint32_t mb) {
    return synced_.graph().Value(name + std::to_string(mb), stages_[s].device, DType::f32, kRow);
  }

  void Forward(uint32_t s, uint32_t mb) {
    const Stage& stage = stages_[s];
    const uint32_t y = NewValue("y", s, mb);
    saved_[s][mb] = NewValue("saved", s, mb);
    synced_.graph().Method(stage.actor, "forward", 20, {static_cast<int32_t>(mb)});
    synced_.Call(stage.compute, forward_, {h_[s][mb], stage.weights}, {y, saved_[s][mb]}, 1);
    h_[s + 1][mb] = y;
    if (s + 1 < options_.stages) {
      h_[s + 1][mb] = NewValue("x", s + 1, mb);
      synced_.Transfer(stage.down, y, h_[s + 1][mb]);
    } else {
      gradient_[s + 1][mb] = y;
    }
  }

  void Backward(uint32_t s, uint32_t mb) {
    const Stage& stage = stages_[s];
    const uint32_t gradient = NewValue("g", s, mb);
    synced_.graph().Method(stage.actor, "backward", 25, {static_cast<int32_t>(mb)});
    synced_.Call(stage.compute, backward_, {saved_[s][mb], gradient_[s + 1][mb], stage.gradients},
                 {gradient, stage.gradients}, 2);
    if (s > 0) {
      gradient_[s][mb] = NewValue("gy", s - 1, mb);
      synced_.Transfer(stage.up, gradient, gradient_[s][mb]);
    }
  }

  const PipelineOptions options_;
  PlanBuilder plan_;
  Synced synced_;
  uint32_t take_ = 0, give_ = 0, forward_ = 0, backward_ = 0, update_ = 0;
  std::vector<Stage> stages_;
  // Values by stage and micro-batch: the input, what forward saves, the gradient of the output.
  std::vector<std::vector<uint32_t>> h_, saved_, gradient_;
};

// Pair: two gpus that each have a compute and a comm lane; most samples start with it.
struct Pair {
  explicit Pair(uint32_t inflight, bool overlap = true) : synced(plan, inflight) {
    take = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    give = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    for (uint32_t k = 0; k < 2; ++k) {
      device[k] = plan.Device(DeviceKind::gpu, k);
      compute[k] = plan.Lane(device[k], LaneKind::compute);
      comm[k] = overlap ? plan.Lane(device[k], LaneKind::comm) : compute[k];
    }
    kernel = plan.Kernel("scale");
  }
  std::vector<uint32_t> Lanes() const {
    return comm[0] == compute[0]
               ? std::vector<uint32_t>{take, give, compute[0], compute[1]}
               : std::vector<uint32_t>{take, give, compute[0], comm[0], compute[1], comm[1]};
  }
  GraphBuilder& g() { return synced.graph(); }
  uint32_t Value(const std::string& name, int k) {
    return g().Value(name, device[k], DType::f32, kRow);
  }

  PlanBuilder plan;
  Synced synced;
  uint32_t take, give, kernel;
  uint32_t device[2], compute[2], comm[2];
};

// A plan in which both directions are one group on each side, so that neither waits for the other.
std::unique_ptr<Plan> ExchangePlan() {
  Pair pair(2);
  GraphBuilder& g = pair.g();
  const uint32_t x = g.Input("x", DType::f32, kRow);
  const uint32_t forth = g.Channel(pair.comm[0], pair.comm[1]);
  const uint32_t back = g.Channel(pair.comm[1], pair.comm[0]);
  pair.synced.BeginLanes(pair.Lanes());
  pair.synced.Take(pair.take, x);
  uint32_t own[2], other[2];
  for (int k = 0; k < 2; ++k) {
    own[k] = pair.Value("own", k);
    other[k] = pair.Value("other", k);
    pair.synced.Call(pair.compute[k], pair.kernel, {x}, {own[k]}, 5);
    pair.synced.Reads(pair.comm[k], {own[k]});
  }
  const auto first = g.Send(forth, {own[0]}, 0);
  g.Group(first, Part::recv, back, {}, {other[0]}, 1);
  const auto second = g.Send(back, {own[1]}, 1);
  g.Group(second, Part::recv, forth, {}, {other[1]}, 0);
  g.At(second).mutate_program_order(g.At(first).program_order());
  for (int k = 0; k < 2; ++k) {
    pair.synced.Wrote(pair.comm[k], {other[k]});
    const uint32_t y = g.Output("y" + std::to_string(k), DType::f32, kRow);
    pair.synced.Call(pair.compute[k], pair.kernel, {other[k]}, {y}, 5);
    pair.synced.Give(pair.give, y);
  }
  pair.synced.EndLanes();
  return pair.plan.Build();
}

// A sum over both devices, then a send over the same lanes, then a broadcast back.
std::unique_ptr<Plan> CollectivePlan() {
  Pair pair(2);
  GraphBuilder& g = pair.g();
  const uint32_t x = g.Input("x", DType::f32, kRow);
  const uint32_t y = g.Output("y", DType::f32, kRow);
  const uint32_t world = pair.plan.Communicator({pair.comm[0], pair.comm[1]});
  const uint32_t sum = g.Collective("all_reduce", world, "sum");
  const uint32_t spread = g.Collective("broadcast", world, "", 1);
  const uint32_t channel = g.Channel(pair.comm[0], pair.comm[1], 0, TransportKind::nccl, world);
  pair.synced.BeginLanes(pair.Lanes());
  pair.synced.Take(pair.take, x);
  uint32_t own[2], total[2], root[2];
  for (int k = 0; k < 2; ++k) {
    own[k] = pair.Value("own", k);
    total[k] = pair.Value("total", k);
    root[k] = pair.Value("root", k);
    pair.synced.Call(pair.compute[k], pair.kernel, {x}, {own[k]}, 5);
    pair.synced.Reads(pair.comm[k], {own[k]});
  }
  for (int k = 0; k < 2; ++k) {
    g.Part(pair.comm[k], sum, {own[k]}, {total[k]});
    pair.synced.Wrote(pair.comm[k], {total[k]});
  }
  const uint32_t moved = pair.Value("moved", 1);
  pair.synced.Transfer(channel, total[0], moved);
  const uint32_t mixed = pair.Value("mixed", 1);
  pair.synced.Call(pair.compute[1], pair.kernel, {moved, total[1]}, {mixed}, 5);
  pair.synced.Reads(pair.comm[1], {mixed});
  g.Part(pair.comm[0], spread, {}, {root[0]});
  g.Part(pair.comm[1], spread, {mixed}, {root[1]});
  pair.synced.Wrote(pair.comm[0], {root[0]});
  pair.synced.Call(pair.compute[0], pair.kernel, {root[0]}, {y}, 5);
  pair.synced.Give(pair.give, y);
  pair.synced.EndLanes();
  return pair.plan.Build();
}

// Device 1 works for the execution before the one that device 0 works for: the value is sent one
// round after it was made.
std::unique_ptr<Plan> LagPlan(uint16_t lag) {
  Pair pair(lag + 1u, false);
  GraphBuilder& g = pair.g();
  const auto copies = static_cast<uint16_t>(lag + 1);
  const uint32_t x = g.Input("x", DType::f32, kRow);
  const uint32_t y = g.Output("y", DType::f32, kRow);
  const uint32_t made = pair.Value("made", 0);
  const uint32_t used = pair.Value("used", 1);
  const uint32_t taken_in = g.Event(), sent = g.Event(), done = g.Event();
  const uint32_t channel = g.Channel(pair.compute[0], pair.compute[1]);
  g.Take(pair.take, x);
  g.Signal(pair.take, taken_in);
  g.Wait(pair.compute[0], sent, copies);  // by the receive of `copies` rounds before
  g.Wait(pair.compute[0], taken_in);
  g.Call(pair.compute[0], pair.kernel, {x}, {made});
  g.Send(channel, {made}, 0);
  g.Lag(lag);
  g.Receive(channel, {used}, 0);
  g.Lag(lag);
  g.Signal(pair.compute[1], sent);
  g.Call(pair.compute[1], pair.kernel, {used}, {y});
  g.Lag(lag);
  g.Signal(pair.compute[1], done);
  g.Wait(pair.give, done);
  g.Give(pair.give, y);
  g.Lag(lag);
  return pair.plan.Build();
}

// A chain on one device with two lanes, its middle part captured.
std::unique_ptr<Plan> CapturePlan() {
  PlanBuilder plan;
  const uint32_t take = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
  const uint32_t give = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
  const uint32_t device = plan.Device(DeviceKind::gpu, 0);
  const uint32_t lane = plan.Lane(device, LaneKind::compute);
  const uint32_t side = plan.Lane(device, LaneKind::compute);
  const uint32_t kernel = plan.Kernel("scale");
  Synced synced(plan, 2);
  GraphBuilder& g = synced.graph();
  const uint32_t x = g.Input("x", DType::f32, kRow);
  const uint32_t y = g.Output("y", DType::f32, kRow);
  const auto value = [&](const char* name) { return g.Value(name, device, DType::f32, kRow); };
  const uint32_t a = value("a"), b = value("b"), c = value("c");
  synced.BeginLanes({take, give, lane, side});
  synced.Take(take, x);
  synced.Call(lane, kernel, {x}, {a}, 3);
  const auto before = g.Last();
  synced.Call(side, kernel, {a}, {b}, 4);
  synced.Call(lane, kernel, {a}, {c}, 5);
  synced.Call(lane, kernel, {b, c}, {y}, 6);
  for (auto handle = before + 1; handle <= g.Last(); ++handle) {
    g.At(handle).mutate_capture_id(1);
  }
  synced.Give(give, y);
  synced.EndLanes();
  return plan.Build();
}

// A bounded batch: the extent goes ahead of the rows, to every device that reads it.
std::unique_ptr<Plan> ExtentPlan() {
  Pair pair(2);
  GraphBuilder& g = pair.g();
  const uint32_t n = g.Symbol("n", 8);
  const Dims rows = {{8, n}, 4};
  const uint32_t x = g.Input("x", DType::f32, rows);
  const uint32_t y = g.Output("y", DType::f32, rows);
  const uint32_t n_host = g.Extent(n, PlanBuilder::kCaller);
  const uint32_t n_first = g.Extent(n, pair.device[0]);
  const uint32_t n_second = g.Extent(n, pair.device[1]);
  const uint32_t hidden = g.Value("hidden", pair.device[0], DType::f32, rows);
  const uint32_t moved = g.Value("moved", pair.device[1], DType::f32, rows);
  const uint32_t channel = g.Channel(pair.comm[0], pair.comm[1]);
  pair.synced.BeginLanes(pair.Lanes());
  pair.synced.Take(pair.take, x, {n_host});
  pair.synced.Reads(pair.compute[0], {n_host});
  g.Copy(pair.compute[0], n_host, n_first);
  pair.synced.Call(pair.compute[0], pair.kernel, {x}, {hidden}, 5);
  pair.synced.Wrote(pair.compute[0], {n_first});
  pair.synced.Transfer(channel, n_first, n_second);
  pair.synced.Transfer(channel, hidden, moved);
  pair.synced.Call(pair.compute[1], pair.kernel, {moved}, {y}, 5);
  pair.synced.Give(pair.give, y);
  pair.synced.EndLanes();
  return pair.plan.Build();
}

}  // namespace

std::unique_ptr<Plan> PipelinePlan(const PipelineOptions& options) {
  return Pipeline(options).Build();
}

std::unique_ptr<Plan> TwoWayPlan(bool swapped) {
  Pair pair(2, false);
  GraphBuilder& g = pair.g();
  const uint32_t x = g.Input("x", DType::f32, kRow);
  const uint32_t channels[2] = {g.Channel(pair.compute[0], pair.compute[1]),
                                g.Channel(pair.compute[1], pair.compute[0])};
  pair.synced.BeginLanes(pair.Lanes());
  pair.synced.Take(pair.take, x);
  uint32_t own[2], other[2];
  for (int k = 0; k < 2; ++k) {
    own[k] = pair.Value("own", k);
    other[k] = pair.Value("other", k);
    pair.synced.Call(pair.compute[k], pair.kernel, {x}, {own[k]}, 5);
  }
  if (swapped) {
    for (int k = 0; k < 2; ++k) {
      g.Send(channels[k], {own[k]}, k);
    }
    for (int k = 0; k < 2; ++k) {
      g.Receive(channels[1 - k], {other[k]}, 1 - k);
    }
  } else {
    g.Transfer(channels[0], own[0], other[1]);
    g.Transfer(channels[1], own[1], other[0]);
  }
  for (int k = 0; k < 2; ++k) {
    pair.synced.Wrote(pair.compute[k], {other[k]});
    const uint32_t y = g.Output("y" + std::to_string(k), DType::f32, kRow);
    pair.synced.Call(pair.compute[k], pair.kernel, {other[k]}, {y}, 5);
    pair.synced.Give(pair.give, y);
  }
  pair.synced.EndLanes();
  return pair.plan.Build();
}

std::vector<SamplePlan> SamplePlans() {
  std::vector<SamplePlan> plans;
  const auto add = [&](const std::string& name, std::unique_ptr<Plan> plan) {
    plans.push_back({name, std::move(plan)});
  };
  add("two_way", TwoWayPlan());
  add("exchange", ExchangePlan());
  add("collective", CollectivePlan());
  add("lag_0", LagPlan(0));
  add("lag_1", LagPlan(1));
  add("lag_2", LagPlan(2));
  add("capture", CapturePlan());
  add("extent", ExtentPlan());
  add("pipeline_2x2", PipelinePlan({.stages = 2, .micro_batches = 2, .inflight = 2}));
  add("pipeline_2x3_one_lane",
      PipelinePlan({.stages = 2, .micro_batches = 3, .inflight = 1, .overlap = false}));
  add("pipeline_2x3_buffered",
      PipelinePlan({.stages = 2, .micro_batches = 3, .inflight = 2, .capacity = 1}));
  add("pipeline_3x4", PipelinePlan({.stages = 3, .micro_batches = 4, .inflight = 2}));
  return plans;
}

std::unique_ptr<Plan> ProducerConsumerPlan(uint32_t capacity, uint32_t messages,
                                           uint64_t produce, uint64_t move, uint64_t consume) {
  PlanBuilder plan;
  const uint32_t first = plan.Device(DeviceKind::gpu, 0);
  const uint32_t second = plan.Device(DeviceKind::gpu, 1);
  const uint32_t from = plan.Lane(first, LaneKind::compute);
  const uint32_t to = plan.Lane(second, LaneKind::compute);
  const uint32_t kernel = plan.Kernel("work");
  GraphBuilder& g = plan.Graph("main");
  const uint32_t channel = g.Channel(from, to, capacity);
  for (uint32_t j = 0; j < messages; ++j) {
    const uint32_t sent = g.Value("sent", first, DType::f32, {4});
    const uint32_t received = g.Value("received", second, DType::f32, {4});
    const uint32_t used = g.Value("used", second, DType::f32, {4});
    g.At(g.Call(from, kernel, {}, {sent})).mutate_expected(produce);
    g.At(g.Send(channel, {sent}, j)).mutate_expected(move);
    g.At(g.Receive(channel, {received}, j)).mutate_expected(move);
    g.At(g.Call(to, kernel, {received}, {used})).mutate_expected(consume);
  }
  return plan.Build();
}

}  // namespace cgraph::plan::testing
