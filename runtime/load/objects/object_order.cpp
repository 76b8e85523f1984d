#include "runtime/load/objects/object_order.h"

#include <algorithm>
#include <utility>

#include "runtime/base/kinds/native.h"
#include "runtime/native/kernels.h"

namespace cgraph::engine {
namespace {

// Whether an instruction makes an object of Python's for a place.
bool MakesPythonObject(const plan::Plan& plan, const plan::Instruction& at) {
  if (at.kind() != plan::Kind::call || at.call() == plan::kNone) return false;
  const plan::Kernel& kernel = *plan.kernels[at.subject()];
  return native::MakesObject(kernel) && kernel.library == kPythonLibrary;
}

}  // namespace

ObjectOrder OrderObjects(const plan::Plan& plan, const plan::Placement& placement,
                         std::span<const uint32_t> rank_of_worker,
                         std::vector<std::vector<uint32_t>>& work_queues) {
  const plan::Graph& start = *plan.start;
  const auto place_of = [&](uint32_t instruction) {
    const plan::Instruction& at = start.instructions[instruction];
    return std::pair(start.calls[at.call()].place(), instruction);
  };
  const auto by_place = [&](uint32_t a, uint32_t b) { return place_of(a) < place_of(b); };
  std::map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>> of_rank;  // and its work queue
  for (uint32_t w = 0; w < work_queues.size(); ++w) {
    std::vector<uint32_t>& list = work_queues[w];
    const auto end = std::stable_partition(list.begin(), list.end(), [&](uint32_t instruction) {
      return MakesPythonObject(plan, start.instructions[instruction]);
    });
    std::sort(list.begin(), end, by_place);
    const uint32_t worker = placement.worker_of_work_queue[w];
    auto& objects = of_rank[rank_of_worker.empty() ? 0 : rank_of_worker[worker]];
    for (auto at = list.begin(); at != end; ++at) objects.emplace_back(*at, w);
  }
  ObjectOrder order;
  for (auto& [rank, objects] : of_rank) {
    std::sort(objects.begin(), objects.end(),
              [&](const auto& a, const auto& b) { return by_place(a.first, b.first); });
    for (size_t i = 1; i < objects.size(); ++i) {
      if (objects[i - 1].second == objects[i].second) continue;
      order.signals.emplace(objects[i - 1].first, order.events);
      order.waits.emplace(objects[i].first, order.events++);
    }
  }
  return order;
}

void ObjectOrder::AddWait(uint32_t instruction, device::SemaphoreArray& all,
                          EventCount* worker, StepList& program) const {
  const auto found = waits.find(instruction);
  if (found == waits.end()) return;
  TimelineSemaphore& before = all[first_event + found->second];
  before.AddListener(worker);
  Step step;
  step.op = Op::kWait;
  step.instruction = instruction;
  step.word = before.word();
  program.steps.push_back(step);
}

void ObjectOrder::AddSignal(uint32_t instruction, device::SemaphoreArray& all,
                            StepList& program) const {
  const auto found = signals.find(instruction);
  if (found == signals.end()) return;
  Step step;
  step.op = Op::kSignal;
  step.instruction = instruction;
  step.semaphore = &all[first_event + found->second];
  program.steps.push_back(step);
}

}  // namespace cgraph::engine
