// The kernel of a collective whose inputs and outputs all lie on this device. Operands are ordered
// by rank and then by tensor.
//
// A part is what is divided by rank: as many elements as every operand has room for. Where the host
// does not know the extents, a grid for each operand finds them.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/kinds/collective.h"
#include "runtime/device/cuda/kernels/collective/arguments.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

using Traits = CollectiveTraits;

const char* NameOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum: return "AcrossSum";
    case Reduction::kProd: return "AcrossProd";
    case Reduction::kMin: return "AcrossMin";
    case Reduction::kMax: return "AcrossMax";
    case Reduction::kAvg: return "AcrossAvg";
  }
  return "";
}

class Collected final : public CudaExecutable {
 public:
  static ExecutableResult Make(const Making& making) {
    const CollectiveKind kind =
        *ParseCollective(*device::TextAttribute(making.request, "kind"));
    std::unique_ptr<Collected> made(new Collected(making, TraitsOf(kind)));
    if (made->members_ > kMostMembers) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("a collective of {} members on one device; {} are the most",
                                made->members_, kMostMembers));
    }
    Result<CUfunction> copy = making.Find("CopyPart"), find = making.Find("FindPart");
    if (!copy.ok()) return copy.status();
    if (!find.ok()) return find.status();
    made->copy_ = *copy;
    made->find_ = *find;
    for (size_t t = 0; t < made->tensors_; ++t) {
      const DType dtype = making.in(t).dtype;
      made->widths_.push_back(plan::DTypeBytes(dtype));
      if (!made->traits_.reduces) continue;
      const std::string reduction = *device::TextAttribute(making.request, "reduction");
      Result<CUfunction> across = making.Find(NameOf(*ParseReduction(reduction)), dtype);
      if (!across.ok()) return across.status();
      made->across_.push_back(*across);
    }
    return ExecutableResult(std::move(made));
  }

  CUresult Launch(const Call& call) override {
    for (size_t t = 0; t < tensors_; ++t) {
      Extent part;
      CUresult result = FindPart(call, t, part);
      for (size_t i = t; result == CUDA_SUCCESS && i < call.outputs.size(); i += tensors_) {
        result = LaunchRank(call, t, static_cast<int64_t>(i / tensors_), part);
      }
      if (result != CUDA_SUCCESS) return result;
    }
    return call.outputs.empty() ? launcher_.PassPoison(call) : CUDA_SUCCESS;
  }
  uint64_t scratch() const override { return tensors_ * sizeof(int64_t); }

 private:
  Collected(const Making& making, const Traits& traits)
      : launcher_(making.launcher), traits_(traits),
        members_(*device::IntAttribute(making.request, "members")),
        root_(*device::IntAttribute(making.request, "root")) {
    const auto givers = traits.from == Traits::kEach ? static_cast<size_t>(members_) : 1;
    tensors_ = making.request.inputs.size() / givers;
  }

  // Finds how many elements a part of tensor t has; on the device where the host does not know.
  CUresult FindPart(const Call& call, size_t t, Extent& part) const {
    int64_t bound = INT64_MAX;
    bool known = true;
    const auto for_each = [&](auto use) {
      for (const bool in : {true, false}) {
        const std::span<const View> views = in ? call.inputs : call.outputs;
        const bool divided = in ? traits_.divides() : traits_.joins();
        for (size_t i = t; i < views.size(); i += tensors_) use(views[i], divided ? members_ : 1);
      }
    };
    for_each([&](const View& view, int64_t parts) {
      bound = std::min(bound, BoundOfElements(view) / parts);
      known &= IsKnown(view);
    });
    part = {bound, nullptr};
    if (known) return CUDA_SUCCESS;
    int64_t* least = static_cast<int64_t*>(call.scratch) + t;
    part.where = least;
    int64_t begins = 1;
    CUresult result = CUDA_SUCCESS;
    for_each([&](const View& view, int64_t parts) {
      if (result != CUDA_SUCCESS) return;
      result = launcher_.Blocks(call, find_, 1, 1, view, parts, least, begins);
      begins = 0;
    });
    return result;
  }

  const void* Input(const Call& call, size_t t, int64_t rank) const {
    const auto i = traits_.from == Traits::kEach ? static_cast<size_t>(rank) * tensors_ + t : t;
    return call.inputs[i].data;
  }

  // Computes what a rank gets of tensor t.
  CUresult LaunchRank(const Call& call, size_t t, int64_t rank, const Extent& part) const {
    void* out = call.outputs[static_cast<size_t>(rank) * tensors_ + t].data;
    const bool divided = traits_.divides();
    if (traits_.reduces) {
      Across across;
      across.members = members_;
      for (int64_t m = 0; m < members_; ++m) across.from[m] = Input(call, t, m);
      across.rank = divided ? rank : 0;
      across.elements = part;
      across.out = out;
      return launcher_.Items(call, across_[t], part.number, across);
    }
    CUresult result = CUDA_SUCCESS;
    const int64_t copies = traits_.joins() ? members_ : 1;
    for (int64_t m = 0; result == CUDA_SUCCESS && m < copies; ++m) {
      PartCopy copy;
      copy.from = Input(call, t, traits_.joins() ? m : root_);
      copy.to = out;
      copy.from_part = divided ? rank : 0;
      copy.to_part = m;
      copy.elements = part;
      copy.width = widths_[t];
      result = launcher_.Items(call, copy_, (part.number * copy.width + 15) / 16, copy);
    }
    return result;
  }

  Launcher launcher_;
  Traits traits_;
  int64_t members_, root_;
  size_t tensors_ = 0;
  std::vector<int64_t> widths_;  // bytes of an element, by tensor
  std::vector<CUfunction> across_;
  CUfunction copy_ = nullptr, find_ = nullptr;
};

}  // namespace

ExecutableResult MakeCollective(const Making& making) { return Collected::Make(making); }

}  // namespace cgraph::cuda
