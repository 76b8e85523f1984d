#include "runtime/load/prepare.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "runtime/base/wait_point.h"
#include "runtime/load/communication/comm_steps.h"
#include "runtime/load/communication/communications.h"
#include "runtime/load/frames.h"
#include "runtime/load/objects/object_order.h"
#include "runtime/load/on_gpus.h"
#include "runtime/load/poison/native_calls.h"
#include "runtime/load/poison/poison.h"
#include "runtime/load/reach.h"
#include "runtime/load/sync/instructions_with_work.h"
#include "runtime/load/sync/sync.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

using plan::Kind;

class Preparer {
 public:
  Preparer(const Preparation& preparation, uint32_t index, LoadedGraph& graph)
      : p_(preparation),
        loaded_(preparation.loaded),
        number_(index),
        out_(graph),
        graph_(*graph.plan),
        index_(*preparation.loaded.plan, graph_),
        operands_(index_) {
    index_.IndexMessages();
    DescribePorts(graph_, out_);
    for (size_t port = 0; port < out_.inputs.size(); ++port) {
      const uint32_t value = graph_.inputs[port]->value;
      out_.inputs[port].device = &loaded_.arenas->DeviceOf(number_, value);
      out_.inputs[port].block = &loaded_.arenas->BlockOf(number_, value);
      out_.inputs[port].host_visible = out_.inputs[port].block->host_visible();
    }
  }

  Status Prepare() {
    CGRAPH_RETURN_IF_ERROR(CheckInputs());
    FindInputsOfGpus(index_, loaded_.devices, out_);
    if (p_.results_on_gpus) KeepResultsOnGpus(index_, loaded_.devices, out_);
    auto poison_flags = FindPoisonFlags(index_);
    if (!poison_flags.ok()) return poison_flags.status();
    poison_flags_ = std::move(*poison_flags);
    out_.poison_flags = poison_flags_.count;
    FindUnannounced();
    OrderWorkQueues();
    has_work_ = FindInstructionsWithWork(index_, p_.proved ? out_.depth : kNoDepth);
    needs_ = p_.proved ? FindSyncNeeds({&graph_, &queues_, &queue_of_, &has_work_, out_.depth})
                       : KeepAllSync(graph_);
    OmitKeptWait(number_, needs_.wait);
    native_calls_ = FindNativeCalls(index_, loaded_.devices, poison_flags_);
    objects_.first_event = graph_.events + native_calls_.late;
    auto events = device::SemaphoreArray::Make(Host(), objects_.first_event + objects_.events,
                                               fmt::format("the events of `{}`", graph_.name));
    if (!events.ok()) return events.status();
    out_.events = std::move(*events);
    FindHostSignals();
    auto communications = MakeCommunications(p_, index_, out_);
    if (!communications.ok()) return communications.status();
    made_ = std::move(*communications);
    out_.programs.resize(work_queues_.size());
    for (work_queue_ = 0; work_queue_ < work_queues_.size(); ++work_queue_) {
      if (!IsPrepared(work_queue_)) continue;
      CGRAPH_RETURN_IF_ERROR(MakeProgram(out_.programs[work_queue_]));
      if (out_.programs[work_queue_].steps.empty()) continue;
      out_.participants.push_back(work_queue_);
      out_.first_failures.push_back(FirstFailure());
    }
    CGRAPH_RETURN_IF_ERROR(
        operands_.Fill(*loaded_.arenas, Host(), *loaded_.heap, loaded_.view, number_, out_));
    return TellDevices();
  }

 private:
  device::Device& Host() const { return *loaded_.devices.front(); }  // of the caller

  void FindUnannounced() {
    for (uint32_t flag = 0; flag < poison_flags_.count; ++flag) {
      const uint32_t setter = poison_flags_.setters[flag];
      if (!poison_flags_.may_fail[flag] || setter == plan::kNone) continue;
      out_.flags_unannounced |= !loaded_.devices[setter]->traits().immediate;
    }
  }

  // Returns LoadedGraph::first_failures of the work queue.
  uint32_t FirstFailure() const {
    const std::vector<bool> given = GivenSymbols(graph_);
    uint32_t first = plan::kNone;
    for (const uint32_t i : work_queues_[work_queue_]) {
      if (!MayReportError(index_, given, i)) continue;
      first = std::min(first, graph_.instructions[i].program_order());
    }
    return first;
  }

