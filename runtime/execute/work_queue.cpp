#include "runtime/execute/work_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <utility>

#include "runtime/base/omission.h"
#include "runtime/base/death.h"
#include "runtime/native/kernels.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

constexpr int kGraphBits = 24;  // of an inbox entry, below its number
constexpr uint64_t kGraphMask = (1ull << kGraphBits) - 1;

constexpr std::array kPasses = {transport::Pass::kShow, transport::Pass::kMove,
                                transport::Pass::kEnd};

}  // namespace

Result<WorkQueue::Shared> WorkQueue::Share(device::SharedHeap& heap, uint32_t entries) {
  const char* const what = "the inbox of a worker";
  auto words = heap.Make<Shared::Words>(1, what);
  auto inbox = heap.Make<std::atomic<uint64_t>>(std::bit_ceil(uint64_t{entries} + 1), what);
  for (const Status& status : {words.status(), inbox.status()}) CGRAPH_RETURN_IF_ERROR(status);
  return Shared{words->data(), *inbox};
}

WorkQueue::WorkQueue(const plan::Plan* plan, uint32_t index,
                     std::vector<std::unique_ptr<LoadedGraph>>* graphs, const Shared& shared,
                     void* scratch, EventCount* own, EventCount* driver)
    : plan_(plan),
      words_(shared.words),
      inbox_(shared.inbox),
      mask_(inbox_.size() - 1),
      index_(index),
      scratch_(scratch),
      own_(own),
      driver_(driver),
      ranges_(CallRanges::MakeIfAttached()) {
  uint32_t parts = 1, spans = 1, together = 1;
  for (auto& graph : *graphs) {
    const StepList& program = graph->programs[index];
    tracks_.push_back({&program, graph.get(), 0, 0});
    if (ranges_ != nullptr) ranges_->AddGraph(*plan, *graph->plan, program);
    parts = std::max(parts, program.most_parts);
    for (const Step& step : program.steps) {
      if (step.op == Op::kComm) together = std::max(together, step.subject);
    }
    spans = std::max(spans, program.most_spans);
  }
  exchange_.Reserve(parts, spans);
  comms_issued_.reserve(together);
}

void WorkQueue::Push(uint32_t graph) {
  const uint64_t number = words_->pushed.load(std::memory_order_relaxed);
  CGRAPH_ASSERT(number - done() < inbox_.size());
  words_->pushed.store(number + 1, std::memory_order_relaxed);
  inbox_[number & mask_].store((number + 1) << kGraphBits | graph, std::memory_order_release);
  if (!Omits(Omission::kWakeWorker)) own_->Notify();
}

bool WorkQueue::Begin() {
  const uint64_t entry = inbox_[issued_ & mask_].load(std::memory_order_acquire);
  if (entry >> kGraphBits != issued_ + 1 && !Omits(Omission::kInbox)) return false;
  const uint64_t graph = entry & kGraphMask;
  if (graph >= tracks_.size()) return false;  // no submitter of ours writes that
  graph_ = static_cast<uint32_t>(graph);
  track_ = &tracks_[graph_];
  frame_ = &track_->graph->frames[track_->frame];
  CGRAPH_ASSERT(frame_->run == nullptr ||
                frame_->run->execution == track_->round + track_->graph->lag);
  words_->round.store(track_->round, std::memory_order_relaxed);
  step_ = 0;
  return true;
}

[[gnu::always_inline]] inline void WorkQueue::NextRound() {
  ++track_->round;
#if CGRAPH_ASSERTS
  track_->graph->rounds_finished[index_].store(track_->round, std::memory_order_release);
#endif
  if (++track_->frame == track_->graph->frames.size()) track_->frame = 0;
  track_ = nullptr;
  words_->at.store(kIdle, std::memory_order_relaxed);
  ++issued_;
}

[[gnu::always_inline]] inline void WorkQueue::Finish() {
  NextRound();
  words_->done.store(issued_, std::memory_order_release);
  if (!Omits(Omission::kWakeDriver)) driver_->Notify();
}

void WorkQueue::Publish(uint64_t step, bool running) {
  words_->at.store(
      static_cast<uint64_t>(graph_) << 33 | static_cast<uint64_t>(running) << 32 | step,
      std::memory_order_relaxed);
}

