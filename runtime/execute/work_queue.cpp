#include "runtime/execute/work_queue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/death.h"
#include "runtime/base/wait_point.h"

namespace cgraph::engine {
namespace {

constexpr std::array kPasses = {transport::Pass::kShow, transport::Pass::kMove,
                                transport::Pass::kEnd};

}  // namespace

WorkQueue::WorkQueue(const plan::Plan* plan, uint32_t index,
                     std::vector<std::unique_ptr<LoadedGraph>>* graphs,
                     const EntryInbox::Shared& shared, void* scratch, EventCount* own,
                     EventCount* driver)
    : index_(index),
      inbox_(shared, graphs->size(), own, driver),
      runner_(plan, index, scratch, &inbox_, &tracer_),
      positions_(tracks_, inbox_, queues_),
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
  runner_.Reserve(parts, spans);
  comms_issued_.reserve(together);
}

// Takes the next entry up. The acquire in GraphOf() shows all that the submitter has put into the
// frame. It fills the frame again only after SetDone().
bool WorkQueue::Begin() {
  const std::optional<uint32_t> graph = inbox_.GraphOf(issued_);
  if (!graph) return false;
  Track& track = tracks_[*graph];
  at_ = {&track, &track.graph->frames[track.frame], *graph, 0};
  CGRAPH_ASSERT(at_.frame->execution == nullptr ||
                at_.frame->execution->number == track.round + track.graph->lag);
  inbox_.SetRound(track.round);
  return true;
}

[[gnu::always_inline]] inline void WorkQueue::EndEntry() {
  Track& track = *at_.track;
  ++track.round;
#if CGRAPH_ASSERTS
  track.graph->rounds_finished[index_].store(track.round, std::memory_order_release);
#endif
  if (++track.frame == track.graph->frames.size()) track.frame = 0;
  at_.track = nullptr;
  inbox_.SetIdle();
  ++issued_;
}

bool WorkQueue::CloseQueues(std::vector<Position>& kernels) {
  std::vector<device::Head> abandoned;
  const bool all = queues_.Close(abandoned);
  kernels = positions_.Of(abandoned);
  return all;
}

// Runs steps where they stand. It returns after each entry, although more may be submitted: the
// driver looks whether its own result is there, and a worker goes round its other work queues. A
// step that is pending counts as work if others were run before it, so the worker's time to spin
// begins anew.
template <bool kMeasured>
bool WorkQueue::AdvanceSteps() {
  if (at_.track == nullptr && !Begin()) return false;
  const uint32_t begun = at_.step;
  switch (runner_.RunAll<kMeasured>(at_)) {
    case StepRunner::Outcome::kPending:
      inbox_.SetStep(at_.graph, at_.step, /*running=*/false);
      return at_.step != begun;
    case StepRunner::Outcome::kFailed:
      ++at_.step;  // the driver looks up: its caller may want to know at once
      return true;
    case StepRunner::Outcome::kDone: break;
  }
  EndEntry();
  inbox_.SetDone(issued_);  // the frame may be another execution's from here on
  inbox_.NotifyDriver();
  return true;
}
template bool WorkQueue::AdvanceSteps<true>();
template bool WorkQueue::AdvanceSteps<false>();

// ---- steps of queues ----------------------------------------------------------------------------

// Issues as many entries as were submitted, without waiting for one to be over: a device then has
// the next one to begin with when it ends this one. Polls issued operations whether or not more
// could be issued, so that they go on. `begins_` is called once for each entry: an entry that waits
// in the middle is still the one in progress when this is called again.
bool WorkQueue::AdvanceQueues() {
  bool any = false;
  for (bool whole = true; whole;) {
    if (at_.track == nullptr) {
      if (!Begin()) break;
      if (begins_) begins_(*at_.frame);
    }
    whole = IssueSteps();
    any |= whole;
    if (ranges_ != nullptr) [[unlikely]] ranges_->Leave();
  }
  return FinishEntries() || any;
}

Status WorkQueue::Record() {
  for (Track& track : tracks_) {
    StepList& program = track.graph->programs[index_];
    CGRAPH_RETURN_IF_ERROR(queues_.Record(track.graph->index, program, track.graph->frames));
  }
  return Status::Ok();
}

