#include "runtime/load/steps.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/load/support.h"
#include "runtime/plan/kinds.h"

namespace cgraph::engine {
namespace {

using plan::Kind;

// ProgramMaker: makes the program of one work queue.
class ProgramMaker {
 public:
  ProgramMaker(GraphPreparation& graph, uint32_t work_queue, StepList& program)
      : g_(graph),
        loaded_(graph.loaded),
        graph_(graph.graph),
        work_queue_(work_queue),
        program_(program) {}

  Status Make() {
    const std::vector<uint32_t>& list = g_.work_queues[work_queue_];
    for (size_t i = 0; i < list.size(); ++i) {
      const plan::Instruction& at = graph_.instructions[list[i]];
      if (at.kind() == Kind::comm) {
        const size_t end = plan::StepEnd(loaded_.placement, graph_, list, i);
        AddCommSteps(g_, work_queue_, {list.begin() + i, list.begin() + end}, program_);
        i = end - 1;
      } else if (at.kind() == Kind::wait) {
        AddWaits(list[i]);
      } else if (at.kind() == Kind::signal) {
        AddSignal(list[i]);
      } else if (g_.has_work[list[i]]) {
        CGRAPH_RETURN_IF_ERROR(AddWork(list[i]));
      } else if (at.kind() == Kind::input && at.outputs() > 1) {
        CGRAPH_RETURN_IF_ERROR(AddGivenExtents(list[i]));
      }
    }
    if (!g_.context.measures()) return Status::Ok();
    auto timings = loaded_.heap->Make<Timing>(program_.steps.size(), "times of calls");
    if (timings.ok()) program_.timings = *timings;
    return timings.status();
  }

 private:
  EventCount* EventCountOf(uint32_t lane) const {
    return loaded_.queue_map.OfLane(lane).event_count;
  }

  void AddWaits(uint32_t instruction) {
    const plan::Instruction& at = graph_.instructions[instruction];
    for (uint32_t w = at.first(); w < at.first() + at.inputs(); ++w) {
      if (!g_.needs.wait[w]) continue;
      Step step;
      step.op = Op::kWait;
      step.instruction = instruction;
      const bool held = g_.host_signals[graph_.waits[w].event()] &&
                        !g_.DeviceOf(instruction).traits().queues_host_waits;
      step.queue = held ? 0 : g_.SlotOf(instruction);
      TimelineSemaphore& semaphore = g_.out.events[graph_.waits[w].event()];
      if (step.queue == 0) {
        step.word = semaphore.word();
      } else {
        step.semaphore = &semaphore;
      }
      step.rounds_back = graph_.waits[w].lag();
      semaphore.AddListener(EventCountOf(g_.index.lane(instruction)));
      program_.steps.push_back(step);
    }
  }

  void AddSignal(uint32_t instruction) {
    const uint32_t event = graph_.instructions[instruction].subject();
    if (!g_.needs.signal[event]) return;
    Step step;
    step.op = Op::kSignal;
    step.instruction = instruction;
    step.queue = g_.SlotOf(instruction);
    step.semaphore = &g_.out.events[event];
    program_.steps.push_back(step);
  }

  Status AddWork(uint32_t instruction) {
    const plan::Instruction& at = graph_.instructions[instruction];
    if (g_.SlotOf(instruction) == 0) {
      CGRAPH_RETURN_IF_ERROR(CheckReach(loaded_, g_.index, instruction));
    }
    if (loaded_.view.exchange != nullptr) {
      CGRAPH_RETURN_IF_ERROR(CheckRanks(loaded_, g_.index, g_.out.index, instruction));
    }
    if (g_.native_calls.event[instruction] != plan::kNone) AwaitQueue(instruction);
    g_.objects.AddWait(instruction, g_.out.events,
                       loaded_.queue_map.queues[work_queue_].event_count, program_);
    Step step;
    step.instruction = instruction;
    step.queue = g_.SlotOf(instruction);
    step.lag = at.lag();
    step.inputs = at.inputs();
    step.outputs = at.outputs();
    step.poison_flag = g_.poison_flags.of_instruction[instruction];
    step.checks = program_.AddChecks(g_.poison_flags.checks_of_instruction[instruction]);
    CGRAPH_RETURN_IF_ERROR(SetOp(step));
    // An input's own value is where Execute() put it.
    const uint32_t first = step.op == Op::kInput ? 1 : 0;
    step.extents.first = static_cast<uint32_t>(program_.extents.size());
    step.operands = AddOperands(at.first() + first, at.inputs() + at.outputs() - first, instruction,
                                program_.extents);
    step.extents.count = static_cast<uint32_t>(program_.extents.size()) - step.extents.first;
    step.native = g_.native_calls.is_native[instruction];
    if (step.native) {
      CGRAPH_RETURN_IF_ERROR(
          CheckExtents(*loaded_.plan, graph_, instruction, program_.Dims(step.extents)));
    }
    AddToSegment(step);
    program_.steps.push_back(step);
    g_.objects.AddSignal(instruction, g_.out.events, program_);
    return Status::Ok();
  }