void WorkQueue::SetProgress(const Progress& progress) {
  words_->at.store(progress.at, std::memory_order_relaxed);
  words_->round.store(progress.round, std::memory_order_relaxed);
  words_->done.store(progress.done, std::memory_order_release);
  driver_->Notify();
}

Position WorkQueue::Where() const {
  Position position;
  position.done = done();
  const uint64_t at = words_->at.load(std::memory_order_relaxed);
  if (at == kIdle) {
    if (pushed() == position.done) return position;
    const std::vector<Position> queues = Everywhere();
    return queues.empty() ? position : queues.front();
  }
  position.running = (at >> 32 & 1) != 0;
  position.graph = static_cast<uint32_t>(at >> 33);
  position.step = static_cast<uint32_t>(at);
  // The worker may be a process that has crashed, or worse.
  position.idle = position.graph >= tracks_.size() ||
                  position.step >= tracks_[position.graph].program->steps.size();
  position.round = words_->round.load(std::memory_order_relaxed);
  return position;
}

std::optional<uint32_t> WorkQueue::NextGraph() const {
  const uint64_t number = done();
  const uint64_t entry = inbox_[number & mask_].load(std::memory_order_acquire);
  const uint64_t graph = entry & kGraphMask;
  if (entry >> kGraphBits != number + 1 || graph >= tracks_.size()) return std::nullopt;
  return static_cast<uint32_t>(graph);
}

// Returns those of a process, which may be of another mind, that can be.
std::vector<device::Head> WorkQueue::Known(std::vector<device::Head> heads) const {
  std::erase_if(heads, [&](const device::Head& head) {
    if (head.tag.graph >= tracks_.size()) return true;
    const size_t steps = tracks_[head.tag.graph].program->steps.size();
    return head.tag.step >= steps || head.last_step >= steps;
  });
  return heads;
}

void WorkQueue::SetHeads(std::vector<device::Head> heads) {
  heads = Known(std::move(heads));
  std::lock_guard lock(far_heads_mutex_);
  far_heads_ = std::move(heads);
}

std::vector<Position> WorkQueue::Everywhere() const {
  if (!queues_.empty()) return PositionsOf(queues_.Heads());
  if (shared_heads_ != nullptr) return PositionsOf(Known(shared_heads_->Get()));
  std::lock_guard lock(far_heads_mutex_);
  return PositionsOf(far_heads_);
}

std::vector<Position> WorkQueue::PositionsOf(const std::vector<device::Head>& heads) const {
  std::vector<Position> all;
  for (const device::Head& head : heads) {
    all.push_back({.idle = false,
                   .running = head.running,
                   .graph = head.tag.graph,
                   .step = head.tag.step,
                   .done = done() + head.finished,
                   .round = head.tag.round,
                   .of_queue = true,
                   .finished = head.finished,
                   .pending = head.pending,
                   .last_step = head.last_step});
  }
  return all;
}

bool WorkQueue::CloseQueues(std::vector<Position>& kernels) {
  const Abandoned abandoned = queues_.Close();
  kernels = PositionsOf(abandoned.kernels);
  return !abandoned.any;
}

// ---- steps that the work queue runs -------------------------------------------------------------

template <bool kProfile>
bool WorkQueue::Advance() {
  if (track_ == nullptr && !Begin()) return false;
  const StepList& program = *track_->program;
  const uint32_t begun = step_;
  const uint32_t count = static_cast<uint32_t>(program.steps.size());
  for (; step_ != count; ++step_) {
    const Step& step = program.steps[step_];
    const Outcome outcome = RunStep<kProfile>(step);
    if (outcome == Outcome::kPending) {
      Publish(step_, false);
      return step_ != begun;
    }
    if (outcome == Outcome::kFailed) {
      ++step_;  // the driver looks up: its caller may want to know at once
      return true;
    }
    CountStep();
  }
  Finish();
  return true;
}
template bool WorkQueue::Advance<true>();
template bool WorkQueue::Advance<false>();

