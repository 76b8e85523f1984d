#include "runtime/execute/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/sync/cores.h"
#include "runtime/base/wait_point.h"
#include "runtime/device/queue.h"
#include "runtime/execute/lane_queues.h"

namespace cgraph::engine {
namespace {

// Lets other processes read what is traced of a work queue.
Status ShareTrace(device::SharedHeap& heap, WorkQueue& work_queue) {
  auto count = heap.Make<std::atomic<uint64_t>>(1, "a trace");
  auto steps = heap.Make<TracedStep>(TraceLog::kMostSteps, "a trace");
  for (const Status& status : {count.status(), steps.status()}) CGRAPH_RETURN_IF_ERROR(status);
  work_queue.tracer().log().Share(count->data(), *steps);
  return Status::Ok();
}

Status ShareHeads(device::SharedHeap& heap, WorkQueue& work_queue) {
  auto heads = heap.Make<SharedHeads>(1, "where queues are");
  if (!heads.ok()) return heads.status();
  work_queue.positions().ShareHeads(heads->data());
  return Status::Ok();
}

// Makes the groups that queues run for the comms of a program. A step points to its group, and a
// group knows its step by number, so groups are made when the program's steps are complete.
void MakeGroups(const plan::Plan& plan, LoadedGraph& graph, uint32_t work_queue) {
  StepList& program = graph.programs[work_queue];
  for (uint32_t s = 0; s < program.steps.size(); ++s) {
    Step& step = program.steps[s];
    if (step.op != Op::kComm || step.queue == 0) continue;
    auto group = std::make_unique<CommGroup>(&plan, &graph, work_queue, s, step.operands.count,
                                             program.most_spans);
    step.group = group.get();
    program.groups.push_back(std::move(group));
  }
}

// Finishes the recordings of all graphs on a few threads: a device may take long to make what is
// launched of a recording, and makes several at the same time. The error of the first that cannot
// be.
Status FinishRecordings(const std::vector<std::unique_ptr<LoadedGraph>>& graphs) {
  std::vector<device::Recording*> recordings;
  for (const auto& graph : graphs) {
    for (const StepList& program : graph->programs) {
      for (const Segment& segment : program.segments) {
        for (const auto& recording : segment.recordings) recordings.push_back(recording.get());
      }
    }
  }
  constexpr size_t kMostThreads = 8;  // more wait for each other inside the driver
  // By recording, so that the error that is told does not depend on which thread was faster. The
  // threads have ended before it is read: their scope joins them.
  std::vector<Status> finished(recordings.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < recordings.size(); i = next++) {
      finished[i] = recordings[i]->Finish();
    }
  };
  {
    std::vector<std::jthread> helpers;
    const size_t threads = std::min({recordings.size(), size_t{Cores()}, kMostThreads});
    try {
      while (helpers.size() + 1 < threads) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // The threads that there are do it all.
    }
    work();
  }
  for (Status& status : finished) CGRAPH_RETURN_IF_ERROR(std::move(status));
  return Status::Ok();
}

}  // namespace

