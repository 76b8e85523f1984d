#include "runtime/load/kernels.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/base/kinds/native.h"
#include "runtime/base/text.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

void AppendType(std::string& key, const device::OperandType& type) {
  key.append(reinterpret_cast<const char*>(&type.dtype), sizeof(type.dtype));
  key.append(reinterpret_cast<const char*>(&type.rank), sizeof(type.rank));
  key.append(reinterpret_cast<const char*>(type.dims), sizeof(int64_t) * type.rank);
  key.append(reinterpret_cast<const char*>(type.dynamic), type.rank);
}

}  // namespace

device::OperandType OperandTypeOf(const plan::Graph& graph, uint32_t value) {
  const plan::Value& v = graph.values[value];
  device::OperandType type;
  type.dtype = v.dtype();
  type.rank = v.rank();
  for (int i = 0; i < type.rank; ++i) {
    type.dims[i] = graph.dims[v.first_dim() + i].extent();
    type.dynamic[i] = graph.dims[v.first_dim() + i].symbol() != plan::kNone;
  }
  const plan::Buffer& buffer = graph.buffers[v.buffer()];
  type.in_state = graph.arenas[buffer.arena()].space() == plan::Space::state;
  return type;
}

Status Kernels::ImportModules(const std::function<bool(uint32_t lane)>& is_here) {
  std::vector<const plan::Graph*> graphs;
  for (const auto& graph : plan_->graphs) graphs.push_back(graph.get());
  if (plan_->start != nullptr) graphs.push_back(plan_->start.get());
  for (const plan::Graph* graph : graphs) {
    for (uint32_t lane = 0; lane < graph->programs.size(); ++lane) {
      if (!is_here(lane)) continue;
      CGRAPH_RETURN_IF_ERROR(ImportModules(*graph, graph->programs[lane]));
    }
  }
  return Status::Ok();
}

Status Kernels::ImportModules(const plan::Graph& graph, plan::Range program) {
  for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
    const plan::Instruction& at = graph.instructions[i];
    if (at.kind() != plan::Kind::call) continue;
    const plan::Kernel& kernel = *plan_->kernels[at.subject()];
    if (kernel.library != kPythonLibrary) continue;
    const Status status = native::ImportModulesOf(kernel, native_);
    if (!status.ok()) return OfCall(graph, at, status);
  }
  return Status::Ok();
}

Result<device::Executable*> Kernels::For(const plan::Graph& graph, uint32_t instruction,
                                         uint32_t device) {
  const plan::Instruction& at = graph.instructions[instruction];
  std::vector<device::OperandType> types;
  std::string key = fmt::format("{} {} {} {}:", static_cast<int>(at.kind()), at.subject(), device,
                                at.inputs());
  for (uint32_t o = at.first(); o < at.first() + at.inputs() + at.outputs(); ++o) {
    types.push_back(OperandTypeOf(graph, graph.operands[o]));
    AppendType(key, types.back());
    if (o >= at.first() + at.inputs()) key.push_back(types.back().in_state ? 's' : '-');
  }
  const uint32_t actor = at.call() == plan::kNone ? plan::kNone : graph.calls[at.call()].place();
  const std::string place = actor == plan::kNone ? "" : plan_->actors[actor]->name;
  const bool native = at.kind() == plan::Kind::call &&
                      !plan_->kernels[at.subject()]->library.empty() &&
                      !(*devices_)[device]->traits().host_reaches_memory;
  if (native) key += place;  // its object is not among the operands
  if (auto found = made_.find(key); found != made_.end()) return found->second;
  if (at.kind() == plan::Kind::call && native::MakesObject(*plan_->kernels[at.subject()]) &&
      &graph != plan_->start.get()) {
    return Status(StatusCode::kInvalid, "objects of native code are made by the start graph alone");
  }
  auto made = Make(at, device, place, types);
  if (!made.ok()) {
    Status status = made.status();
    if (at.kind() == plan::Kind::load) {
      status = Status(status.code(), status.message() + AlsoLoadedBy(graph, at));
    }
    return OfCall(graph, at, status);
  }
  return Keep(std::move(made), key);
}

