// A collective among members that the host drives and members on queues, in one process.
//
// The host's members take part in a collective among threads, `carried`. For each member on a queue
// the issuing thread takes part in it, too, with copies in pinned memory: the queue copies the
// member's values there and signals; the thread waits for the signal, does the member's share and,
// when all members have done theirs, issues the copies of its result.
#include <string>
#include <utility>

#include "runtime/base/sync/semaphore.h"
#include "runtime/device/memory.h"
#include "runtime/device/operations.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/plan/kinds.h"
#include "runtime/transport/queue/queue_transport.h"

namespace cgraph::transport {
namespace {

using device::BumpLayout;
using device::SemaphoreArray;
using device::Tensor;
using Traits = CollectiveTraits;

class HostedCollective : public Collective {
 public:
  // Member: one that is on a queue. Its values and its result as the host sees them. Only the
  // thread that issues to its queue touches it.
  //
  // The stage is what that thread has done for the member in this round: Prepare() is called again
  // until it returns true, and must neither arrive nor reduce a second time.
  struct Member {
    std::vector<Tensor> inputs, outputs;
    enum class Stage : uint8_t { kNew, kArrived, kReduced } stage = Stage::kNew;
    bool poison = false;  // of the result
    std::vector<BufferSpan> spans;
  };

  HostedCollective(std::unique_ptr<Collective> carried, device::Memory storage,
                   SemaphoreArray copied, std::vector<Member> members)
      : carried_(std::move(carried)),
        storage_(std::move(storage)),
        copied_(std::move(copied)),
        members_(std::move(members)) {}

  // ---- members of the host's ----

  // The issuer of a member on a queue waits for its copies, too, which a GPU signals.
  void SetEventCount(uint32_t member, EventCount* event_count) override {
    carried_->SetEventCount(member, event_count);
    copied_[member].AddListener(event_count);
  }
  void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
              std::span<const BufferSpan> outputs, bool poison) override {
    carried_->Arrive(member, n, inputs, outputs, poison);
  }
  Presence PresenceOf(uint32_t member, uint64_t n) const override {
    return carried_->PresenceOf(member, n);
  }
  bool AllArrived(uint64_t n) const override { return carried_->AllArrived(n); }
  bool Reduce(uint32_t member, uint64_t n) override { return carried_->Reduce(member, n); }
  bool Left(uint64_t n) const override { return carried_->Left(n); }

  // ---- members on queues ----

  // Does the host's part for a member on a queue before a pass of it is issued (see Issue()). kShow
  // copies its values to the host and needs nothing. kMove needs them arrived and reduced. kEnd
  // copies its result back and needs all members to have left.
  bool Prepare(Pass pass, const QueuedMember& at) override {
    Member& member = members_[at.member];
    switch (pass) {
      case Pass::kShow: return true;
      case Pass::kMove:
        if (member.stage == Member::Stage::kNew) {
          if (!copied_[at.member].Reached(at.round + 1)) return false;
          Arrive(member, at);
        }
        if (member.stage == Member::Stage::kArrived) {
          if (!carried_->AllArrived(at.round)) return false;
          member.poison = carried_->Reduce(at.member, at.round);
          member.stage = Member::Stage::kReduced;
        }
        return true;
      case Pass::kEnd: return carried_->Left(at.round);
    }
    return true;
  }

  void Issue(Pass pass, const QueuedMember& at) override {
    Member& member = members_[at.member];
    switch (pass) {
      case Pass::kShow: {
        // What is poisoned is copied, too: the host looks at the flags when the copies are there.
        // There is one set of copies: before the last pass of the round before, Left() has said
        // that no member reads them any more.
        device::Operation operation = *at.operation;
        operation.predicate = {{}, device::kNoFlag};
        for (size_t t = 0; t < member.inputs.size() && !at.empty; ++t) {
          at.queue->Copy({operation, &at.inputs[at.member][t], &member.inputs[t]});
        }
        at.queue->Signal(&copied_[at.member], at.round + 1);
        return;
      }
      case Pass::kMove: return;
      case Pass::kEnd:
        member.stage = Member::Stage::kNew;
        TakeResult(member, at);
    }
  }

