// Checks that the elements which an op reads or writes lie in its tensor, and the message if not.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_BOUNDS_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_BOUNDS_H_

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "runtime/status/text.h"

namespace cgraph::device {

// Returns whether `length` elements from `from` on lie in a dimension. A length that the program
// gave may be negative.
inline bool Fits(const char* op, int64_t from, int64_t length, int64_t extent, std::string& error) {
  if (from >= 0 && length >= 0 && from <= extent && length <= extent - from) return true;
  error = fmt::format("{} of {} element{} from {} on, of a dimension of {}", op, length,
                      length == 1 ? "" : "s", from, extent);
  return false;
}

inline bool HasRow(int64_t row, int64_t rows, std::string& error) {
  if (row >= 0 && row < rows) return true;
  error = fmt::format("update of row {}, of {}", row, Counted(rows, "row"));
  return false;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_BOUNDS_H_