  Status TellDevices() const {
    device::GraphLayout layout;
    layout.graph = number_;
    layout.setters = poison_flags_.setters;
    layout.may_fail = &poison_flags_.may_fail;
    for (const Frame& frame : out_.frames) layout.frames.push_back(&frame.bindings);
    for (const StepList& program : out_.programs) {
      layout.checks.push_back(program.checks);
      layout.steps = std::max(layout.steps, static_cast<uint32_t>(program.steps.size()));
    }
    for (uint32_t device = 0; device < loaded_.devices.size(); ++device) {
      layout.device = device;
      CGRAPH_RETURN_IF_ERROR(loaded_.devices[device]->AddGraph(layout));
    }
    return Status::Ok();
  }

  // Returns whether this process has steps of a work queue. Rank 0 has those of all ranks, by whose
  // numbers they tell it where they are. Ranks of one machine have them, since they take the same
  // memory.
  bool IsPrepared(uint32_t work_queue) const {
    return p_.links == nullptr || loaded_.rank == 0 || loaded_.HasWorkQueue(work_queue);
  }
  // Returns whether steps of a work queue have operands: not those that another machine runs.
  bool HasOperands(uint32_t work_queue) const {
    return p_.links == nullptr || loaded_.HasWorkQueue(work_queue);
  }