template <bool kProfile>
[[gnu::always_inline]] inline WorkQueue::Outcome WorkQueue::RunStep(const Step& step) {
  if (kProfile && begun_ns_ == 0) begun_ns_ = Now();
  bool well = true;
  switch (step.op) {
    case Op::kCall: well = RunCall<kProfile>(step, FrameOf(step.lag)); break;
    case Op::kCopy: well = RunCopy(step, FrameOf(step.lag)); break;
    case Op::kInput: RunInput(step, FrameOf(step.lag)); break;
    case Op::kOutput: well = RunOutput(step, FrameOf(step.lag)); break;
    case Op::kSignal: step.semaphore->Signal(track_->round + 1); break;
    case Op::kWait: {
      const uint64_t round = track_->round;
      if (round >= step.rounds_back &&
          step.word->load(std::memory_order_acquire) < round - step.rounds_back + 1) {
        return Outcome::kPending;
      }
      break;
    }
    case Op::kComm:
      if (!TryComm(step)) return Outcome::kPending;
      break;
  }
  if constexpr (kProfile) Trace();
  return well ? Outcome::kDone : Outcome::kFailed;
}

bool WorkQueue::FillDims(const Step& step, Frame& frame) {
  const DynamicDim* beyond = device::FillDims(track_->program->Dims(step.extents), frame.bindings);
  if (beyond == nullptr) return true;
  error_ = BeyondBound(*plan_, *track_->graph->plan, *beyond,
                       device::ExtentOf(*beyond, frame.bindings));
  return false;
}

template <bool kProfile>
[[gnu::always_inline]] inline bool WorkQueue::RunCall(const Step& step, Frame& frame) {
  if (device::Skipped({track_->program->Checks(step.checks), step.poison_flag}, frame.bindings)) {
    return true;
  }
  const Tensor* operands = frame.bindings.tensors + step.operands.first;
  bool well = !Beyond(step, frame);
  if (well) {
    Publish(step_, true);
    const uint64_t start = kProfile ? Now() : 0;
    well = step.kernel->Run({operands, step.inputs}, {operands + step.inputs, step.outputs},
                            scratch_, error_);
    if constexpr (kProfile) track_->program->timings[step_].Add(Now() - start);
  }
  if (well) return true;
  frame.bindings.Poison(step.poison_flag);
  Fail(*track_, step.instruction, frame, error_);
  return false;
}

bool WorkQueue::RunCopy(const Step& step, Frame& frame) {
  if (device::Skipped({track_->program->Checks(step.checks), step.poison_flag}, frame.bindings)) {
    return true;
  }
  if (Beyond(step, frame)) {
    frame.bindings.Poison(step.poison_flag);
    Fail(*track_, step.instruction, frame, error_);
    return false;
  }
  const Tensor* operands = frame.bindings.tensors + step.operands.first;
  device::CopyBytes(operands[1].data, operands[0].data, operands[0].bytes());
  return true;
}

void WorkQueue::RunInput(const Step& step, Frame& frame) {
  if (device::Skipped({track_->program->Checks(step.checks), step.poison_flag}, frame.bindings))
    return;
  const uint32_t* symbols = track_->program->symbols.data() + step.subject;
  const Tensor* extents = frame.bindings.tensors + step.operands.first;
  for (uint32_t i = 0; i < step.operands.count; ++i) {
    *extents[i].as<int64_t>() = frame.taken[symbols[i]];
  }
}

bool WorkQueue::RunOutput(const Step& step, Frame& frame) {
  if (device::Skipped({track_->program->Checks(step.checks), step.poison_flag}, frame.bindings)) {
    return true;
  }
  if (Beyond(step, frame)) {
    frame.bindings.Poison(step.poison_flag);
    Fail(*track_, step.instruction, frame, error_);
    return false;
  }
  const Tensor& value = frame.bindings.tensors[step.operands.first];
  Tensor& output = frame.run->outputs[step.subject];
  std::copy_n(value.dims, value.rank, output.dims);
  if (step.into_output) device::CopyBytes(output.data, value.data, value.bytes());
  return true;
}

