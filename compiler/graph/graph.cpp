#include "compiler/graph/graph.h"

#include <limits>

namespace cgraph::graph {
namespace {

// Products of extents saturate: a type that is too large is reported by its limit, never wrapped.
int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::numeric_limits<int64_t>::max();
  return product;
}

}  // namespace

DeviceId ReaderOf(const Op& op, size_t at) {
  if (!op.collective || TraitsOf(op.collective->kind).from != CollectiveTraits::kEach) {
    return op.device;
  }
  const std::vector<DeviceId>& participants = op.collective->participants;
  return participants[at / (op.operands.size() / participants.size())];
}

int64_t Type::elements() const {
  int64_t count = 1;
  for (const Dim& dim : dims) {
    if (dim.extent == 0) return 0;
    count = SaturatingMultiply(count, dim.extent);
  }
  return count;
}

int64_t Type::bytes() const { return SaturatingMultiply(elements(), DTypeBytes(dtype)); }

}  // namespace cgraph::graph
