// layer_norm_grad: four grids (layer_norm_grad.cu).
#include <algorithm>

#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/rows/arguments.h"
#include "runtime/device/cuda/kernels/rows/launch_rows.h"

namespace cgraph::cuda {
namespace {

constexpr int64_t kThreadsEnough = int64_t{1} << 16, kLeastRows = 16;  // of a part

class LayerNormGrad final : public CudaExecutable {
 public:
  static ExecutableResult Make(const Making& making) {
    const device::OperandType& x = making.in(0);
    std::unique_ptr<LayerNormGrad> made(new LayerNormGrad(making));
    const struct {
      const char* name;
      CUfunction* function;
    } functions[] = {{"LayerNormStatistics", &made->statistics_},
                     {"LayerNormColumns", &made->columns_},
                     {"LayerNormGrad", &made->gradient_},
                     {"LayerNormJoined", &made->joined_}};
    for (const auto& [name, function] : functions) {
      Result<CUfunction> found = making.Find(name, x.dtype);
      if (!found.ok()) return found.status();
      *function = *found;
    }
    return ExecutableResult(std::move(made));
  }

  CUresult Launch(const Call& call) override {
    Rows rows;
    rows.in[0] = rows.x = call.inputs[0];
    rows.in[1] = call.inputs[2];
    rows.in[2] = call.inputs[1];
    rows.out = call.outputs[0];
    rows.epsilon = epsilon_;
    rows.statistics = call.scratch;
    ColumnSums sums;
    sums.x = call.inputs[0];
    sums.gy = call.inputs[2].data;
    sums.statistics = call.scratch;
    sums.gain = call.outputs[1].data;
    sums.bias = call.outputs[2].data;
    sums.partials = reinterpret_cast<double*>(static_cast<char*>(call.scratch) + partials_);
    sums.parts = parts_;
    const int64_t blocks = (count_ + kThreads - 1) / kThreads * parts_;
    CUresult result = launch_rows_(call, statistics_, rows);
    if (result == CUDA_SUCCESS) {
      result = launcher_.Blocks(call, columns_, std::min(blocks, launcher_.most()), kThreads, sums);
    }
    if (result == CUDA_SUCCESS) result = launch_rows_(call, gradient_, rows);
    if (result == CUDA_SUCCESS) result = launcher_.Items(call, joined_, 2 * count_, sums);
    return result;
  }
  uint64_t scratch() const override {
    return partials_ + static_cast<uint64_t>(2 * parts_ * count_) * sizeof(double);
  }

 private:
  explicit LayerNormGrad(const Making& making)
      : launcher_(making.launcher),
        launch_rows_(making.launcher, making.in(0), making.in(0).rank - 1, /*operands=*/2),
        epsilon_(*device::FloatAttribute(making.request, "epsilon")) {
    const device::OperandType& x = making.in(0);
    count_ = x.dims[x.rank - 1];
    int64_t rows = 1;
    for (int i = 0; i < x.rank - 1; ++i) rows *= x.dims[i];
    const int64_t wanted = kThreadsEnough / std::max<int64_t>(count_, 1);
    parts_ = std::max<int64_t>(std::min(wanted, rows / kLeastRows), 1);
    const uint64_t bytes = static_cast<uint64_t>(rows) * 2 * sizeof(double);
    partials_ = AlignScratch(bytes);
  }

  Launcher launcher_;
  RowLauncher launch_rows_;
  double epsilon_;
  CUfunction statistics_ = nullptr, columns_ = nullptr, gradient_ = nullptr, joined_ = nullptr;
  int64_t count_ = 0;      // the bound of a row's length
  int64_t parts_ = 1;      // into which rows are cut
  uint64_t partials_ = 0;  // where they begin in scratch
};

}  // namespace

ExecutableResult MakeLayerNormGrad(const Making& making) { return LayerNormGrad::Make(making); }

}  // namespace cgraph::cuda
