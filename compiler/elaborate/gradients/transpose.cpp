#include "compiler/elaborate/gradients/transpose.h"

#include <fmt/format.h>

#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

using graph::DeviceId;
using Traits = CollectiveTraits;

// A collective takes and makes several tensors at once, as many at each participant. Tensors for
// which no participant has a gradient are left out here.
class Transposer {
 public:
  Transposer(ElaborationContext& elaboration, OpMaker& maker, const TapeNode& node,
             const std::vector<std::optional<Tensor>>& gradients, const Activity& activity,
             Range range, Contribute contribute)
      : elaboration_(elaboration),
        maker_(maker),
        node_(node),
        activity_(activity),
        range_(range),
        contribute_(contribute),
        op_(elaboration.builder->graph().ops[std::get<TapeNode::Collective>(node.callee).op]),
        collective_(*op_.collective),
        traits_(TraitsOf(collective_.kind)),
        ranks_(collective_.participants.size()) {
    const size_t givers = traits_.from == Traits::kRoot ? 1 : ranks_;
    tensors_ = op_.operands.size() / givers;
    const size_t getters = traits_.to == Traits::kRoot ? 1 : ranks_;
    results_.resize(getters);
    for (size_t i = 0; i < gradients.size(); ++i) {
      results_[i / tensors_].push_back(gradients[i]);
    }
    for (size_t t = 0; t < tensors_; ++t) {
      const bool has = llvm::any_of(results_, [&](const auto& of) { return of[t].has_value(); });
      if (has) chosen_.push_back(t);
    }
  }

  bool Run() {
    if (chosen_.empty()) return true;
    const bool linear = !collective_.reduction || *collective_.reduction == Reduction::kSum ||
                        *collective_.reduction == Reduction::kAvg;
    if (!linear) return ReportNonlinear();
    switch (collective_.kind) {
      case CollectiveKind::kAllReduce:
        return AllReduce();
      case CollectiveKind::kReduce:
        return FromRoot(CollectiveKind::kBroadcast);
      case CollectiveKind::kGather:
        return FromRoot(CollectiveKind::kScatter);
      case CollectiveKind::kBroadcast:
        return Broadcast();
      case CollectiveKind::kScatter:
        return FromAll(CollectiveKind::kGather, std::nullopt);
      case CollectiveKind::kAllGather:
        return FromAll(CollectiveKind::kReduceScatter, Reduction::kSum);
      case CollectiveKind::kReduceScatter:
        return FromAll(CollectiveKind::kAllGather, std::nullopt);
      case CollectiveKind::kAllToAll:
        return FromAll(CollectiveKind::kAllToAll, std::nullopt);
      case CollectiveKind::kBarrier:
        return true;
    }
    return true;
  }

 private:
  bool ReportNonlinear() {
    Report(elaboration_, Code::kE0908, node_.range,
           fmt::format("`{}({})` has no gradient, and the loss depends on what `of:` names by way "
                       "of it; write stop_gradient(x) for its operands where it only keeps numbers "
                       "small",
                       op_.name, ReductionName(*collective_.reduction)))
        .AddNote(range_, "the gradient is asked for here");
    return false;
  }

  // Each result is the mean, so each gradient counts by 1/n.
  bool averages() const {
    return collective_.reduction && *collective_.reduction == Reduction::kAvg;
  }

  // Returns the ranks that have a gradient of some of their results.
  std::vector<size_t> RanksWithGradients() const {
    std::vector<size_t> ranks;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      if (llvm::any_of(chosen_, [&](size_t t) { return results_[rank][t].has_value(); })) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  bool AllReduce() {
    const std::vector<size_t> having = RanksWithGradients();
    if (having.size() > 1) return FromAll(CollectiveKind::kAllReduce, collective_.reduction);
    // One copy has a gradient: all get it.
    std::vector<Tensor> given = TensorsOf(having[0], collective_.participants[having[0]]);
    return Emit({CollectiveKind::kBroadcast, {}, static_cast<uint32_t>(having[0])}, {given},
                averages());
  }

  // The root's gradients go to all: `kind` is broadcast or scatter.
  bool FromRoot(CollectiveKind kind) {
    return Emit({kind, {}, collective_.root}, {TensorsOf(0, op_.device)}, averages());
  }

  // All give, those without a gradient zeros. The mean over participants is in the reduction, or
  // comes afterwards where there is none.
  bool FromAll(CollectiveKind kind, std::optional<Reduction> reduction) {
    std::vector<std::vector<Tensor>> given;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      given.push_back(TensorsOf(rank, collective_.participants[rank]));
    }
    return Emit({kind, reduction, collective_.root}, std::move(given), averages() && !reduction);
  }