  // Adds a wait of the work queue for what it has issued to the queue of a call of native code.
  void AwaitQueue(uint32_t instruction) {
    TimelineSemaphore& over = g_.out.events[graph_.events + g_.native_calls.event[instruction]];
    over.AddListener(EventCountOf(g_.index.lane(instruction)));
    Step step;
    step.op = Op::kSignal;
    step.instruction = instruction;
    step.queue = g_.SlotOf(instruction);
    step.semaphore = &over;
    program_.steps.push_back(step);
    step.op = Op::kWait;
    step.queue = 0;
    step.word = over.word();
    program_.steps.push_back(step);
  }

  Slice AddOperands(uint32_t first, uint32_t count, uint32_t instruction,
                    std::vector<DynamicDim>& uses) {
    if (!g_.HasOperands(work_queue_)) return {};
    return g_.operands.Add(first, count, instruction, uses);
  }

  // Sets what a step does, and what that refers to.
  Status SetOp(Step& step) {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    switch (at.kind()) {
      case Kind::copy: step.op = Op::kCopy; break;
      case Kind::input: step.op = Op::kInput; return AddSymbols(program_, step);
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
      g_.out.given_extents.push_back({made.symbols[i], tensors.first + i});
    }
    return Status::Ok();
  }

  // Adds the symbols whose extents an input makes.
  Status AddSymbols(StepList& program, Step& step) const {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    step.subject = static_cast<uint32_t>(program.symbols.size());
    for (const InputPort::Dim& dim : g_.out.inputs[at.subject()].dims) {
      if (dim.first) program.symbols.push_back(dim.symbol);
    }
    const uint32_t extents = at.inputs() + at.outputs() - 1;
    if (program.symbols.size() - step.subject == extents) return Status::Ok();
    return Status(StatusCode::kInvalid,
                  "an input instruction has another number of extents than its port");
  }

  Status SetKernel(Step& step) {
    if (!loaded_.HasWorkQueue(work_queue_)) return Status::Ok();
    auto kernel = loaded_.kernels->For(graph_, step.instruction, g_.index.device(step.instruction));
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
  void AddToSegment(Step& step) {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    const bool may = g_.context.options.capture && !g_.context.measures() &&
                     step.op == Op::kCall && at.capture_id() != 0 && at.kind() == Kind::call &&
                     step.queue != 0 && loaded_.HasWorkQueue(work_queue_) &&
                     g_.DeviceOf(step.instruction).traits().queues_record;
    const std::tuple key(at.capture_id(), step.queue, step.lag);
    if (!may || step.native || !IsFixed(step)) {
      segment_of_.erase(key);
      return;
    }
    const auto [segment, added] =
        segment_of_.try_emplace(key, static_cast<uint32_t>(program_.segments.size()));
    if (added) program_.segments.emplace_back();
    step.segment = segment->second + 1;
    program_.segments[segment->second].steps.push_back(
        static_cast<uint32_t>(program_.steps.size()));
  }

  bool IsFixed(const Step& step) const {
    const plan::Instruction& at = graph_.instructions[step.instruction];
    for (uint32_t o = at.first(); o < at.first() + at.inputs() + at.outputs(); ++o) {
      const plan::Value& value = graph_.values[graph_.operands[o]];
      const plan::Space space = graph_.arenas[graph_.buffers[value.buffer()].arena()].space();
      if (space == plan::Space::input || space == plan::Space::output) return false;
    }
    const std::span<const DynamicDim> dims = program_.Dims(step.extents);
    return std::none_of(dims.begin(), dims.end(), [](const DynamicDim& dim) { return dim.given; });
  }

  GraphPreparation& g_;
  const LoadedPlan& loaded_;
  const plan::Graph& graph_;
  const uint32_t work_queue_;
  StepList& program_;
  // (capture, queue, lag) -> segment of the program
  std::map<std::tuple<uint32_t, uint32_t, uint16_t>, uint32_t> segment_of_;
};

}  // namespace

Status MakeProgram(GraphPreparation& graph, uint32_t work_queue, StepList& program) {
  return ProgramMaker(graph, work_queue, program).Make();
}

}  // namespace cgraph::engine
