// OpMaker: calls of the ops that gradients are put together with.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_MAKE_OP_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_MAKE_OP_H_

#include <optional>
#include <vector>

#include "compiler/elaborate/elaboration_context.h"

namespace cgraph::elaborate {

// Returns whether a value is a param, as it was at some time.
bool IsParam(const ElaborationContext& elaboration, graph::ValueId id);

// Returns the type of a value's gradient: its own, but f32 of an f16 or bf16 param.
graph::Type GradientType(const ElaborationContext& elaboration, graph::ValueId id);

// Where a call fails, which it does only by the limits of the budget or in the library, the fault
// is reported and the result invalid.
class OpMaker {
 public:
  OpMaker(ElaborationContext& elaboration, Range range)
      : elaboration_(elaboration), range_(range) {}

  Tensor Zeros(const graph::Type& type);
  Tensor Ones(const graph::Type& type);
  Tensor Add(Tensor a, Tensor b);
  Tensor Multiply(Tensor a, Tensor b);
  Tensor Scale(Tensor a, double factor);
  Tensor Sqrt(Tensor a);
  Tensor Copy(Tensor a);
  Tensor Cast(Tensor a, DType dtype);
  Tensor SumTo(Tensor a, const graph::Type& type);
  Tensor Shaped(Tensor a, const graph::Type& type);
  Tensor Update(Tensor into, Tensor part, const std::vector<int64_t>& at);
  // Returns `a` in a type: cast, and summed over what was broadcast.
  Tensor Adapt(Tensor a, const graph::Type& type);

  const graph::Type& type(Tensor a) const;
  ElaborationContext& elaboration() const { return elaboration_; }
  Range range() const { return range_; }

 private:
  Tensor Make(program::OpId op, std::vector<Value> arguments,
              std::optional<graph::Type> type = std::nullopt,
              std::optional<DType> dtype = std::nullopt);

  ElaborationContext& elaboration_;
  const Range range_;
};

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_MAKE_OP_H_
