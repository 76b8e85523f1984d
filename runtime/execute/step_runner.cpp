#include "runtime/execute/step_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/death.h"
#include "runtime/execute/lane_queues.h"
#include "runtime/native/kernels.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

template <bool kMeasured>
StepRunner::Outcome StepRunner::RunAll(Entry& at) {
  const StepList& program = *at.track->program;
  const uint32_t count = static_cast<uint32_t>(program.steps.size());
  for (; at.step != count; ++at.step) {
    const Outcome outcome = Run<kMeasured>(at, program.steps[at.step]);
    if (outcome != Outcome::kDone) return outcome;
    CountStep();
  }
  return Outcome::kDone;
}
template StepRunner::Outcome StepRunner::RunAll<true>(Entry& at);
template StepRunner::Outcome StepRunner::RunAll<false>(Entry& at);

StepRunner::Outcome StepRunner::RunOne(const Entry& at) {
  const Step& step = at.track->program->steps[at.step];
  return tracer_->measures() ? Run<true>(at, step) : Run<false>(at, step);
}

template <bool kMeasured>
[[gnu::always_inline]] inline StepRunner::Outcome StepRunner::Run(const Entry& at,
                                                                  const Step& step) {
  if constexpr (kMeasured) tracer_->Try();
  bool well = true;
  switch (step.op) {
    case Op::kCall: well = RunCall<kMeasured>(at, step, at.FrameOf(step.lag)); break;
    case Op::kCopy: well = RunCopy(at, step, at.FrameOf(step.lag)); break;
    case Op::kInput: RunInput(at, step, at.FrameOf(step.lag)); break;
    case Op::kOutput: well = RunOutput(at, step, at.FrameOf(step.lag)); break;
    case Op::kSignal: step.semaphore->Signal(at.track->round + 1); break;
    case Op::kWait: {
      // The acquire pairs with the release of Signal(): behind the wait this lane sees all that the
      // other one wrote before its signal. So tensors, extents and poison flags need no order of
      // their own. A wait that looks back beyond round 0 has nothing to wait for.
      const uint64_t round = at.track->round;
      if (round >= step.rounds_back &&
          step.word->load(std::memory_order_acquire) < round - step.rounds_back + 1) {
        return Outcome::kPending;
      }
      break;
    }
    case Op::kComm:
      if (!TryComm(at, step)) return Outcome::kPending;
      break;
  }
  if constexpr (kMeasured) tracer_->Finish(at);
  return well ? Outcome::kDone : Outcome::kFailed;
}

bool StepRunner::FillDims(const Track& track, const Step& step, Frame& frame) {
  const DynamicDim* beyond = device::FillDims(track.program->Dims(step.extents), frame.bindings);
  if (beyond == nullptr) return true;
  error_ = BeyondBound(*plan_, *track.graph->plan, *beyond,
                       device::ExtentOf(*beyond, frame.bindings));
  return false;
}

template <bool kMeasured>
[[gnu::always_inline]] inline bool StepRunner::RunCall(const Entry& at, const Step& step,
                                                       Frame& frame) {
  const StepList& program = *at.track->program;
  if (device::Skipped({program.Checks(step.checks), step.poison_flag}, frame.bindings)) {
    return true;
  }
  const Tensor* operands = frame.bindings.tensors + step.operands.first;
  bool well = !Beyond(at, step, frame);
  if (well) {
    // The kernel may take long, or never return: a report must say where. What is not a kernel
    // leaves the position as it is, which spares a store for each short step.
    inbox_->SetStep(at.graph, at.step, /*running=*/true);
    const uint64_t start = kMeasured ? Now() : 0;
    well = step.kernel->Run({operands, step.inputs}, {operands + step.inputs, step.outputs},
                            scratch_, error_);
    if constexpr (kMeasured) program.timings[at.step].Add(Now() - start);
  }
  if (well) return true;
  frame.bindings.Poison(step.poison_flag);
  Fail(*at.track, step.instruction, frame, error_);
  return false;
}

bool StepRunner::RunCopy(const Entry& at, const Step& step, Frame& frame) {
  const StepList& program = *at.track->program;
  if (device::Skipped({program.Checks(step.checks), step.poison_flag}, frame.bindings)) {
    return true;
  }
  if (Beyond(at, step, frame)) {
    frame.bindings.Poison(step.poison_flag);
    Fail(*at.track, step.instruction, frame, error_);
    return false;
  }
  const Tensor* operands = frame.bindings.tensors + step.operands.first;
  device::CopyBytes(operands[1].data, operands[0].data, operands[0].bytes());
  return true;
}

