// Values written on the command line: 3, 1.5, true, [1, 2, 3], [[1, 2], [3, 4]].
#ifndef CGRAPH_RUNTIME_COMMAND_INPUTS_LITERAL_H_
#define CGRAPH_RUNTIME_COMMAND_INPUTS_LITERAL_H_

#include <string_view>

#include "runtime/files/npy.h"
#include "runtime/status/status.h"

namespace cgraph::command {

// As a tensor of this dtype, with the shape that the brackets say. Integers must be exact and in
// range; floats may also be inf and nan. kInvalid with the place when it is none, when rows differ
// in length, or when brackets nest deeper than tensors have dimensions.
Result<files::Array> ParseLiteral(std::string_view text, plan::DType dtype);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_INPUTS_LITERAL_H_