// Goes on issuing the entry in progress; true when all of it is issued. A step at which this thread
// has to wait, a wait or a comm of its own, stops all that is behind it in the certificate, also
// steps of other queues: another order of issue could put a stream's wait before the signal that
// ends it (docs/runtime.md, "GPUs").
bool WorkQueue::IssueSteps() {
  const StepList& program = *at_.track->program;
  const uint32_t count = static_cast<uint32_t>(program.steps.size());
  for (; at_.step != count; ++at_.step, CountStep()) {
    const Step& step = program.steps[at_.step];
    if (ranges_ != nullptr) [[unlikely]] ranges_->Enter(at_.graph, step);
    if (step.segment != 0) {
      const Segment& segment = program.segments[step.segment - 1];
      if (segment.steps.front() != at_.step) continue;  // it was issued with the first
      queues_.Replay(segment, at_.tag(), program, at_.FrameOf(step.lag));
      continue;
    }
    if (step.op == Op::kComm) {
      if (!IssueComms()) return false;
      continue;
    }
    if (step.queue != 0) {
      if (step.native) inbox_.SetStep(at_.graph, at_.step, /*running=*/true);  // it may hang
      queues_.Issue(step, at_.tag(), program, at_.FrameOf(step.lag));
      if (step.native) inbox_.SetIdle();
      continue;
    }
    if (runner_.RunOne(at_) == StepRunner::Outcome::kPending) {
      inbox_.SetStep(at_.graph, at_.step, /*running=*/false);
      return false;
    }
  }
  EndEntry();
  // Now `issued_` is this entry's number, counted from 1: what its queues signal behind it.
  queues_.EndEntry(issued_);
  return true;
}

// Goes on with the comms that happen together; the step in progress is the first of them. When all
// are issued or, of those that the work queue drives itself, over, the last one is the step in
// progress, and the result true.
//
// A pass is issued to the queues of all comms before the next one. Streams of one GPU may share
// hardware that begins work in the order of issue: what a stream waits for must be issued before
// the wait, and the waits of a pass are for what other comms issue in passes before, or in this one
// before a wait of their own.
bool WorkQueue::IssueComms() {
  const uint32_t first = at_.step;
  const uint32_t count = at_.track->program->steps[first].subject;
  comms_issued_.resize(count);
  while (comms_pass_ != std::size(kPasses)) {
    const uint32_t waiting = IssuePass(kPasses[comms_pass_]);
    at_.step = first;
    if (waiting != count) {
      inbox_.SetStep(at_.graph, first + waiting, /*running=*/false);
      return false;
    }
    ++comms_pass_;
    // The next pass issues to every queue once more. A comm that the work queue drives itself is
    // over for good: run again, it would begin its messages a second time.
    for (uint32_t i = 0; i < count; ++i) {
      if (at_.track->program->steps[first + i].queue != 0) comms_issued_[i] = false;
    }
  }
  comms_pass_ = 0;
  comms_issued_.clear();
  at_.step = first + count - 1;
  return true;
}

// Goes on with one pass of the comms that happen together, of which the step in progress is the
// first. Returns the first of them that waits, their count if none does. Devices begin collectives
// of their own in the order of issue, which must be one order at all ranks: a comm that has such
// waits for those before it, whatever else these wait for. Those that the work queue
// drives itself may take more than one pass, since they wait for what queues do in later ones; the
// last pass waits for them.
uint32_t WorkQueue::IssuePass(transport::Pass pass) {
  const uint32_t first = at_.step;
  const Step* steps = at_.track->program->steps.data();
  const uint32_t count = steps[first].subject;
  uint32_t waiting = count;
  bool held = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (comms_issued_[i]) continue;
    at_.step = first + i;
    const Step& step = steps[at_.step];
    const bool own = step.queue == 0;
    comms_issued_[i] =
        own ? runner_.RunOne(at_) != StepRunner::Outcome::kPending
            : queues_.IssueComm(pass, step, at_.tag(), held && step.native);
    held |= pass == transport::Pass::kMove && step.native && !comms_issued_[i];
    if (!comms_issued_[i] && (!own || pass == kPasses.back())) waiting = std::min(waiting, i);
  }
  return waiting;
}

// Finishes entries that are over. The reports of an entry are heard before the entry counts as
// over: otherwise its caller could take a result as good whose failure is not known yet. A queue
// reports an operation no later than a signal behind it is seen (Queue::Poll), so the signals are
// read first and the reports after them.
bool WorkQueue::FinishEntries() {
  uint64_t over = std::min(queues_.Over(), issued_);
  const bool any = queues_.Poll(reports_);
  if (Omits(WaitPoint::kReportsFirst)) over = std::min(queues_.Over(), issued_);
  if (Omits(WaitPoint::kCompletion)) over = issued_;
  for (const device::Report& report : reports_) {
    if (Omits(WaitPoint::kReports)) continue;
    const Track& track = tracks_[report.tag.graph];
    if (report.failed) runner_.Fail(track, report);
    tracer_.Finish(track, report);
  }
  reports_.clear();
  if (over == inbox_.done()) return any;
  inbox_.SetDone(over);
  inbox_.NotifyDriver();
  return true;
}

}  // namespace cgraph::engine
