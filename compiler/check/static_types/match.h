// Matcher: can this value stand where that type is declared?
//
// A Matcher holds what one call (or one declared result) has said so far about the dtype variables
// and runs of a signature. Dimensions themselves are left to elaboration; here only dtypes, ranks
// and kinds are compared, and only where both sides are known.
#ifndef CGRAPH_COMPILER_CHECK_STATIC_TYPES_MATCH_H_
#define CGRAPH_COMPILER_CHECK_STATIC_TYPES_MATCH_H_

#include <map>
#include <optional>
#include <string>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/check/static_types/static_type.h"

namespace cgraph::check {

struct Mismatch {
  Code code;           // which rule: kind, dtype or rank
  std::string reason;  // completes "...: "; may be empty when the two types say it all
};

class Matcher {
 public:
  // A rigid matcher stands inside the body whose signature it is: its variables are the caller's.
  Matcher(const program::Program& program, const program::Signature* signature, bool rigid)
      : program_(program), signature_(signature), rigid_(rigid) {}

  // Numbers bind no dtype, so a call matches its other arguments first.
  std::optional<Mismatch> Match(program::TypeId expected, const StaticType& given);

  // Returns the type with bound variables replaced by their values.
  StaticType Bound(program::TypeId type) const;

 private:
  std::optional<Mismatch> MatchTensor(const program::TensorType& expected, const StaticType& given);
  std::optional<Mismatch> MatchDType(const program::TensorType& expected, DType given);
  std::optional<Mismatch> MatchNumber(const program::TensorType& expected, const StaticType& given);
  std::optional<Mismatch> MatchRank(const program::TensorType& expected, int given);
  std::optional<Mismatch> MatchTuple(const program::TupleType& expected, const StaticType& given);
  std::optional<DType> KnownDType(const program::TensorType& type) const;
  // Returns the dtype of the variable that `W: T` names; nothing of other variables.
  std::optional<DType> DTypeOfNamed(const program::Generic& generic) const;
  bool IsList(program::ExprId argument) const;
  int RunRank(const program::Dim& run) const;           // -1: not known
  int RunRank(program::ExprId function_of_runs) const;  // broadcast(s, t), drop(s, dim)

  const program::Program& program_;
  const program::Signature* signature_;
  bool rigid_;
  std::map<program::GenericId, DType> dtypes_;
  std::map<program::DimVariableId, int> run_ranks_;
};

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_STATIC_TYPES_MATCH_H_
