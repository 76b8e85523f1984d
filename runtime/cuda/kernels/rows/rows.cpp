// Makers of kernels that work on rows: softmax and its like along a dimension, norms along the last.
#include <algorithm>

#include "runtime/cuda/kernels/rows/launch_rows.h"

namespace cgraph::cuda {
namespace {

// Makes a kernel of the rows of the result along `dim`.
ExecutableResult MakeRows(const Making& making, const char* name, int dim, double epsilon) {
  Result<CUfunction> function = making.Find(name, making.out().dtype);
  if (!function.ok()) return function.status();
  const RowLauncher launch(making.launcher, making.out(), dim);
  return ExecutableOf([launch, function = *function, epsilon](const Call& call) {
    Rows rows;
    std::copy(call.inputs.begin(), call.inputs.end(), rows.in);
    rows.out = rows.x = call.outputs[0];
    rows.epsilon = epsilon;
    return launch(call, function, rows);
  });
}

ExecutableResult MakeRowsAlong(const Making& making, const char* name) {
  const int dim = *device::DimAttribute(making.request, "dim", making.in(0));
  return MakeRows(making, name, dim, 0);
}
ExecutableResult MakeNorm(const Making& making, const char* name) {
  return MakeRows(making, name, making.in(0).rank - 1,
                  *device::FloatAttribute(making.request, "epsilon"));
}

}  // namespace

RowLauncher::RowLauncher(const Launcher& launcher, const device::OperandType& x, int dim)
    : launcher_(launcher), dim_(dim) {
  const RowShape shape = RowsOf(BoundsOf(x), dim);
  division_ = DivisionOf(shape.rows, shape.along, shape.inner == 1);
}

CUresult RowLauncher::operator()(const Call& call, CUfunction function, Rows rows) const {
  rows.dim = dim_;
  rows.width = division_.width;
  rows.height = division_.height;
  rows.contiguous = division_.contiguous;
  const int64_t groups = division_.Groups(RowsOf(BoundsOf(rows.x), dim_).rows);
  return launcher_.Blocks(call, function, std::min(groups, launcher_.most()), kThreads, rows);
}

ExecutableResult MakeSoftmax(const Making& making) { return MakeRowsAlong(making, "Softmax"); }
ExecutableResult MakeLogSoftmax(const Making& making) { return MakeRowsAlong(making, "LogSoftmax"); }
ExecutableResult MakeSoftmaxGrad(const Making& making) { return MakeRowsAlong(making, "SoftmaxGrad"); }
ExecutableResult MakeLogSoftmaxGrad(const Making& making) {
  return MakeRowsAlong(making, "LogSoftmaxGrad");
}

ExecutableResult MakeLayerNorm(const Making& making) { return MakeNorm(making, "LayerNorm"); }
ExecutableResult MakeRmsNorm(const Making& making) { return MakeNorm(making, "RmsNorm"); }
ExecutableResult MakeRmsNormGrad(const Making& making) { return MakeNorm(making, "RmsNormGrad"); }
ExecutableResult MakeL2Normalize(const Making& making) { return MakeNorm(making, "L2Normalize"); }
ExecutableResult MakeL2NormalizeGrad(const Making& making) {
  return MakeNorm(making, "L2NormalizeGrad");
}

}  // namespace cgraph::cuda
