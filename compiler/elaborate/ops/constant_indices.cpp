// Indices that are known at compile time, of ops that fail while running where an index is out of
// range: such a call always fails, so it is refused.
#include <optional>
#include <string>

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/arithmetic.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {
namespace {

// The kernel of the library's `embedding`, which takes the table first.
constexpr const char* kGatherRowsKernel = "gather_rows";

// ConstantIndices: of one op whose operands and attributes are there, in the kernel's order.
class ConstantIndices {
 public:
  ConstantIndices(const ElaborationContext& elaboration, const graph::Op& op)
      : elaboration_(elaboration), op_(op) {}

  // Returns what is out of range, or nothing.
  std::string Problem() const {
    if (op_.kernel == kSliceKernel) return Slice();
    if (op_.kernel == kUpdateKernel) return Update();
    if (op_.kernel == kUpdateRowKernel) return Row(2, Extent(0, 0));
    if (op_.kernel == kAttentionPrefixKernel) return Length();
    const bool rows = op_.kernel == kGatherRowsKernel && op_.operands.size() == 2 && Rank(0) > 0;
    return rows ? Row(1, Extent(0, 0)) : "";
  }

 private:
  std::optional<int64_t> Known(size_t operand) const {
    const graph::Value& value = elaboration_.builder->value(op_.operands[operand].value);
    if (value.storage != graph::Value::kConstant || value.type.dtype != DType::kI64) {
      return std::nullopt;
    }
    return DecodeI64(value.constant);
  }
  size_t Rank(size_t operand) const {
    return elaboration_.builder->type(op_.operands[operand].value).dims.size();
  }
  // Returns how long a dimension is at the most.
  int64_t Extent(size_t operand, size_t dim) const {
    return elaboration_.builder->type(op_.operands[operand].value).dims[dim].extent;
  }

  std::string Slice() const {
    const auto dim = static_cast<size_t>(*std::get_if<int64_t>(&op_.attributes[0].value));
    const std::optional<int64_t> from = Known(1), length = Known(2);
    const int64_t extent = Extent(0, dim);
    const int64_t begin = from.value_or(0), count = length.value_or(0);
    if (begin >= 0 && count >= 0 && begin <= extent && count <= extent - begin) return "";
    return fmt::format("{} from {} on reach beyond dimension {}, which has {}{}",
                       Counted(count, "element"), begin, dim, AtMost(0, dim), extent);
  }

  std::string Update() const {
    for (size_t dim = 0; dim < Rank(0); ++dim) {
      const std::optional<int64_t> at = Known(2 + dim);
      const int64_t extent = Extent(0, dim);
      const bool bounded = !AtMost(1, dim).empty();  // the part may be shorter
      const int64_t part = bounded ? 0 : Extent(1, dim);
      if (!at || (*at >= 0 && *at <= extent && part <= extent - *at)) continue;
      return fmt::format("{} at {} reach beyond dimension {} of `into`, which has {}{}",
                         Counted(part, "element"), *at, dim, AtMost(0, dim), extent);
    }
    return "";
  }

  std::string Length() const {
    const std::optional<int64_t> length = Known(3);
    const size_t rows = Rank(1) - 2;
    if (!length || (*length >= 0 && *length <= Extent(1, rows))) return "";
    return fmt::format("`length` is {}, and k has {}{} rows", *length, AtMost(1, rows),
                       Extent(1, rows));
  }

  std::string Row(size_t operand, int64_t rows) const {
    const std::optional<int64_t> index = Known(operand);
    if (!index || (*index >= 0 && *index < rows)) return "";
    return fmt::format("index {} is out of range: there are {}", *index, rows);
  }

  std::string AtMost(size_t operand, size_t dim) const {
    const graph::Type& type = elaboration_.builder->type(op_.operands[operand].value);
    return type.dims[dim].symbol.valid() ? "at most " : "";
  }

  const ElaborationContext& elaboration_;
  const graph::Op& op_;
};

}  // namespace

bool CheckConstantIndices(ElaborationContext& elaboration, const OpCall& call,
                          const graph::Op& op) {
  if (!op.fails || elaboration.speculative) return true;
  const std::string problem = ConstantIndices(elaboration, op).Problem();
  if (problem.empty()) return true;
  Report(elaboration, Code::kE0511, call.range, fmt::format("`{}`: {}", op.name, problem));
  return false;
}

}  // namespace cgraph::elaborate
