// Sums: the gradients that have come for a value so far, one sum on each device that made some.
//
// A gradient of a view is put into zeros of its base's type at the view's rows, in place; rows that
// have something already are added to.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_SUMS_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_SUMS_H_

#include <map>
#include <optional>
#include <vector>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/gradients/make_op.h"

namespace cgraph::elaborate {

struct Sum {
  std::optional<Tensor> value;
  // The bytes of the base that views have filled; none: all of it, or nothing.
  std::vector<std::pair<int64_t, int64_t>> filled;

  // Adds the gradient `part` of `of`, a value or a view of it.
  bool Add(OpMaker& maker, graph::ValueId of, Tensor part);
};

// Sums of one value, by the device that makes them.
using Sums = std::map<graph::DeviceId, Sum>;

// Returns the sum of all; nothing where there is none.
std::optional<Tensor> Total(OpMaker& maker, const Sums& sums);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_SUMS_H_