  // The gradients of copies are added at the root, by those that have one; where one has, it is a
  // message.
  bool Broadcast() {
    const std::vector<size_t> having = RanksWithGradients();
    if (having.size() == 1) return ContributeAt({TensorsOf(having[0], DeviceId())}, false);
    std::vector<std::vector<Tensor>> given;
    std::vector<DeviceId> devices;
    uint32_t root = 0;
    for (size_t rank : having) {
      if (rank == collective_.root) root = static_cast<uint32_t>(devices.size());
      devices.push_back(collective_.participants[rank]);
      given.push_back(TensorsOf(rank, devices.back()));
    }
    return Emit({CollectiveKind::kReduce, Reduction::kSum, root}, std::move(given), false, devices);
  }

  // Returns the chosen gradients of a rank's results; zeros, on `device`, where there are none.
  std::vector<Tensor> TensorsOf(size_t rank, DeviceId device) {
    std::vector<Tensor> tensors;
    for (size_t t : chosen_) {
      if (results_[rank][t]) {
        tensors.push_back(*results_[rank][t]);
        continue;
      }
      llvm::SaveAndRestore<std::optional<DeviceId>> on(elaboration_.on, device);
      const graph::ValueId result = op_.results[rank * tensors_ + t];
      tensors.push_back(maker_.Zeros(elaboration_.builder->type(result)));
    }
    return tensors;
  }

  struct Transposed {
    CollectiveKind kind;
    std::optional<Reduction> reduction;
    uint32_t root;
  };

  bool Emit(const Transposed& transposed, std::vector<std::vector<Tensor>> given, bool scale,
            std::vector<DeviceId> devices = {}) {
    Participants found;
    found.devices = devices.empty() ? collective_.participants : std::move(devices);
    found.ranges.assign(found.devices.size(), node_.range);
    for (size_t rank = 0; rank < given.size(); ++rank) {
      for (Tensor& tensor : given[rank]) {
        if (!tensor.value.valid()) return false;
        // A gradient that was passed on may still be elsewhere, and a participant gives its own.
        const DeviceId home = TraitsOf(transposed.kind).from == Traits::kEach
                                  ? found.devices[rank]
                                  : found.devices[transposed.root];
        if (elaboration_.builder->value(tensor.value).home != home) {
          llvm::SaveAndRestore<std::optional<DeviceId>> on(elaboration_.on, home);
          tensor = maker_.Copy(tensor);
          if (!tensor.value.valid()) return false;
        }
        tensor.via = {};
      }
    }
    found.tensors = std::move(given);
    const std::optional<graph::OpId> made = EmitCollective(
        elaboration_,
        {transposed.kind, transposed.reduction, transposed.root, collective_.via, node_.range},
        found);
    if (!made) return false;
    std::vector<std::vector<Tensor>> parts;
    for (graph::ValueId result : elaboration_.builder->graph().ops[*made].results) {
      if (parts.empty() || parts.back().size() == chosen_.size()) parts.emplace_back();
      parts.back().push_back(Tensor{result});
    }
    return ContributeAt(parts, scale);
  }

  // Hands on the gradients of the operands, by rank.
  bool ContributeAt(const std::vector<std::vector<Tensor>>& parts, bool scale) {
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      for (size_t i = 0; i < chosen_.size(); ++i) {
        const Tensor& of = *node_.arguments[rank * tensors_ + chosen_[i]].As<Tensor>();
        const graph::ValueId root = graph::RootOf(elaboration_.builder->graph(), of.value);
        if (!activity_.IsActive(root)) continue;
        Tensor part = parts[rank][i];
        if (scale) {
          llvm::SaveAndRestore<std::optional<DeviceId>> on(
              elaboration_.on, elaboration_.builder->value(part.value).home);
          part = maker_.Scale(part, 1.0 / static_cast<double>(ranks_));
        }
        if (!part.value.valid() || !contribute_(of, part)) return false;
      }
    }
    return true;
  }

  ElaborationContext& elaboration_;
  OpMaker& maker_;
  const TapeNode& node_;
  const Activity& activity_;
  const Range range_;
  Contribute contribute_;
  const graph::Op op_;                   // a copy: the graph grows
  const graph::Collective& collective_;  // of `op_`
  const Traits& traits_;
  const size_t ranks_;
  size_t tensors_ = 0;  // of one participant
  std::vector<std::vector<std::optional<Tensor>>>
      results_;                 // gradients, by rank; of the root alone
  std::vector<size_t> chosen_;  // the tensors of which some rank has a gradient
};

}  // namespace

bool Transpose(ElaborationContext& elaboration, OpMaker& maker, const TapeNode& node,
               const std::vector<std::optional<Tensor>>& gradients, const Activity& activity,
               Range range, Contribute contribute) {
  return Transposer(elaboration, maker, node, gradients, activity, range, contribute).Run();
}

}  // namespace cgraph::elaborate