Status Workers::Make(LoadedPlan& loaded, const Settings& settings) {
  for (EventCount& event_count : loaded.event_counts) {
    workers.push_back(std::make_unique<Worker>());
    workers.back()->event_count = &event_count;
  }
  if (Worker* first = First(loaded)) first->poll = settings.poll;
  // A frame is submitted once at a time, so no inbox has more unfinished entries than all graphs
  // have frames together. Memory for all inboxes is checked at once, so that the error names the
  // sum and not the inbox that found none left.
  uint32_t entries = 0;
  for (const auto& graph : loaded.graphs) entries += static_cast<uint32_t>(graph->frames.size());
  const std::vector<uint32_t>& worker_of = loaded.placement.worker_of_work_queue;
  CGRAPH_RETURN_IF_ERROR(device::CheckFree(
      uint64_t{worker_of.size()} * std::bit_ceil(uint64_t{entries} + 1) * sizeof(uint64_t),
      fmt::format("the inboxes of {} work queues for {} executions", worker_of.size(), entries)));
  uint32_t here = 0;
  for (uint32_t w = 0; w < workers.size(); ++w) {
    if (!loaded.IsHere(w)) continue;
    ++here;
    auto scratch = device::Memory::Allocate(loaded.kernels->most_scratch(), "a kernel's scratch");
    if (!scratch.ok()) return scratch.status();
    workers[w]->scratch = std::move(*scratch);
  }
  // Every rank makes all inboxes, logs and heads, also of work queues that another one drives: what
  // lies in the region has one address only if all ranks take the same blocks in the same order.
  for (uint32_t s = 0; s < worker_of.size(); ++s) {
    for (auto& graph : loaded.graphs) MakeGroups(*loaded.plan, *graph, s);
    Worker& worker = *workers[worker_of[s]];
    auto shared = EntryInbox::Share(*loaded.heap, entries);
    if (!shared.ok()) return shared.status();
    work_queues.push_back(std::make_unique<WorkQueue>(loaded.plan.get(), s, &loaded.graphs, *shared,
                                                      worker.scratch.data(), worker.event_count,
                                                      workers[0]->event_count));
    WorkQueue& work_queue = *work_queues.back();
    work_queue.tracer().Measure(settings.profile, settings.trace);
    if (loaded.region != nullptr && settings.trace) {
      CGRAPH_RETURN_IF_ERROR(ShareTrace(*loaded.heap, work_queue));
    }
    if (loaded.among_gpu_ranks()) {
      CGRAPH_RETURN_IF_ERROR(ShareHeads(*loaded.heap, work_queue));
      if (settings.on_begin) work_queue.OnBegin(settings.on_begin);
    }
    worker.work_queues.push_back(&work_queue);
  }
  // Ranks of one machine share its cores, so the workers of all of them count; ranks apart do not.
  yields = (loaded.apart ? std::max(1u, here) : workers.size()) > settings.cores;
  return Status::Ok();
}

Status Workers::OpenQueues(LoadedPlan& loaded, const Settings& settings) {
  const std::vector<QueueMap::Queue>& queues = loaded.queue_map.queues;
  auto ends = device::SemaphoreArray::Make(*loaded.devices.front(), queues.size(),
                                           "the ends of queues");
  if (!ends.ok()) return ends.status();
  queue_ends = std::move(*ends);
  for (size_t q = 0; q < queues.size(); ++q) {
    const QueueMap::Queue& at = queues[q];
    if (at.slot == 0 || !loaded.HasWorkQueue(at.work_queue)) continue;
    auto queue = loaded.devices[at.device]->OpenQueue(
        {queues[at.work_queue].event_count, loaded.kernels->most_scratch(),
         settings.profile || settings.trace, settings.stall_timeout});
    if (!queue.ok()) return queue.status();
    const auto number = static_cast<uint32_t>(q - work_queues.size());
    work_queues[at.work_queue]->AddQueue(number, std::move(*queue), &queue_ends[q]);
  }
  // Steps name their queue by number, so all queues of a work queue are there before it records.
  for (auto& work_queue : work_queues) CGRAPH_RETURN_IF_ERROR(work_queue->Record());
  return FinishRecordings(loaded.graphs);
}

void Workers::Start(const LoadedPlan& loaded, std::function<bool()> until) {
  const Worker* first = First(loaded);
  for (uint32_t w = 0; w < workers.size(); ++w) {
    Worker* worker = workers[w].get();
    if (!loaded.IsHere(w) || worker == first) continue;
    worker->thread = std::thread([this, worker, until] { worker->Drive(yields, until); });
  }
}

void Workers::Join() {
  for (auto& worker : workers) {
    cgraph::Join(WaitPoint::kEndWorkers, worker->thread);
  }
}

Worker* Workers::First(const LoadedPlan& loaded) const {
  for (uint32_t w = 0; w < workers.size(); ++w) {
    if (loaded.IsHere(w)) return workers[w].get();
  }
  return nullptr;
}

}  // namespace cgraph::engine
