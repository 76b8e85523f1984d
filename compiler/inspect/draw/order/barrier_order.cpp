#include <algorithm>
#include <map>

#include "compiler/inspect/draw/order/order.h"

namespace cgraph {
namespace {

// Since: what a device has done since its last barrier.
struct Since {
  uint32_t barrier = plan::kNone;
  std::vector<uint32_t> operations;
};

bool IsBarrier(const plan::Graph& graph, const plan::Instruction& at) {
  if (at.kind() != plan::Kind::comm) return false;
  const auto first = graph.parts.begin() + at.first();
  return std::any_of(first, first + at.inputs(), [&](const plan::CommPart& part) {
    return part.part() == plan::Part::collective &&
           graph.collectives[part.subject()]->kind == wire::CollectiveKind::barrier;
  });
}

}  // namespace

std::vector<BarrierOrder> FindBarrierOrder(const plan::Plan& plan, const plan::Graph& graph,
                                           const Operations& operations) {
  std::vector<uint32_t> in_order(operations.all.size());
  for (uint32_t id = 0; id < in_order.size(); ++id) in_order[id] = id;
  const auto first = [&](uint32_t id) -> const plan::Instruction& {
    return graph.instructions[operations.all[id].instructions.front()];
  };
  std::stable_sort(in_order.begin(), in_order.end(), [&](uint32_t a, uint32_t b) {
    return first(a).program_order() < first(b).program_order();
  });
  std::vector<BarrierOrder> found;
  std::map<uint32_t, Since> since;  // by device
  for (uint32_t id : in_order) {
    const uint32_t device = plan.lanes[operations.all[id].lane].device();
    if (plan.devices[device]->kind == plan::DeviceKind::caller) continue;
    Since& here = since[device];
    if (here.barrier != plan::kNone) found.push_back({here.barrier, id});
    if (IsBarrier(graph, first(id))) {
      for (uint32_t before : here.operations) found.push_back({before, id});
      here = {id, {}};
    } else {
      here.operations.push_back(id);
    }
  }
  return found;
}

}  // namespace cgraph
