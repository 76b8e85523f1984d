#include "runtime/transport/nccl/native_collective.h"

#include <algorithm>
#include <utility>

#include "runtime/base/sync/semaphore.h"
#include "runtime/device/memory.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/plan/kinds.h"
#include "runtime/transport/queue/unhosted_collective.h"

namespace cgraph::transport {
namespace {

using device::SemaphoreArray;

class NativeCollective : public UnhostedCollective {
 public:
  NativeCollective(const CollectiveShape& shape, std::shared_ptr<device::Communicator> communicator,
                   const std::vector<device::Device*>& here, SemaphoreArray arrived,
                   std::vector<device::Memory> flags)
      : UnhostedCollective(shape),
        communicator_(std::move(communicator)),
        arrived_(std::move(arrived)),
        flags_(std::move(flags)) {
    for (uint32_t member = 0; member < shape.members; ++member) {
      here_.push_back(here.empty() || here[member] != nullptr);
    }
  }

  void SetEventCount(uint32_t member, EventCount* event_count) override {
    for (uint32_t other = 0; other < shape_.members && here_[member]; ++other) {
      if (other != member && here_[other]) arrived_[other].AddListener(event_count);
    }
  }

  bool Left(uint64_t n) const override { return AllArrived(n); }

  void Issue(Pass pass, const QueuedMember& at) override {
    if (pass == Pass::kShow) at.queue->Signal(&arrived_[at.member], at.round + 1);
    if (pass != Pass::kMove) return;
    // The members wait for each other's values in the collective itself. They do not where there
    // are none; and flags are to be seen behind a wait for the queue that has set them.
    if (!Moves(at) || at.queue->Looks(*at.operation)) {
      for (uint32_t other = 0; other < shape_.members; ++other) {
        if (other == at.member || !here_[other]) continue;
        at.queue->Wait(&arrived_[other], at.round + 1, at.operation->tag);
      }
    }
    if (at.empty) return;  // at all members
    if (!flags_.empty()) TellFlags(at);
    for (uint32_t t = 0; t < shape_.tensors.size(); ++t) Collect(at, t);
  }

 private:
  TimelineSemaphore& Arrived(uint32_t member) const override { return arrived_[member]; }

  bool Moves(const QueuedMember& at) const {
    if (at.empty) return false;
    for (uint32_t t = 0; t < shape_.tensors.size(); ++t) {
      if (PartBytes(at, t) != 0) return true;
    }
    return false;
  }

  // TellFlags() runs in every round in which members come, whatever is moved: a member cannot know
  // whether another one has a flag to tell.
  void TellFlags(const QueuedMember& at) {
    device::Collect collect{*at.operation};
    collect.communicator = communicator_.get();
    collect.member = at.member;
    collect.kind = CollectiveKind::kAllReduce;
    collect.reduction = Reduction::kMax;
    collect.dtype = plan::DType::u8;
    collect.elements = 1;
    collect.from = collect.to = flags_[at.member].data();
    collect.tells_flags = true;
    collect.checks = at.checks;
    at.queue->Collect(collect);
  }

  void Collect(const QueuedMember& at, uint32_t tensor) {
    device::Collect collect{*at.operation};
    collect.communicator = communicator_.get();
    collect.member = at.member;
    collect.kind = shape_.kind;
    collect.reduction = shape_.reduction;
    collect.root = shape_.root;
    collect.dtype = shape_.tensors[tensor].dtype;
    const auto width = static_cast<uint64_t>(plan::DTypeBytes(collect.dtype));
    collect.elements = PartBytes(at, tensor) / width;
    if (Gives(at.member)) collect.from = at.inputs[at.member][tensor].data;
    if (at.outputs != nullptr) collect.to = at.outputs[tensor].data;
    at.queue->Collect(collect);
  }

  std::shared_ptr<device::Communicator> communicator_;
  SemaphoreArray arrived_;  // by member
  std::vector<bool> here_;  // by member
  // By member that is here: a byte of its device's memory, in which flags travel. None: they do
  // not.
  std::vector<device::Memory> flags_;
};

}  // namespace

bool CarriesOut(device::Device& first, const CollectiveShape& shape) {
  device::Communicators* const communicators = first.communicators();
  return communicators != nullptr && !shape.tensors.empty() &&
         std::all_of(shape.tensors.begin(), shape.tensors.end(), [&](const auto& tensor) {
           return communicators->CarriesOut(shape.kind, shape.reduction, tensor.dtype);
         });
}

Result<std::unique_ptr<Collective>> MakeNativeCollective(
    const CollectiveShape& shape, std::shared_ptr<device::Communicator> communicator,
    const std::vector<device::Device*>& here, bool tell_flags, device::Device& host) {
  std::vector<device::Memory> flags(tell_flags ? shape.members : 0);
  for (size_t member = 0; member < flags.size(); ++member) {
    if (here[member] == nullptr) continue;
    auto byte = here[member]->Allocate(1, device::MemoryKind::plain, "a collective's flag");
    if (!byte.ok()) return byte.status();
    flags[member] = std::move(*byte);
  }
  auto arrived = SemaphoreArray::Make(host, shape.members, "a collective");
  if (!arrived.ok()) return arrived.status();
  return std::unique_ptr<Collective>(std::make_unique<NativeCollective>(
      shape, std::move(communicator), here, std::move(*arrived), std::move(flags)));
}

}  // namespace cgraph::transport
