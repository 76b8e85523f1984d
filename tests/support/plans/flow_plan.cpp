#include "tests/support/plans/flow_plan.h"

#include <cstring>

namespace cgraph::plan::testing {

FlowPlan::FlowPlan(uint32_t devices) {
  take_ = plan_.Lane(PlanBuilder::kCaller, LaneKind::host);
  give_ = plan_.Lane(PlanBuilder::kCaller, LaneKind::host);
  for (uint32_t d = 0; d < devices; ++d) {
    devices_.push_back(plan_.Device(DeviceKind::gpu, d));
    compute_.push_back(plan_.Lane(devices_[d], LaneKind::compute));
    comm_.push_back(plan_.Lane(devices_[d], LaneKind::comm));
    actors_.push_back(plan_.Actor("a" + std::to_string(d), devices_[d], {{"i", 1}}));
  }
  plan_.plan().workers = devices + 1;
  for (LaneInfo& lane : plan_.plan().lanes) lane.mutate_worker(lane.device());
}

uint32_t FlowPlan::Kernel(const std::string& name) {
  auto [at, added] = kernels_.try_emplace(name, 0);
  if (added) at->second = plan_.Kernel(name);
  return at->second;
}

uint32_t FlowPlan::Check(const std::string& message) {
  const uint32_t kernel = plan_.Kernel("check", {.fails = true});
  auto attribute = std::make_unique<Attribute>();
  attribute->name = "message";
  attribute->text = message;
  plan_.plan().kernels[kernel]->body[0]->attributes.push_back(std::move(attribute));
  return kernel;
}

// Begins a graph. Every lane of execution e waits for all lanes of execution e - inflight: then
// slots are free. That execution ends `most_lag` rounds after it has begun.
void FlowPlan::Begin(const std::string& name, uint32_t inflight, uint16_t most_lag) {
  End();
  lag_ = 0;
  graph_ = &plan_.Graph(name, inflight);
  std::vector<uint32_t> lanes = {take_, give_};
  lanes.insert(lanes.end(), compute_.begin(), compute_.end());
  lanes.insert(lanes.end(), comm_.begin(), comm_.end());
  for (uint32_t from : lanes) {
    ends_[from] = graph_->Event();
    for (uint32_t to : lanes) {
      if (from != to) graph_->Wait(to, ends_[from], static_cast<uint16_t>(inflight - most_lag));
    }
  }
}

void FlowPlan::End() {
  if (graph_ == nullptr) return;
  graph_->NoMethod();
  for (const auto& [name, value, lag] : gives_) {
    lag_ = lag;
    const plan::Value v = graph_->graph().values[value];
    Dims dims;
    for (uint32_t d = v.first_dim(); d < v.first_dim() + v.rank(); ++d) {
      const Dim& dim = graph_->graph().dims[d];
      dims.emplace_back(dim.extent(), dim.symbol());
    }
    const uint32_t output = graph_->Output(name, v.dtype(), dims);
    Reads(give_, value);
    graph_->Copy(give_, value, output);
    graph_->Lag(lag_);
    graph_->Give(give_, output);
    graph_->Lag(lag_);
  }
  for (const auto& [lane, event] : ends_) graph_->Signal(lane, event);
  gives_.clear();
  written_.clear();
  ends_.clear();
  channels_.clear();
}

std::unique_ptr<Plan> FlowPlan::Build() {
  End();
  return plan_.Build();
}

uint32_t FlowPlan::Input(const std::string& name, DType dtype, const Dims& dims) {
  const uint32_t value = graph_->Input(name, dtype, dims);
  graph_->NoMethod();
  graph_->Take(take_, value);
  Wrote(take_, {value});
  return value;
}

uint32_t FlowPlan::Scalar(const std::string& name, uint32_t device, DType dtype) {
  return graph_->Value(name, devices_[device], dtype, {});
}

uint32_t FlowPlan::Tensor(const std::string& name, uint32_t device, DType dtype,
                          const Dims& dims) {
  return graph_->Value(name, devices_[device], dtype, dims);
}

uint32_t FlowPlan::Constant(uint32_t device, int64_t number) {
  std::vector<uint8_t> bytes(sizeof(number));
  std::memcpy(bytes.data(), &number, sizeof(number));
  return graph_->Constant("constant", devices_[device], DType::i64, {}, bytes);
}

uint32_t FlowPlan::State(uint32_t device) { return graph_->State(actors_[device], 0); }

void FlowPlan::Method(uint32_t device, const std::string& method, uint32_t line) {
  graph_->Method(actors_[device], method, line);
}

void FlowPlan::Call(uint32_t device, uint32_t kernel, const std::vector<uint32_t>& inputs,
                    const std::vector<uint32_t>& outputs, uint8_t flags) {
  for (uint32_t value : inputs) Reads(compute_[device], value);
  graph_->Call(compute_[device], kernel, inputs, outputs);
  graph_->Lag(lag_);
  Instruction& call = graph_->At(graph_->Last());
  call.mutate_flags(call.flags() | flags);
  Wrote(compute_[device], outputs);
}

uint32_t FlowPlan::Transfer(uint32_t value, uint32_t from, uint32_t to, uint32_t capacity) {
  const plan::Value v = graph_->graph().values[value];
  Dims dims;
  for (uint32_t d = v.first_dim(); d < v.first_dim() + v.rank(); ++d) {
    const Dim& dim = graph_->graph().dims[d];
    dims.emplace_back(dim.extent(), dim.symbol());
  }
  auto [channel, added] = channels_.try_emplace({from, to, capacity}, 0);
  if (added) {
    channel->second = graph_->Channel(comm_[from], comm_[to], capacity,
                                      capacity == 0 ? TransportKind::local : TransportKind::shm);
  }
  const uint32_t received = graph_->Value("moved", devices_[to], v.dtype(), dims);
  Reads(comm_[from], value);
  const GraphBuilder::Handle send = graph_->Transfer(channel->second, value, received);
  graph_->At(send).mutate_lag(lag_);
  graph_->At(send + 1).mutate_lag(lag_);
  Wrote(comm_[to], {received});
  return received;
}

void FlowPlan::Give(const std::string& name, uint32_t value) {
  gives_.push_back({name, value, lag_});
}

void FlowPlan::Reads(uint32_t lane, uint32_t value) {
  const auto program_order = written_.find(value);
  if (program_order == written_.end() || program_order->second.lane == lane) return;
  const auto back = static_cast<uint16_t>(lag_ - program_order->second.lag);
  const auto [seen, added] = program_order->second.seen_by.try_emplace(lane, back);
  if (!added && seen->second <= back) return;
  seen->second = back;
  graph_->Wait(lane, program_order->second.event, back);
}

void FlowPlan::Wrote(uint32_t lane, const std::vector<uint32_t>& values) {
  const uint32_t event = graph_->Event();
  graph_->Signal(lane, event);
  for (uint32_t value : values) written_[value] = {lane, event, lag_, {}};
}

}  // namespace cgraph::plan::testing
