// x[i] and x[a..b] on a tensor: views of dimension 0.
//
// A view is a part of its base's bytes, so where it begins must be known while compiling: every
// dimension but those indexed away before it must be static.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_VIEWS_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_VIEWS_H_

#include "compiler/base/source.h"
#include "compiler/elaborate/values/value.h"
#include "llvm/ADT/ArrayRef.h"

namespace cgraph::elaborate {

struct ElaborationContext;

Value IndexTensor(ElaborationContext& elaboration, const Tensor& tensor,
                  llvm::ArrayRef<Value> subscripts, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_VIEWS_H_