bool WorkQueue::TryComm(const Step& step) {
  const Track& track = *track_;
  const bool all = exchange_.Try(*track.graph, *track.program, step, track.round, track.frame);
  if (std::vector<PartFailure>& failures = exchange_.failures(); !failures.empty()) {
    for (const PartFailure& failure : failures) {
      Fail(track, failure.part->instruction, FrameOf(failure.part->lag),
           BeyondBound(*plan_, *track.graph->plan, *failure.beyond, failure.extent));
    }
    failures.clear();
  }
  return all;
}

void WorkQueue::Fail(const Track& track, uint32_t instruction, Frame& frame,
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
      who = "the object of " + plan_->actors[call.place()]->name;  // nobody has called a method
      how = "cannot be made";
    }
    const uint32_t site = call.site();
    if (site != plan::kNone) who += fmt::format(" ({})", plan::SiteText(*plan_, site));
  }
  std::string text = fmt::format("{} {}: {}", who, how, error);
  if (frame.run == nullptr) {
    frame.failures.slots[index_].Set(failed.program_order(), text);
    frame.failures.any_set->store(true, std::memory_order_release);
    failures_.fetch_add(1, std::memory_order_release);
  } else {
    frame.run->Fail(failed.program_order(), Status(StatusCode::kFailed, std::move(text)),
                    device_failed);
  }
  error_.clear();
  driver_->Notify();
}

void WorkQueue::Trace() {
  const uint64_t start = std::exchange(begun_ns_, 0);
  const Op op = track_->program->steps[step_].op;
  if (!traces_ || op == Op::kWait || op == Op::kSignal) return;
  AddTrace({graph_, step_, track_->round, start, Now()});
}

void WorkQueue::AddTrace(const TracedStep& traced) {
  const Track& track = tracks_[traced.graph];
  const Step& step = track.program->steps[traced.step];
  const uint32_t own = static_cast<uint32_t>(traced.round % track.graph->frames.size());
  const Frame& frame = track.graph->FrameOf(own, step.lag);
  // Before the first execution, or between two.
  if (frame.words->empty.load(std::memory_order_relaxed)) return;
  traced_.Append(traced);
}

// ---- steps of queues ----------------------------------------------------------------------------

// Polls issued operations whether or not more could be issued, so that they go on.
bool WorkQueue::AdvanceQueues() {
  bool any = false;
  while ((track_ != nullptr || BeginIssuing()) && Issue()) any = true;
  return FinishEntries() || any;
}

bool WorkQueue::BeginIssuing() {
  if (!Begin()) return false;
  if (begins_) begins_(*frame_);
  return true;
}

// Not inlined, so that the way without queues stays one piece of code.
[[gnu::noinline]] WorkQueue::Outcome WorkQueue::RunOwn(const Step& step) {
  return measures_ ? RunStep<true>(step) : RunStep<false>(step);
}

Status WorkQueue::Record() {
  for (Track& track : tracks_) {
    StepList& program = track.graph->programs[index_];
    CGRAPH_RETURN_IF_ERROR(queues_.Record(track.graph->index, program, track.graph->frames));
  }
  return Status::Ok();
}

// Goes on issuing the entry in progress; true when all of it is issued.
bool WorkQueue::Issue() {
  const bool whole = IssueSteps();
  if (ranges_ != nullptr) [[unlikely]] ranges_->Leave();
  return whole;
}

bool WorkQueue::IssueSteps() {
  const StepList& program = *track_->program;
  const uint32_t count = static_cast<uint32_t>(program.steps.size());
  for (; step_ != count; ++step_, CountStep()) {
    const Step& step = program.steps[step_];
    if (ranges_ != nullptr) [[unlikely]] ranges_->Enter(graph_, step);
    if (step.segment != 0) {
      const Segment& segment = program.segments[step.segment - 1];
      if (segment.steps.front() != step_) continue;
      queues_.Replay(segment, {graph_, step_, track_->round}, program, FrameOf(step.lag));
      continue;
    }
    if (step.op == Op::kComm) {
      if (!IssueComms()) return false;
      continue;
    }
    if (step.queue != 0) {
      if (step.native) Publish(step_, true);  // it may hang
      queues_.Issue(step, {graph_, step_, track_->round}, program, FrameOf(step.lag));
      if (step.native) words_->at.store(kIdle, std::memory_order_relaxed);
      continue;
    }
    if (RunOwn(step) == Outcome::kPending) {
      Publish(step_, false);
      return false;
    }
  }
  NextRound();
  queues_.EndEntry(issued_);
  return true;
}

