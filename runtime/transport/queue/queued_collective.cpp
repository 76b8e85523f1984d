// A collective among queues that carry out communications by themselves, in one process.
//
// Every member signals that its values are there, waits for all others, and makes its own result
// from their values where these lie: by copies, or by a kernel that reduces in rank order, so that
// results have the same bits at all members. Then it signals that it has left, and waits until all
// others have: only then may what is behind in its queue write where they read its values. The
// three steps are the three passes, so a work queue issues no wait before the signal that ends it.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/sync/semaphore.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/plan/kinds.h"
#include "runtime/transport/queue/queue_transport.h"
#include "runtime/transport/queue/unhosted_collective.h"

namespace cgraph::transport {
namespace {

using device::Device;
using device::Executable;
using device::SemaphoreArray;
using device::Tensor;

class QueuedCollective : public UnhostedCollective {
 public:
  QueuedCollective(const CollectiveShape& shape, uint32_t frames,
                   SemaphoreArray semaphores,
                   std::vector<std::unique_ptr<Executable>> reducers)
      : UnhostedCollective(shape),
        members_(shape.members),
        tensors_(shape.tensors.size()),
        semaphores_(std::move(semaphores)),
        reducers_(std::move(reducers)),
        parts_(uint64_t{frames} * members_ * tensors_ * 2 * (members_ + 1)) {}

  void SetEventCount(uint32_t member, EventCount* event_count) override {
    for (uint32_t other = 0; other < members_; ++other) {
      if (other == member) continue;
      Arrived(other).AddListener(event_count);
      HasLeft(other).AddListener(event_count);
    }
  }

  bool Left(uint64_t n) const override {
    for (uint32_t member = 0; member < members_; ++member) {
      if (!HasLeft(member).Reached(n + 1)) return false;
    }
    return true;
  }

  Presence PresenceOf(uint32_t member, uint64_t n) const override {
    if (HasLeft(member).Reached(n + 1)) return Presence::kLeft;
    return UnhostedCollective::PresenceOf(member, n);
  }

  void Issue(Pass pass, const QueuedMember& at) override {
    const device::Tag& tag = at.operation->tag;
    switch (pass) {
      case Pass::kShow:
        at.queue->Signal(&Arrived(at.member), at.round + 1);
        return;
      case Pass::kMove:
        // An empty round signals and waits as others do: the semaphores count rounds. No
        // member moves anything in it.
        for (uint32_t other = 0; other < members_; ++other) {
          if (other != at.member) at.queue->Wait(&Arrived(other), at.round + 1, tag);
        }
        for (uint32_t t = 0; t < tensors_ && !at.empty && at.outputs != nullptr; ++t) {
          MakeResult(at, t);
        }
        at.queue->Signal(&HasLeft(at.member), at.round + 1);
        return;
      case Pass::kEnd:
        for (uint32_t other = 0; other < members_; ++other) {
          if (other != at.member) at.queue->Wait(&HasLeft(other), at.round + 1, tag);
        }
    }
  }

 private:
  TimelineSemaphore& Arrived(uint32_t member) const override { return semaphores_[2 * member]; }
  TimelineSemaphore& HasLeft(uint32_t member) const { return semaphores_[2 * member + 1]; }

  // Makes this member's result of one tensor from parts of what the givers have.
  void MakeResult(const QueuedMember& at, uint32_t tensor) {
    const uint64_t bytes = PartBytes(at, tensor);
    const Tensor& out = at.outputs[tensor];
    Tensor* parts = PartsOf(at, tensor);  // from and to, by giver
    const uint64_t offset = traits_.divides() ? at.member * bytes : 0;
    if (traits_.reduces) {
      for (uint32_t giver = 0; giver < members_; ++giver) {
        parts[giver] = Part(at.inputs[giver][tensor], offset, bytes);
      }
      parts[members_] = Part(out, 0, bytes);
      const uint64_t reducer = uint64_t{at.member} * tensors_ + tensor;
      device::Launch launch{*at.operation, reducers_[reducer].get(), parts,
                            static_cast<uint16_t>(members_), 1};
      return at.queue->Launch(launch);
    }
    for (uint32_t giver = 0; giver < members_; ++giver) {
      if (!Gives(giver)) continue;
      Tensor* from = parts + 2 * giver;
      from[0] = Part(at.inputs[giver][tensor], offset, bytes);
      from[1] = Part(out, traits_.joins() ? giver * bytes : 0, bytes);
      at.queue->Copy({*at.operation, &from[0], &from[1]});
    }
  }

