// The kernel of a collective that goes through host memory. One thread reaches all inputs and
// outputs; operands are ordered by rank and then by tensor, as in the parts of a collective.
#include <vector>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/reductions/across.h"

namespace cgraph::device {
namespace {

using Traits = CollectiveTraits;

struct Collected {
  Traits kind;
  RankResult share;
  size_t tensors;
};

// Returns the bytes of one rank's part: the least that all have room for.
uint64_t PartBytes(const Collected& c, size_t tensor, std::span<const Tensor> in,
                   std::span<const Tensor> out) {
  const bool cut = c.kind.divides();
  const bool joined = c.kind.joins();
  uint64_t bytes = UINT64_MAX;
  for (size_t i = tensor; i < in.size(); i += c.tensors) {
    bytes = std::min(bytes, in[i].bytes() / (cut ? c.share.members : 1));
  }
  for (size_t i = tensor; i < out.size(); i += c.tensors) {
    bytes = std::min(bytes, out[i].bytes() / (joined ? c.share.members : 1));
  }
  return bytes / c.share.width * c.share.width;
}

Status CheckCounts(const Request& request, const Collected& c) {
  const auto expected = [&](Traits::Who who) -> size_t {
    return who == Traits::kEach ? c.share.members : 1;
  };
  if (c.tensors == 0 || c.kind.from == Traits::kNobody ||
      request.inputs.size() != expected(c.kind.from) * c.tensors ||
      request.outputs.size() != expected(c.kind.to) * c.tensors) {
    return Invalid(request, "has other numbers of operands than its participants give and get");
  }
  return Status::Ok();
}

}  // namespace

KernelResult MakeCollective(const Request& request) {
  auto name = TextAttribute(request, "kind"), reduction = TextAttribute(request, "reduction");
  auto members = IntAttribute(request, "members"), root = IntAttribute(request, "root");
  for (const Status& status :
       {name.status(), reduction.status(), members.status(), root.status()}) {
    if (!status.ok()) return status;
  }
  const std::optional<CollectiveKind> kind = ParseCollective(*name);
  const auto operands = static_cast<int64_t>(request.inputs.size() + request.outputs.size());
  if (!kind || *members < 1 || *members > operands || *root < 0 || *root >= *members) {
    return Invalid(request, "has no such kind, members or root");
  }
  const Traits& traits = TraitsOf(*kind);
  const std::optional<Reduction> reduced = ParseReduction(*reduction);
  if (traits.reduces && !reduced) return Invalid(request, "has no such reduction");
  const auto count = static_cast<uint32_t>(*members);
  Collected c{traits,
              {*kind, count, static_cast<uint32_t>(*root), 1, nullptr},
              request.inputs.size() / (traits.from == Traits::kEach ? count : 1)};
  CGRAPH_RETURN_IF_ERROR(CheckCounts(request, c));
  std::vector<RankResult> shares;
  for (size_t t = 0; t < c.tensors; ++t) {
    for (std::span<const OperandType> all : {request.inputs, request.outputs}) {
      for (size_t i = t; i < all.size(); i += c.tensors) {
        if (all[i].dtype != request.inputs[t].dtype) return Invalid(request, "mixes dtypes");
      }
    }
    shares.push_back(c.share);
    shares[t].width = static_cast<uint64_t>(plan::DTypeBytes(request.inputs[t].dtype));
    if (!traits.reduces) continue;
    shares[t].across = FindAcross(request.inputs[t].dtype, *reduced);
    if (!shares[t].across) return NoKernel(request);
  }
  std::vector<const void*> from(count);
  return KernelOf([c, shares, from](std::span<const Tensor> in,
                                    std::span<const Tensor> out) mutable {
    for (size_t t = 0; t < c.tensors; ++t) {
      c.share = shares[t];
      const uint64_t bytes = PartBytes(c, t, in, out);
      for (uint32_t rank = 0; rank < out.size() / c.tensors; ++rank) {
        for (uint32_t p = 0; p < c.share.members; ++p) {
          from[p] = in[c.kind.from == Traits::kEach ? p * c.tensors + t : t].data;
        }
        ComputeRankResult(c.share, rank, from.data(), bytes, out[rank * c.tensors + t].data);
      }
    }
  });
}

}  // namespace cgraph::device
