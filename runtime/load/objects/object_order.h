// ObjectOrder: the order in which the objects of methods in Python are made. Their `__init__` may
// draw from a random generator that the whole process has, and a seed that is set before the engine
// is made is to give the same objects each time. So a process makes its objects in the order of
// their places, whichever workers make them. The price: objects that read files, and so let the
// interpreter's lock go meanwhile, do not overlap in one process; in several processes they do.
//
// What makes an object has no inputs, so it may stand first in the start graph, whatever order the
// plan says. There each work queue has its own in the order of places, so waits for the object
// before close no circle.
#ifndef CGRAPH_RUNTIME_LOAD_OBJECTS_OBJECT_ORDER_H_
#define CGRAPH_RUNTIME_LOAD_OBJECTS_OBJECT_ORDER_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/load/step.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct ObjectOrder {
  // By instruction that makes an object: the event that it waits for, because another work queue
  // makes the object before; and the one that it signals. Numbers from 0.
  std::map<uint32_t, uint32_t> waits, signals;
  uint32_t events = 0;       // how many
  uint32_t first_event = 0;  // of them among the graph's

  // Add the wait before, and the signal behind, the step of an instruction, if there is one.
  // `worker`: is notified of the signal.
  void AddWait(uint32_t instruction, device::SemaphoreArray& all, EventCount* worker,
               StepList& program) const;
  void AddSignal(uint32_t instruction, device::SemaphoreArray& all, StepList& program) const;
};

// Puts the calls of the start graph that make such objects first in the work queues, in the order
// of places, and chains those of each rank. `rank_of_worker`: as of LoadedPlan.
ObjectOrder OrderObjects(const plan::Plan& plan, const plan::Placement& placement,
                         std::span<const uint32_t> rank_of_worker,
                         std::vector<std::vector<uint32_t>>& work_queues);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_OBJECTS_OBJECT_ORDER_H_
