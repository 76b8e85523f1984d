// Makers of kernels that work on rows: softmax and its like along a dimension, norms along the
// last.
#include <algorithm>

#include "runtime/device/cuda/kernels/rows/launch_rows.h"

namespace cgraph::cuda {
namespace {

// Makes a kernel of the rows of the result along `dim`, which `operands` operands have, too.
ExecutableResult MakeRows(const Making& making, const char* name, int dim, int operands,
                          double epsilon) {
  Result<CUfunction> function = making.Find(name, making.out().dtype);
  if (!function.ok()) return function.status();
  const RowLauncher launch(making.launcher, making.out(), dim, operands);
  return ExecutableOf([launch, function = *function, epsilon](const Call& call) {
    Rows rows;
    std::copy(call.inputs.begin(), call.inputs.end(), rows.in);
    rows.out = rows.x = call.outputs[0];
    rows.epsilon = epsilon;
    return launch(call, function, rows);
  });
}

ExecutableResult MakeRowsAlong(const Making& making, const char* name, int operands) {
  const int dim = *device::DimAttribute(making.request, "dim", making.in(0));
  return MakeRows(making, name, dim, operands, 0);
}
ExecutableResult MakeNorm(const Making& making, const char* name, int operands) {
  return MakeRows(making, name, making.in(0).rank - 1, operands,
                  *device::FloatAttribute(making.request, "epsilon"));
}

}  // namespace

RowLauncher::RowLauncher(const Launcher& launcher, const device::OperandType& x, int dim,
                         int operands)
    : launcher_(launcher), dim_(dim) {
  const RowShape shape = RowsOf(BoundsOf(x), dim);
  const auto bytes = static_cast<int>(plan::DTypeBytes(x.dtype));
  const int computed = std::max<int>(bytes, sizeof(float));  // f16 and bf16 are computed in f32
  division_ = DivisionOf(shape.rows, shape.along, shape.inner == 1, kPackBytes / bytes,
                         KeptElements(operands, computed));
}

CUresult RowLauncher::operator()(const Call& call, CUfunction function, Rows rows) const {
  rows.dim = dim_;
  rows.width = division_.width;
  rows.height = division_.height;
  rows.contiguous = division_.contiguous;
  const int64_t groups = division_.Groups(RowsOf(BoundsOf(rows.x), dim_).rows);
  return launcher_.Blocks(call, function, std::min(groups, launcher_.most()), kThreads, rows);
}

ExecutableResult MakeSoftmax(const Making& making) { return MakeRowsAlong(making, "Softmax", 1); }
ExecutableResult MakeLogSoftmax(const Making& making) {
  return MakeRowsAlong(making, "LogSoftmax", 1);
}
ExecutableResult MakeSoftmaxGrad(const Making& making) {
  return MakeRowsAlong(making, "SoftmaxGrad", 2);
}
ExecutableResult MakeLogSoftmaxGrad(const Making& making) {
  return MakeRowsAlong(making, "LogSoftmaxGrad", 2);
}

ExecutableResult MakeLayerNorm(const Making& making) { return MakeNorm(making, "LayerNorm", 1); }
ExecutableResult MakeRmsNorm(const Making& making) { return MakeNorm(making, "RmsNorm", 1); }
ExecutableResult MakeRmsNormGrad(const Making& making) {
  return MakeNorm(making, "RmsNormGrad", 2);
}
ExecutableResult MakeL2Normalize(const Making& making) {
  return MakeNorm(making, "L2Normalize", 1);
}
ExecutableResult MakeL2NormalizeGrad(const Making& making) {
  return MakeNorm(making, "L2NormalizeGrad", 2);
}

}  // namespace cgraph::cuda