 private:
  void Arrive(Member& member, const QueuedMember& at) {
    const bool poison = at.empty || device::AnyPoisoned(at.checks, *at.operation->bindings);
    member.spans.clear();
    for (size_t t = 0; t < member.inputs.size(); ++t) {
      member.spans.push_back({member.inputs[t].data, at.inputs[at.member][t].bytes()});
    }
    for (size_t t = 0; t < member.outputs.size() && at.outputs != nullptr; ++t) {
      member.spans.push_back({member.outputs[t].data, at.outputs[t].bytes()});
    }
    const std::span<const BufferSpan> all = member.spans;
    carried_->Arrive(at.member, at.round, all.first(member.inputs.size()),
                     all.subspan(member.inputs.size()), poison);
    member.stage = Member::Stage::kArrived;
  }

  // Issued when all members have left: until then they write their parts of each other's results.
  void TakeResult(const Member& member, const QueuedMember& at) {
    if (at.empty || at.outputs == nullptr) return;
    // Another member's part may have failed, which no flag tells that this one checks.
    if (member.poison) return at.queue->Poison(*at.operation);
    for (size_t t = 0; t < member.outputs.size(); ++t) {
      at.queue->Copy({*at.operation, &member.outputs[t], &at.outputs[t],
                      /*describes=*/false, /*moves=*/true, /*fills=*/true});
    }
  }

  std::unique_ptr<Collective> carried_;
  device::Memory storage_;
  SemaphoreArray copied_;  // by member: its values are in the host's memory
  std::vector<Member> members_;            // those of the host's are empty
};

// Returns the bytes of one tensor of a member's result, at bound.
uint64_t ResultBytes(const CollectiveShape& shape, uint64_t input_bytes) {
  const Traits& traits = TraitsOf(shape.kind);
  return input_bytes / (traits.divides() ? shape.members : 1) *
         (traits.joins() ? shape.members : 1);
}

}  // namespace

Result<std::unique_ptr<Collective>> MakeHostedCollective(const CollectiveShape& shape,
                                                         std::unique_ptr<Collective> carried,
                                                         const std::vector<bool>& on_queue,
                                                         device::Device& host) {
  const Traits& traits = TraitsOf(shape.kind);
  std::vector<HostedCollective::Member> members(shape.members);
  BumpLayout layout;
  std::vector<std::pair<Tensor*, uint64_t>> places;
  for (uint32_t m = 0; m < shape.members; ++m) {
    if (!on_queue[m]) continue;
    const size_t count = shape.tensors.size();
    if (traits.gives(m, shape.root)) members[m].inputs.resize(count);
    if (traits.gets(m, shape.root)) members[m].outputs.resize(count);
    for (size_t t = 0; t < members[m].inputs.size(); ++t) {
      places.emplace_back(&members[m].inputs[t], layout.Add(shape.tensors[t].bytes));
    }
    for (size_t t = 0; t < members[m].outputs.size(); ++t) {
      places.emplace_back(&members[m].outputs[t],
                          layout.Add(ResultBytes(shape, shape.tensors[t].bytes)));
    }
    members[m].spans.reserve(2 * count);
  }
  const std::string what = "a collective's copies";
  auto storage = host.Allocate(layout.size(), device::MemoryKind::pinned, what);
  if (!storage.ok()) return storage.status();
  for (auto [tensor, offset] : places) tensor->data = storage->data() + offset;
  auto copied = SemaphoreArray::Make(host, shape.members, what);
  if (!copied.ok()) return copied.status();
  return std::unique_ptr<Collective>(std::make_unique<HostedCollective>(
      std::move(carried), std::move(*storage), std::move(*copied), std::move(members)));
}

}  // namespace cgraph::transport
