// Frame: the names that one body, op or declaration sees while it is elaborated: its locals, and
// what its dimension variables and generic dtypes were bound to, and where.
#ifndef CGRAPH_COMPILER_ELABORATE_FRAME_H_
#define CGRAPH_COMPILER_ELABORATE_FRAME_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/elaborate/values/value.h"
#include "llvm/ADT/SmallVector.h"

namespace cgraph::elaborate {

// The hint where two extents are compared that are known only while running.
inline constexpr char kOneValue[] =
    "; extents known only while running are equal when they are one value: one input's dimension, "
    "or one `length:`; same(x, y, dim: 0) looks while running";

using Dims = llvm::SmallVector<graph::Dim, 4>;

// BoundDims: a dimension variable's extent (one), or a run's dimensions.
struct BoundDims {
  Dims dims;
  const std::string* from = nullptr;  // the parameter that bound it; null: a type hint
  Range range;                        // where its value stood
};
struct BoundDType {
  DType dtype;
  const std::string* from = nullptr;
  Range range;
};

// Subject: the declaration that a value is matched against, for messages: "parameter `x`", declared
// there.
struct Subject {
  const char* role = "";
  const std::string* name = nullptr;
  Range declared;
  program::TypeId whole = {};  // the named type of which this is a field
  size_t field = 0;
};

// DeferredDim: one dimension whose declared size waits until all parameters are bound.
struct DeferredDim {
  program::TypeId type;
  graph::Type actual;
  Subject subject;
  Range range;
  program::ExprId expr;
  size_t position = 0;
};

struct Frame {
  Frame(std::string subject, const program::Signature* signature,
        const Table<program::LocalId, program::Local>* names)
      : subject(std::move(subject)), signature(signature), names(names) {
    if (names) locals.resize(names->size());
    if (!signature) return;
    dims.resize(signature->dim_variables.size());
    run_ranks.resize(signature->dim_variables.size());
    generics.resize(signature->generics.size());
  }

  std::string subject;  // "stage[2].forward", "matmul"
  std::string update;   // "`sgd` updates `stage[2].w`": what one of an optimizer's calls does
  const program::Signature* signature;
  const Table<program::LocalId, program::Local>* names;
  std::vector<std::optional<Value>> locals;
  std::vector<std::optional<BoundDims>> dims;
  std::vector<std::optional<int64_t>> run_ranks;  // by an op's `where rank(s) == ...`
  std::vector<std::optional<BoundDType>> generics;
  std::vector<bool> rigid;  // dimension variables that the parameters bound: hints do not rebind
  std::vector<DeferredDim> deferred;
  bool takes_extents =
      false;  // of a fn: an int that its result has as a dimension may be an extent
  graph::InstanceId instance;  // whose state `StateRef` means
  const std::vector<Value>* slots = nullptr;  // of an optimizer's update: the layouts of its slots
  std::optional<Value> result;  // what `return` gave
  Range result_range;
};

// Expected: the type that a creation op takes where nothing else says one.
struct Expected {
  program::TypeId type;
  Frame* frame = nullptr;

  bool valid() const { return type.valid() && frame != nullptr; }
};

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_FRAME_H_
