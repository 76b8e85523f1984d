// Checks that the elements which an op reads or writes lie in its tensor, and the message if not.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_BOUNDS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_BOUNDS_H_

#include <cstdint>
#include <string>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/within.h"

namespace cgraph::device {

// As IsWithin().
inline bool Fits(const char* op, int64_t from, int64_t length, int64_t extent, std::string& error) {
  if (IsWithin(from, length, extent)) return true;
  error = NoFitText(op, from, length, extent);
  return false;
}

inline bool HasRow(int64_t row, int64_t rows, std::string& error) {
  if (row >= 0 && row < rows) return true;
  error = NoRowText(row, rows);
  return false;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_BOUNDS_H_
