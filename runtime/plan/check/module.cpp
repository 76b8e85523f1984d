// Checks of the module's tables, which all its graphs share.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"
#include "runtime/plan/state_names.h"

namespace cgraph::plan::check {
namespace {

Status CheckDevices(const Plan& plan) {
  for (size_t i = 0; i < plan.devices.size(); ++i) {
    if (plan.devices[i] == nullptr || !Known(plan.devices[i]->kind)) {
      return Invalid("device {} is of no known kind", i);
    }
    // The caller is a process of node 0.
    const bool caller = plan.devices[i]->kind == DeviceKind::caller;
    if (plan.devices[i]->node >= (caller ? 1 : kMaxNodes)) {
      return Invalid("device {} is on node {}; the caller is on node 0, others below {}", i,
                     plan.devices[i]->node, kMaxNodes);
    }
  }
  if (plan.workers > kMaxWorkers) {
    return Invalid("{} workers: at most {}", plan.workers, kMaxWorkers);
  }
  for (size_t i = 0; i < plan.lanes.size(); ++i) {
    const LaneInfo& lane = plan.lanes[i];
    if (lane.device() >= plan.devices.size() || !Known(lane.kind()) ||
        !NoneOrIn(lane.peer(), std::max(plan.devices.size(), plan.lanes.size())) ||
        !NoneOrIn(lane.worker(), kMaxWorkers)) {
      return Invalid("lane {} has a device, kind, peer or worker that does not exist", i);
    }
  }
  return Status::Ok();
}

Status CheckPartition(const Plan& plan, size_t id) {
  const Partition* partition = plan.partitions[id].get();
  if (partition == nullptr || partition->workers == 0 || partition->workers > kMaxWorkers) {
    return Invalid("partition {} is not for 1 to {} workers", id, kMaxWorkers);
  }
  const uint32_t workers = partition->workers;
  if (id > 0 && plan.partitions[id - 1]->workers >= workers) {
    return Invalid("the partition for {} workers is not behind those for fewer", workers);
  }
  const auto& lanes = partition->worker_of_lane;
  if (lanes.size() != plan.lanes.size() ||
      std::any_of(lanes.begin(), lanes.end(), [&](uint32_t at) { return at >= workers; })) {
    return Invalid("the partition for {} workers does not give each lane one of them", workers);
  }
  bool fits = partition->certificates.size() == plan.graphs.size();
  for (size_t i = 0; fits && i < plan.graphs.size(); ++i) {
    const Certificate* certificate = partition->certificates[i].get();
    fits = certificate != nullptr && plan.graphs[i] != nullptr &&
           (certificate->positions.empty() ||
            certificate->positions.size() == plan.graphs[i]->instructions.size());
  }
  if (fits) return Status::Ok();
  return Invalid("the partition for {} workers has no certificate for each instruction", workers);
}

Status CheckActor(const Plan& plan, size_t id) {
  const Actor* actor = plan.actors[id].get();
  if (actor == nullptr || actor->device >= plan.devices.size()) {
    return Invalid("actor {} has a device that does not exist", id);
  }
  if (actor->state_bytes > kMaxArenaBytes) {
    return Invalid("actor `{}` has {} bytes of state: at most {}", actor->name, actor->state_bytes,
                   kMaxArenaBytes);
  }
  for (const auto& state : actor->states) {
    if (state == nullptr || !Known(state->dtype) || state->dims.size() > kMaxRank ||
        TensorBytes(state->dtype, state->dims, kMaxArenaBytes) != state->bytes) {
      return Invalid("actor `{}` has a state whose type and bytes do not agree", actor->name);
    }
    if (!state->copies.empty() && !IsAmong(actor->name, state->copies)) {
      return Invalid("state `{}` of actor `{}` is said to be a copy of {}, which is another place",
                     state->name, actor->name, state->copies);
    }
    if (!InRange(state->offset, state->bytes, actor->state_bytes)) {
      return Invalid("state `{}` of actor `{}` is outside the actor's {} bytes", state->name,
                     actor->name, actor->state_bytes);
    }
  }
  return Status::Ok();
}

// Checks that the states that are one variable have one type: one is copied into the others.
Status CheckCopies(const Plan& plan) {
  std::map<std::pair<std::string_view, std::string_view>, const State*> variables;
  for (const auto& actor : plan.actors) {
    for (const auto& state : actor->states) {
      if (state->copies.empty()) continue;
      const State& first =
          *variables.try_emplace({state->copies, state->name}, state.get()).first->second;
      if (state->dtype == first.dtype && state->dims == first.dims) continue;
      return Invalid("state `{}` of actor `{}` is a copy of one of another type", state->name,
                     actor->name);
    }
  }
  return Status::Ok();
}

Status CheckKernel(size_t id, const Kernel* kernel) {
  if (kernel == nullptr) return Invalid("kernel {} is absent", id);
  if (kernel->scratch > kMaxArenaBytes) {
    return Invalid("kernel `{}` wants {} bytes of scratch: at most {}", kernel->name,
                   kernel->scratch, kMaxArenaBytes);
  }
  if (kernel->inplace.size() > kMaxInplace) {
    return Invalid("kernel `{}` has more than {} in-place pairs", kernel->name, kMaxInplace);
  }
  if (kernel->temporaries.size() > kMaxTemporaries) {
    return Invalid("kernel `{}` has more than {} temporaries", kernel->name, kMaxTemporaries);
  }
  for (DType dtype : kernel->temporaries) {
    if (!Known(dtype)) return Invalid("kernel `{}` has a temporary of no dtype", kernel->name);
  }
  for (const auto& primitive : kernel->body) {
    if (primitive == nullptr) return Invalid("kernel `{}` has an absent primitive", kernel->name);
    for (int32_t operand : primitive->operands) {
      if (operand < -static_cast<int32_t>(kernel->temporaries.size())) {
        return Invalid("kernel `{}` names a temporary that it does not have", kernel->name);
      }
    }
    for (const auto& attribute : primitive->attributes) {
      if (attribute == nullptr || !Known(attribute->dtype)) {
        return Invalid("kernel `{}` has an attribute of no known dtype", kernel->name);
      }
    }
  }
  return Status::Ok();
}

// Checks rule 3: a communicator has one lane of each device.
Status CheckCommunicators(const Plan& plan) {
  uint64_t members = 0;
  for (size_t id = 0; id < plan.communicators.size(); ++id) {
    const Communicator& communicator = plan.communicators[id];
    members += communicator.members();
    if (communicator.members() == 0 || members > plan.members.size() ||
        !InRange(communicator.first_member(), communicator.members(), plan.members.size())) {
      return Invalid("communicator {} has members that do not exist", id);
    }
    std::set<uint32_t> devices;
    for (uint32_t m = 0; m < communicator.members(); ++m) {
      const uint32_t lane = plan.members[communicator.first_member() + m];
      if (lane >= plan.lanes.size()) return Invalid("communicator {}: no lane {}", id, lane);
      if (!devices.insert(plan.lanes[lane].device()).second) {
        return Invalid("rule 3: communicator {} has two lanes of {}", id,
                       DeviceName(plan, plan.lanes[lane].device()));
      }
    }
  }
  return Status::Ok();
}

}  // namespace

Status CheckModule(const Plan& plan) {
  if (plan.format != kFormat) {
    return Invalid("the plan has format {}, and this program reads format {}", plan.format,
                   kFormat);
  }
  CGRAPH_RETURN_IF_ERROR(CheckDevices(plan));
  for (size_t i = 0; i < plan.partitions.size(); ++i) {
    CGRAPH_RETURN_IF_ERROR(CheckPartition(plan, i));
  }
  for (size_t i = 0; i < plan.actors.size(); ++i) CGRAPH_RETURN_IF_ERROR(CheckActor(plan, i));
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    CGRAPH_RETURN_IF_ERROR(CheckKernel(i, plan.kernels[i].get()));
  }
  CGRAPH_RETURN_IF_ERROR(CheckCopies(plan));
  CGRAPH_RETURN_IF_ERROR(CheckCommunicators(plan));
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    const WeightFile* weight = plan.weights[i].get();
    if (weight == nullptr || weight->first.size() != weight->count.size() ||
        weight->first.size() > kMaxRank) {
      return Invalid("weight {} has a slice whose first and count do not agree", i);
    }
  }
  for (size_t i = 0; i < plan.sites.size(); ++i) {
    if (plan.sites[i].file() >= plan.files.size()) return Invalid("site {} has no file", i);
  }
  for (const auto& parameter : plan.parameters) {
    if (parameter == nullptr) return Invalid("the plan has an absent parameter");
  }
  return Status::Ok();
}

}  // namespace cgraph::plan::check
