// look: tells whether another op would fail. The compiler puts it before the first op of a call
// that writes a state in place (compiler/graph/fuse/hoist_checks.cpp), so that a call that fails
// has written nothing.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {

// A kernel that fails where the other op would, with that op's message. Its operands are those that
// say where the op reads or writes, without the tensor itself, and behind them, in order, the
// lengths that are known only while running, which `lengths` has as -1. Of attention, the first
// operand is how many keys each sequence has; `lengths` is the least that it may be, and `extents`
// the most.
KernelResult MakeLook(const Request& request) {
  Result<std::string> op = TextAttribute(request, "op");
  if (!op.ok()) return op.status();
  Result<std::vector<int64_t>> extents = IntsAttribute(request, "extents");
  if (!extents.ok()) return extents.status();
  Result<std::vector<int64_t>> lengths = IntsAttribute(request, "lengths");
  if (!lengths.ok()) return lengths.status();
  const bool attention = *op == "attention";
  for (const OperandType& at : request.inputs) {
    if (attention && at.dtype == DType::i64) continue;  // a length, or one of each sequence
    CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, at, DType::i64));
  }
  const auto unknown = static_cast<size_t>(std::count_if(
      lengths->begin(), lengths->end(), [](int64_t length) { return length < 0; }));
  const auto expect = [&](size_t places, size_t sizes, size_t parts) {
    const bool suit = extents->size() == sizes && lengths->size() == parts;
    if (suit) return ExpectCounts(request, places + unknown, 0);
    return Invalid(request, fmt::format("{} extents and {} lengths do not suit \"{}\"",
                                        extents->size(), lengths->size(), *op));
  };
  using Inputs = std::span<const Tensor>;
  if (attention) {
    CGRAPH_RETURN_IF_ERROR(expect(1, 1, 1));
    if (unknown > 0) CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[1], DType::i64));
    return KernelOf([length = lengths->front(), most = extents->front()](Inputs in, Inputs,
                                                                         std::string& error) {
      const int64_t least = length < 0 ? *in[1].as<int64_t>() : length;
      return HaveLengths(in[0].as<int64_t>(), in[0].rank == 0 ? -1 : in[0].elements(), least, most,
                         error);
    });
  }
  if (*op == "slice") {
    CGRAPH_RETURN_IF_ERROR(expect(2, 1, 0));
    return KernelOf([extent = extents->front()](Inputs in, Inputs, std::string& error) {
      return Fits("slice", *in[0].as<int64_t>(), *in[1].as<int64_t>(), extent, error);
    });
  }
  if (*op == "update_row") {
    CGRAPH_RETURN_IF_ERROR(expect(1, 1, 0));
    return KernelOf([rows = extents->front()](Inputs in, Inputs, std::string& error) {
      return HasRow(*in[0].as<int64_t>(), rows, error);
    });
  }
  if (*op != "update") return Invalid(request, fmt::format("it cannot look for \"{}\"", *op));
  CGRAPH_RETURN_IF_ERROR(expect(lengths->size(), lengths->size(), lengths->size()));
  return KernelOf([extents = *extents, lengths = *lengths](Inputs in, Inputs, std::string& error) {
    size_t next = lengths.size();  // of the operands that are lengths
    for (size_t i = 0; i < lengths.size(); ++i) {
      const int64_t length = lengths[i] < 0 ? *in[next++].as<int64_t>() : lengths[i];
      if (!Fits("update", *in[i].as<int64_t>(), length, extents[i], error)) return false;
    }
    return true;
  });
}

}  // namespace cgraph::device