  // Finds the events that the host signals: those of lanes that work queues carry out.
  void FindHostSignals() {
    host_signals_.assign(graph_.events, false);
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const plan::Instruction& at = graph_.instructions[i];
      if (at.kind() == Kind::signal) host_signals_[at.subject()] = SlotOf(i) == 0;
    }
  }

  void OrderWorkQueues() {
    work_queues_ = plan::WorkQueuesOf(loaded_.placement, graph_);
    if (&graph_ == loaded_.plan->start.get()) {
      objects_ =
          OrderObjects(*loaded_.plan, loaded_.placement, loaded_.rank_of_worker, work_queues_);
    }
    queues_ = SplitByQueue(loaded_.queue_map, graph_, work_queues_);
    queue_of_.resize(graph_.instructions.size());
    for (uint32_t queue = 0; queue < queues_.size(); ++queue) {
      for (uint32_t instruction : queues_[queue]) queue_of_[instruction] = queue;
    }
  }

  EventCount* EventCountOf(uint32_t lane) const {
    return loaded_.queue_map.OfLane(lane).event_count;
  }
  const device::Device& DeviceOf(uint32_t instruction) const {
    return *loaded_.devices[index_.device(instruction)];
  }
  uint32_t SlotOf(uint32_t instruction) const {
    return loaded_.queue_map.queues[queue_of_[instruction]].slot;
  }

  Status MakeProgram(StepList& program) {
    segment_of_.clear();
    const std::vector<uint32_t>& list = work_queues_[work_queue_];
    const CommSource comms{p_,    number_,   index_,    poison_flags_,
                           made_, queue_of_, operands_, out_};
    for (size_t i = 0; i < list.size(); ++i) {
      const plan::Instruction& at = graph_.instructions[list[i]];
      if (at.kind() == Kind::comm) {
        const size_t end = plan::StepEnd(loaded_.placement, graph_, list, i);
        AddCommSteps(comms, HasOperands(work_queue_),
                     {list.begin() + i, list.begin() + end}, program);
        i = end - 1;
      } else if (at.kind() == Kind::wait) {
        AddWaits(program, list[i]);
      } else if (at.kind() == Kind::signal) {
        AddSignal(program, list[i]);
      } else if (has_work_[list[i]]) {
        CGRAPH_RETURN_IF_ERROR(AddWork(program, list[i]));
      } else if (at.kind() == Kind::input && at.outputs() > 1) {
        CGRAPH_RETURN_IF_ERROR(AddGivenExtents(list[i]));
      }
    }
    if (!p_.profile) return Status::Ok();
    auto timings = loaded_.heap->Make<Timing>(program.steps.size(), "times of calls");
    if (timings.ok()) program.timings = *timings;
    return timings.status();
  }

  void AddWaits(StepList& program, uint32_t instruction) {
    const plan::Instruction& at = graph_.instructions[instruction];
    for (uint32_t w = at.first(); w < at.first() + at.inputs(); ++w) {
      if (!needs_.wait[w]) continue;
      Step step;
      step.op = Op::kWait;
      step.instruction = instruction;
      const bool held = host_signals_[graph_.waits[w].event()] &&
                        !DeviceOf(instruction).traits().queues_host_waits;
      step.queue = held ? 0 : SlotOf(instruction);
      TimelineSemaphore& semaphore = out_.events[graph_.waits[w].event()];
      if (step.queue == 0) {
        step.word = semaphore.word();
      } else {
        step.semaphore = &semaphore;
      }
      step.rounds_back = graph_.waits[w].lag();
      semaphore.AddListener(EventCountOf(index_.lane(instruction)));
      program.steps.push_back(step);
    }
  }

  void AddSignal(StepList& program, uint32_t instruction) {
    const uint32_t event = graph_.instructions[instruction].subject();
    if (!needs_.signal[event]) return;
    Step step;
    step.op = Op::kSignal;
    step.instruction = instruction;
    step.queue = SlotOf(instruction);
    step.semaphore = &out_.events[event];
    program.steps.push_back(step);
  }

  // Refuses inputs that lie in memory of a GPU which another rank than the caller's serves.
  Status CheckInputs() const {
    for (const auto& input : graph_.inputs) {
      const uint32_t arena = graph_.buffers[graph_.values[input->value].buffer()].arena();
      const uint32_t device = graph_.arenas[arena].device();
      if (loaded_.view.IsHere(device) || loaded_.arenas->HasOneAddress(number_, input->value))
        continue;
      if (loaded_.rank != 0) continue;
      return Status(StatusCode::kUnsupported,
                    fmt::format("the input `{}` lies in memory of {}, which another process "
                                "serves; run in one process, without --processes",
                                input->name, plan::DeviceName(*loaded_.plan, device)));
    }
    return Status::Ok();
  }

  Status AddWork(StepList& program, uint32_t instruction) {
    const plan::Instruction& at = graph_.instructions[instruction];
    if (SlotOf(instruction) == 0) CGRAPH_RETURN_IF_ERROR(CheckReach(loaded_, index_, instruction));
    if (loaded_.view.exchange != nullptr) {
      CGRAPH_RETURN_IF_ERROR(CheckRanks(loaded_, index_, number_, instruction));
    }
    if (native_calls_.event[instruction] != plan::kNone) AwaitQueue(program, instruction);
    objects_.AddWait(instruction, out_.events, loaded_.queue_map.queues[work_queue_].event_count,
                     program);
    Step step;
    step.instruction = instruction;
    step.queue = SlotOf(instruction);
    step.lag = at.lag();
    step.inputs = at.inputs();
    step.outputs = at.outputs();
    step.poison_flag = poison_flags_.of_instruction[instruction];
    step.checks = program.AddChecks(poison_flags_.checks_of_instruction[instruction]);
    CGRAPH_RETURN_IF_ERROR(SetOp(program, step));
    // An input's own value is where Execute() put it.
    const uint32_t first = step.op == Op::kInput ? 1 : 0;
    step.extents.first = static_cast<uint32_t>(program.extents.size());
    step.operands = AddOperands(at.first() + first, at.inputs() + at.outputs() - first, instruction,
                                program.extents);
    step.extents.count = static_cast<uint32_t>(program.extents.size()) - step.extents.first;
    step.native = native_calls_.is[instruction];
    if (step.native) {
      CGRAPH_RETURN_IF_ERROR(
          CheckExtents(*loaded_.plan, graph_, instruction, program.Dims(step.extents)));
    }
    AddToSegment(program, step);
    program.steps.push_back(step);
    objects_.AddSignal(instruction, out_.events, program);
    return Status::Ok();
  }

  // Adds a wait of the work queue for what it has issued to the queue of a call of native code.
  void AwaitQueue(StepList& program, uint32_t instruction) {
    TimelineSemaphore& over = out_.events[graph_.events + native_calls_.event[instruction]];
    over.AddListener(EventCountOf(index_.lane(instruction)));
    Step step;
    step.op = Op::kSignal;
    step.instruction = instruction;
    step.queue = SlotOf(instruction);
    step.semaphore = &over;
    program.steps.push_back(step);
    step.op = Op::kWait;
    step.queue = 0;
    step.word = over.word();
    program.steps.push_back(step);
  }

  Slice AddOperands(uint32_t first, uint32_t count, uint32_t instruction,
                    std::vector<DynamicDim>& uses) {
    if (!HasOperands(work_queue_)) return {};
    return operands_.Add(first, count, instruction, uses);
  }

  // Sets what a step does, and what that refers to.
  Status SetOp(StepList& program, Step& step) {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    switch (at.kind()) {
      case Kind::copy: step.op = Op::kCopy; break;
      case Kind::input: step.op = Op::kInput; return AddSymbols(program, step);
      case Kind::output:
        step.op = Op::kOutput;
        step.subject = at.subject();
        step.into_output = !InOutput(graph_, graph_.operands[at.first()]);
        break;
      default: step.op = Op::kCall; return SetKernel(step);
    }
    return Status::Ok();
  }

  // Adds the extents of an input that submission makes, so that it is no step.
  Status AddGivenExtents(uint32_t input) {
    const plan::Instruction& at = graph_.instructions[input];
    StepList made;
    Step step;
    step.instruction = input;
    CGRAPH_RETURN_IF_ERROR(AddSymbols(made, step));
    const Slice tensors = AddOperands(at.first() + 1, at.outputs() - 1, input, made.extents);
    for (uint32_t i = 0; i < tensors.count; ++i) {
      out_.given_extents.push_back({made.symbols[i], tensors.first + i});
    }
    return Status::Ok();
  }

  // Adds the symbols whose extents an input makes.
  Status AddSymbols(StepList& program, Step& step) {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    step.subject = static_cast<uint32_t>(program.symbols.size());
    for (const InputPort::Dim& dim : out_.inputs[at.subject()].dims) {
      if (dim.first) program.symbols.push_back(dim.symbol);
    }
    const uint32_t extents = at.inputs() + at.outputs() - 1;
    if (program.symbols.size() - step.subject == extents) return Status::Ok();
    return Status(StatusCode::kInvalid,
                  "an input instruction has another number of extents than its port");
  }

  Status SetKernel(Step& step) {
    if (!loaded_.HasWorkQueue(work_queue_)) return Status::Ok();
    auto kernel = loaded_.kernels->For(graph_, step.instruction, index_.device(step.instruction));
    if (!kernel.ok()) return kernel.status();
    if (step.queue != 0) {
      step.executable = *kernel;
    } else {  // of an immediate device
      step.kernel = static_cast<device::Kernel*>(*kernel);
    }
    return Status::Ok();
  }

  // Adds a call that the plan lets be captured to its segment, unless it is native code, or its
  // operands or extents are others in each execution. (The compiler marks none of these, but a plan
  // is not trusted.) What is behind such a call is a segment of its own.
  void AddToSegment(StepList& program, Step& step) {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    const bool may = p_.capture && !p_.profile && step.op == Op::kCall && at.capture_id() != 0 &&
                     at.kind() == Kind::call && step.queue != 0 &&
                     loaded_.HasWorkQueue(work_queue_) &&
                     DeviceOf(step.instruction).traits().queues_record;
    const std::tuple key(at.capture_id(), step.queue, step.lag);
    if (!may || step.native || !IsFixed(program, step)) {
      segment_of_.erase(key);
      return;
    }
    const auto [segment, added] =
        segment_of_.try_emplace(key, static_cast<uint32_t>(program.segments.size()));
    if (added) program.segments.emplace_back();
    step.segment = segment->second + 1;
    program.segments[segment->second].steps.push_back(
        static_cast<uint32_t>(program.steps.size()));
  }

  bool IsFixed(const StepList& program, const Step& step) const {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    for (uint32_t o = at.first(); o < at.first() + at.inputs() + at.outputs(); ++o) {
      const plan::Value& value = graph_.values[graph_.operands[o]];
      const plan::Space space = graph_.arenas[graph_.buffers[value.buffer()].arena()].space();
      if (space == plan::Space::input || space == plan::Space::output) return false;
    }
    const std::span<const DynamicDim> dims = program.Dims(step.extents);
    return std::none_of(dims.begin(), dims.end(), [](const DynamicDim& dim) { return dim.given; });
  }

  const Preparation& p_;
  const LoadedPlan& loaded_;
  const uint32_t number_;
  LoadedGraph& out_;
  const plan::Graph& graph_;
  plan::GraphIndex index_;
  FrameOperands operands_;
  PoisonFlags poison_flags_;
  NativeCalls native_calls_;
  ObjectOrder objects_;
  std::vector<std::vector<uint32_t>> work_queues_;  // instructions
  std::vector<std::vector<uint32_t>> queues_;   // the same, by the queue that carries them out
  std::vector<uint32_t> queue_of_;              // per instruction
  std::vector<bool> has_work_;                  // per instruction: has a step of its own
  // (capture, queue, lag) -> segment of the program that is made
  std::map<std::tuple<uint32_t, uint32_t, uint16_t>, uint32_t> segment_of_;
  std::vector<bool> host_signals_;              // per event: the host signals it
  SyncNeeds needs_;
  Communications made_;
  uint32_t work_queue_ = 0;
};

}  // namespace

Status PrepareGraph(const Preparation& preparation, uint32_t index, LoadedGraph& graph) {
  return Preparer(preparation, index, graph).Prepare();
}

}  // namespace cgraph::engine