// Goes on with the comms that happen together, of which the step in progress is the first. When all
// are issued or, of those that the work queue drives itself, over, the last one is the step in
// progress, and the result true.
//
// A pass is issued to the queues of all comms before the next one. Streams of one GPU may share
// hardware that begins work in the order of issue: what a stream waits for must be issued before
// the wait, and the waits of a pass are for what other comms issue in passes before, or in this one
// before a wait of their own.
bool WorkQueue::IssueComms() {
  const uint32_t first = step_;
  const uint32_t count = track_->program->steps[first].subject;
  comms_issued_.resize(count);
  while (comms_pass_ != std::size(kPasses)) {
    const uint32_t waiting = IssuePass(kPasses[comms_pass_]);
    step_ = first;
    if (waiting != count) {
      Publish(first + waiting, false);
      return false;
    }
    ++comms_pass_;
    for (uint32_t i = 0; i < count; ++i) {
      if (track_->program->steps[first + i].queue != 0) comms_issued_[i] = false;
    }
  }
  comms_pass_ = 0;
  comms_issued_.clear();
  step_ = first + count - 1;
  return true;
}

// Goes on with one pass of the comms that happen together, of which the step in progress is the
// first. Returns the first of them that waits, their count if none does. Devices begin collectives
// of their own in the order of issue, which must be one order at all ranks: a comm that has such
// waits for those before it, whatever else these wait for. Those that the work queue
// drives itself may take more than one pass, since they wait for what queues do in later ones; the
// last pass waits for them.
uint32_t WorkQueue::IssuePass(transport::Pass pass) {
  const uint32_t first = step_;
  const Step* steps = track_->program->steps.data();
  const uint32_t count = steps[first].subject;
  uint32_t waiting = count;
  bool held = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (comms_issued_[i]) continue;
    step_ = first + i;
    const Step& step = steps[step_];
    const bool own = step.queue == 0;
    comms_issued_[i] =
        own ? RunOwn(step) != Outcome::kPending
            : queues_.IssueComm(pass, step, {graph_, step_, track_->round}, held && step.native);
    held |= pass == transport::Pass::kMove && step.native && !comms_issued_[i];
    if (!comms_issued_[i] && (!own || pass == kPasses.back())) waiting = std::min(waiting, i);
  }
  return waiting;
}

// Finishes entries that are over. The reports of an entry are heard before the entry counts as
// over.
bool WorkQueue::FinishEntries() {
  uint64_t over = std::min(queues_.Over(), issued_);
  const bool any = queues_.Poll(reports_);
  if (Omits(Omission::kReportsFirst)) over = std::min(queues_.Over(), issued_);
  if (Omits(Omission::kCompletion)) over = issued_;
  for (const device::Report& report : reports_) {
    if (!Omits(Omission::kReports)) Hear(report);
  }
  reports_.clear();
  if (over == words_->done.load(std::memory_order_relaxed)) return any;
  words_->done.store(over, std::memory_order_release);
  driver_->Notify();
  return true;
}

void WorkQueue::Hear(const device::Report& report) {
  const auto [graph, at, round] = report.tag;
  const Track& track = tracks_[graph];
  const Step& step = track.program->steps[at];
  if (report.failed) {
    const uint32_t own = static_cast<uint32_t>(round % track.graph->frames.size());
    Fail(track, step.instruction, track.graph->FrameOf(own, step.lag),
         report.beyond == nullptr
             ? report.error
             : BeyondBound(*plan_, *track.graph->plan, *report.beyond, report.extent),
         report.device_failed);
  }
  if (!measures_ || report.ended_ns == 0) return;
  if (step.op == Op::kCall) {
    track.program->timings[at].Add(report.ended_ns - report.begun_ns);
  }
  if (traces_) AddTrace({graph, at, round, report.begun_ns, report.ended_ns, report.waited});
}

}  // namespace cgraph::engine