  // The operands of what a member issues for one tensor in a frame: they stay until it is over.
  Tensor* PartsOf(const QueuedMember& at, uint32_t tensor) {
    const uint64_t frame = at.operation->bindings->frame;
    return parts_.data() +
           ((frame * members_ + at.member) * tensors_ + tensor) * 2 * (members_ + 1);
  }

  static Tensor Part(const Tensor& whole, uint64_t offset, uint64_t bytes) {
    Tensor part;
    part.dtype = whole.dtype;
    part.data = static_cast<std::byte*>(whole.data) + offset;
    part.rank = 1;
    part.dims[0] = static_cast<int64_t>(bytes) / plan::DTypeBytes(whole.dtype);
    return part;
  }

  const uint32_t members_;
  const uint64_t tensors_;
  SemaphoreArray semaphores_;
  std::vector<std::unique_ptr<Executable>> reducers_;  // by member, then tensor
  // By frame, member and tensor: a queue reads its operands after Issue() has returned, and each
  // frame may have an operation in progress.
  std::vector<Tensor> parts_;
};

std::unique_ptr<plan::Attribute> TextAttribute(const char* name, const char* text) {
  auto attribute = std::make_unique<plan::Attribute>();
  attribute->name = name;
  attribute->text = text;
  return attribute;
}

std::unique_ptr<plan::Attribute> IntAttribute(const char* name, int64_t number) {
  auto attribute = std::make_unique<plan::Attribute>();
  attribute->name = name;
  attribute->ints = {number};
  return attribute;
}

// Returns the kernel that reduces `members` tensors to one.
plan::Kernel ReducingKernel(Reduction reduction, uint32_t members) {
  plan::Kernel kernel;
  kernel.name = "collective";
  auto primitive = std::make_unique<plan::Primitive>();
  primitive->op = "collective";
  primitive->attributes.push_back(TextAttribute("kind", TraitsOf(CollectiveKind::kReduce).name));
  primitive->attributes.push_back(TextAttribute("reduction", ReductionName(reduction)));
  primitive->attributes.push_back(IntAttribute("members", members));
  primitive->attributes.push_back(IntAttribute("root", 0));
  for (uint32_t i = 0; i <= members; ++i) primitive->operands.push_back(static_cast<int>(i));
  kernel.body.push_back(std::move(primitive));
  return kernel;
}

}  // namespace

Result<std::unique_ptr<Collective>> MakeQueuedCollective(const CollectiveShape& shape,
                                                         std::span<Device* const> devices,
                                                         Device& host, uint32_t frames) {
  std::vector<std::unique_ptr<Executable>> reducers;
  const CollectiveTraits& traits = TraitsOf(shape.kind);
  for (uint32_t member = 0; traits.reduces && member < shape.members; ++member) {
    const plan::Kernel kernel = ReducingKernel(*shape.reduction, shape.members);
    for (const CollectiveShape::Tensor& tensor : shape.tensors) {
      if (devices[member] == nullptr) {  // the rank that serves this member makes its own
        reducers.emplace_back();
        continue;
      }
      device::OperandType type;
      type.dtype = tensor.dtype;
      type.rank = 1;
      type.dims[0] = static_cast<int64_t>(tensor.bytes) / plan::DTypeBytes(tensor.dtype) /
                     (traits.divides() ? shape.members : 1);
      const std::vector<device::OperandType> inputs(shape.members, type);
      auto made = devices[member]->MakeKernel(kernel, inputs, {&type, 1});
      if (!made.ok()) return made.status();
      reducers.push_back(std::move(*made));
    }
  }
  auto semaphores =
      SemaphoreArray::Make(host, size_t{2} * shape.members, "a collective");
  if (!semaphores.ok()) return semaphores.status();
  return std::unique_ptr<Collective>(std::make_unique<QueuedCollective>(
      shape, frames, std::move(*semaphores), std::move(reducers)));
}

}  // namespace cgraph::transport