Status Kernels::OfCall(const plan::Graph& graph, const plan::Instruction& at,
                       const Status& status) const {
  if (at.call() == plan::kNone) return status;
  const std::string site = plan::SiteText(*plan_, graph.calls[at.call()].site());
  return Status(status.code(),
                fmt::format("{}{}: {}", plan::CallName(*plan_, graph, at.call()),
                            site.empty() ? "" : " (" + site + ")", status.message()));
}

std::string Kernels::AlsoLoadedBy(const plan::Graph& graph, const plan::Instruction& load) {
  const plan::WeightFile& slice = *plan_->weights[load.subject()];
  const bool has_file = weights_.Open(slice).ok();
  std::set<uint32_t> calls;
  for (const plan::Instruction& at : graph.instructions) {
    if (at.kind() != plan::Kind::load || at.call() == plan::kNone || at.call() == load.call()) {
      continue;
    }
    const plan::WeightFile& other = *plan_->weights[at.subject()];
    if (other.name != slice.name || (has_file && other.tensor != slice.tensor)) continue;
    // Of a checkpoint in several files one may be there.
    if (has_file || !weights_.Open(other).ok()) calls.insert(at.call());
  }
  if (calls.empty()) return "";
  const std::string site = plan::SiteText(*plan_, graph.calls[*calls.begin()].site());
  return fmt::format("; {}{} is also loaded by {}{}{}",
                     has_file ? fmt::format("`{}` of ", slice.tensor) : "", slice.name,
                     plan::CallName(*plan_, graph, *calls.begin()),
                     site.empty() ? "" : " (" + site + ")",
                     calls.size() == 1
                         ? ""
                         : " and " + Counted(calls.size() - 1, "other state"));
}

Result<std::unique_ptr<device::Executable>> Kernels::Make(
    const plan::Instruction& at, uint32_t device, const std::string& place,
    std::span<const device::OperandType> types) {
  if (at.kind() == plan::Kind::load) {
    auto source = weights_.SourceOf(at.subject(), *plan_->weights[at.subject()], types.back());
    if (!source.ok()) return source.status();
    return (*devices_)[device]->MakeUpload(std::move(*source));
  }
  const plan::Kernel& kernel = *plan_->kernels[at.subject()];
  most_scratch_ = std::max(most_scratch_, kernel.scratch);
  if (!kernel.library.empty()) {
    return MakeNative(kernel, device, place, types.first(at.inputs()), types.subspan(at.inputs()));
  }
  return (*devices_)[device]->MakeKernel(kernel, types.first(at.inputs()),
                                         types.subspan(at.inputs()));
}

Result<std::unique_ptr<device::Executable>> Kernels::MakeNative(
    const plan::Kernel& kernel, uint32_t number, const std::string& place,
    std::span<const device::OperandType> inputs, std::span<const device::OperandType> outputs) {
  device::Device& device = *(*devices_)[number];
  if (device.traits().host_reaches_memory) {
    auto made = native::MakeKernel(kernel, inputs, outputs, native_);
    if (!made.ok()) return made.status();
    return std::unique_ptr<device::Executable>(std::move(*made));
  }
  device::ForeignCode* const foreign = device.foreign_code();
  if (foreign == nullptr) {
    return Status(StatusCode::kUnsupported, "code of others gives this device's queues no work");
  }
  auto made = native::MakeQueueCode(
      kernel, inputs, outputs, place, [foreign] { return foreign->MakeCurrent(); }, native_);
  if (!made.ok()) return made.status();
  return foreign->MakeQueueCode(std::move(*made));
}

Result<device::Executable*> Kernels::Keep(Result<std::unique_ptr<device::Executable>> kernel,
                                          const std::string& key) {
  if (!kernel.ok()) return kernel.status();
  owned_.push_back(std::move(*kernel));
  made_[key] = owned_.back().get();
  return owned_.back().get();
}

}  // namespace cgraph::engine
