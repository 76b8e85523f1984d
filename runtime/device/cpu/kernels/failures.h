// What kernels say when they fail, for every device alike.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_FAILURES_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_FAILURES_H_

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/device/cpu/kernels/rules.h"

namespace cgraph::device {

inline constexpr char kMatmulExtentsText[] =
    "the extents of the operands of matmul do not fit each other";

inline std::string NoFitText(const char* op, int64_t from, int64_t length, int64_t extent) {
  return fmt::format("{} of {} element{} from {} on, of a dimension of {}", op, length,
                     length == 1 ? "" : "s", from, extent);
}
inline std::string NoRowText(int64_t row, int64_t rows) {
  return fmt::format("update of row {}, of {}", row, Counted(rows, "row"));
}
inline std::string SliceResultText(int64_t length, int64_t extent) {
  return fmt::format("slice of {} into a result of {}", Counted(length, "element"), extent);
}
inline std::string NoIndexText(const char* op, int64_t position, int64_t row, int64_t rows) {
  return fmt::format("{}: index {} is {}, of {}", op, position, row, Counted(rows, "row"));
}
inline std::string NotAlongText(const char* op, int64_t position, int64_t index, int64_t extent) {
  return fmt::format("{}: index {} is {}, of a dimension of {}", op, position, index, extent);
}
inline std::string NoClassText(int64_t row, int64_t target, int64_t classes) {
  return fmt::format("cross_entropy: target {} is {}, of {} classes", row, target, classes);
}
// `position` is that of the length among several, or -1.
inline std::string NoLengthText(int64_t position, int64_t length, int64_t least, int64_t most) {
  return fmt::format("attention: length {}is {}, and must be {} to {}, {}the rows of k",
                     position < 0 ? "" : fmt::format("{} ", position), length, least, most,
                     least == 0 ? "" : "the queries to ");
}
inline std::string NotSameText(int dim, int64_t a, int64_t b) {
  return fmt::format("same: dimension {} is {} and {}", dim, a, b);
}
inline std::string ReshapeText(int64_t from, int64_t to) {
  return fmt::format("reshape of {} to {}", Counted(from, "element"), to);
}

// Fits() and HasRow() check that the elements which an op reads or writes lie in its tensor;
// `error` is the message if not.
inline bool Fits(const char* op, int64_t from, int64_t length, int64_t extent, std::string& error) {
  if (IsWithin(from, length, extent)) return true;
  error = NoFitText(op, from, length, extent);
  return false;
}

// Checks the lengths that attention is given; `count` is -1 of one for all sequences.
inline bool HaveLengths(const int64_t* lengths, int64_t count, int64_t least, int64_t most,
                        std::string& error) {
  for (int64_t i = 0; i < (count < 0 ? 1 : count); ++i) {
    if (lengths[i] >= least && lengths[i] <= most) continue;
    error = NoLengthText(count < 0 ? -1 : i, lengths[i], least, most);
    return false;
  }
  return true;
}

inline bool HasRow(int64_t row, int64_t rows, std::string& error) {
  if (row >= 0 && row < rows) return true;
  error = NoRowText(row, rows);
  return false;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_FAILURES_H_