void StepRunner::RunInput(const Entry& at, const Step& step, Frame& frame) {
  const StepList& program = *at.track->program;
  if (device::Skipped({program.Checks(step.checks), step.poison_flag}, frame.bindings)) return;
  const uint32_t* symbols = program.symbols.data() + step.subject;
  const Tensor* extents = frame.bindings.tensors + step.operands.first;
  for (uint32_t i = 0; i < step.operands.count; ++i) {
    *extents[i].as<int64_t>() = frame.taken[symbols[i]];
  }
}

bool StepRunner::RunOutput(const Entry& at, const Step& step, Frame& frame) {
  const StepList& program = *at.track->program;
  if (device::Skipped({program.Checks(step.checks), step.poison_flag}, frame.bindings)) {
    return true;
  }
  if (Beyond(at, step, frame)) {
    frame.bindings.Poison(step.poison_flag);
    Fail(*at.track, step.instruction, frame, error_);
    return false;
  }
  const Tensor& value = frame.bindings.tensors[step.operands.first];
  Tensor& output = frame.execution->outputs[step.subject];
  std::copy_n(value.dims, value.rank, output.dims);
  if (step.into_output) device::CopyBytes(output.data, value.data, value.bytes());
  return true;
}

bool StepRunner::TryComm(const Entry& at, const Step& step) {
  const Track& track = *at.track;
  const bool all = exchange_.Try(*track.graph, *track.program, step, track.round, track.frame);
  if (std::vector<PartFailure>& failures = exchange_.failures(); !failures.empty()) {
    for (const PartFailure& failure : failures) {
      Fail(track, failure.part->instruction, at.FrameOf(failure.part->lag),
           BeyondBound(*plan_, *track.graph->plan, *failure.beyond, failure.extent));
    }
    failures.clear();
  }
  return all;
}

void StepRunner::Fail(const Track& track, const device::Report& report) {
  const Step& step = track.program->steps[report.tag.step];
  Fail(track, step.instruction, track.FrameOf(step, report.tag.round),
       report.beyond == nullptr
           ? report.error
           : BeyondBound(*plan_, *track.graph->plan, *report.beyond, report.extent),
       report.device_failed);
}

// Names what failed, and records it with the execution at rank 0, or in the frame's slot at another
// rank, which has no ExecutionState. The slot is written before `any_set`, and that before the
// count: each is released, so a rank that sees the later one finds the earlier ones.
void StepRunner::Fail(const Track& track, uint32_t instruction, Frame& frame,
                      const std::string& error, bool device_failed) {
  const plan::Graph& graph = *track.graph->plan;
  const plan::Instruction& failed = graph.instructions[instruction];
  std::string who;
  const char* how = "failed";
  if (failed.call() == plan::kNone) {
    who = plan::InstructionText(*plan_, graph, instruction);
  } else {
    who = plan::CallName(*plan_, graph, failed.call());
    const plan::Call& call = graph.calls[failed.call()];
    if (failed.kind() == plan::Kind::call && call.place() != plan::kNone &&
        native::MakesObject(*plan_->kernels[failed.subject()])) {
      who = "the object of " + plan_->actors[call.place()]->name;  // no method was called
      how = "cannot be made";
    }
    const uint32_t site = call.site();
    if (site != plan::kNone) who += fmt::format(" ({})", plan::SiteText(*plan_, site));
  }
  std::string text = fmt::format("{} {}: {}", who, how, error);
  if (frame.execution == nullptr) {
    frame.failures.slots[index_].Set(failed.program_order(), text);
    frame.failures.any_set->store(true, std::memory_order_release);
    failures_.fetch_add(1, std::memory_order_release);
  } else {
    frame.execution->Fail(failed.program_order(), Status(StatusCode::kFailed, std::move(text)),
                    device_failed);
  }
  error_.clear();
  inbox_->NotifyDriver();  // a caller may be told of the error before its execution is over
}

void StepTracer::Try() {
  if (begun_ns_ == 0) begun_ns_ = Now();
}

void StepTracer::Finish(const Entry& at) {
  const uint64_t start = std::exchange(begun_ns_, 0);
  const Op op = at.track->program->steps[at.step].op;
  if (!traces_ || op == Op::kWait || op == Op::kSignal) return;
  Append(*at.track, {at.graph, at.step, at.track->round, start, Now()});
}

void StepTracer::Finish(const Track& track, const device::Report& report) {
  if (!measures_ || report.ended_ns == 0) return;
  const auto [graph, at, round] = report.tag;
  if (track.program->steps[at].op == Op::kCall) {
    track.program->timings[at].Add(report.ended_ns - report.begun_ns);
  }
  if (traces_) {
    Append(track, {graph, at, round, report.begun_ns, report.ended_ns, report.waited});
  }
}

void StepTracer::Append(const Track& track, const TracedStep& traced) {
  const Step& step = track.program->steps[traced.step];
  // Before the first execution, or between two.
  if (track.FrameOf(step, traced.round).words->empty.load(std::memory_order_relaxed)) return;
  log_.Append(traced);
}

}  // namespace cgraph::engine
