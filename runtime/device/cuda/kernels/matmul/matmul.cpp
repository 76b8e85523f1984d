// matmul: by cuBLASLt where it suits, else by the kernels of this library, which take every dtype
// and extents that only the device knows.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/matmul/arguments.h"
#include "runtime/device/cuda/libraries/cublaslt.h"

namespace cgraph::cuda {
namespace {

// Returns whether the batch of `a` is that of the result, so that its matrices are rows of one.
bool MayFold(const Making& making, bool transpose_a) {
  const device::OperandType& a = making.in(0);
  const device::OperandType& c = making.out();
  if (transpose_a || a.rank != c.rank) return false;
  for (int i = 0; i < a.rank - 2; ++i) {
    if (!device::SameDim(a, i, c, i)) return false;
  }
  return true;
}

// ---- by cuBLASLt --------------------------------------------------------------------------------

constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // what NVIDIA advises for Hopper
constexpr uint32_t kOperandAlignment = 16;              // bytes

struct Types {
  int data, compute, scale;
};
Types TypesOf(DType dtype) {
  switch (dtype) {
    case DType::f16: return {lt::kF16, lt::kComputeF32, lt::kF32};
    case DType::bf16: return {lt::kBF16, lt::kComputeF32, lt::kF32};
    case DType::f64: return {lt::kF64, lt::kComputeF64, lt::kF64};
    default: return {lt::kF32, lt::kComputeF32, lt::kF32};
  }
}

// A matrix as the library sees it: by columns, so that a row-major matrix is its transpose.
struct Matrix {
  int64_t rows, columns, count, batch_stride;
};

class LibraryProduct final : public CudaExecutable {
 public:
  LibraryProduct(const Making& making, const ProductLibrary& library,
                 std::unique_ptr<CudaExecutable> own)
      : own_(std::move(own)), launcher_(making.launcher), library_(library),
        doubles_(making.out().dtype == DType::f64), in_state_(making.out().in_state) {}
  ~LibraryProduct() override {
    const CublasLt& functions = library_.functions();
    if (product_ != nullptr) functions.cublasLtMatmulDescDestroy(product_);
    for (LtLayout layout : {a_, b_, c_}) {
      if (layout != nullptr) functions.cublasLtMatrixLayoutDestroy(layout);
    }
  }

  // c^T = b^T @ a^T: the library's first operand is our second. Returns whether the library has an
  // algorithm.
  bool Prepare(DType dtype, const Matmul& matmul, const Matrix& a, const Matrix& b,
               const Matrix& c) {
    const CublasLt& functions = library_.functions();
    const Types types = TypesOf(dtype);
    if (functions.cublasLtMatmulDescCreate(&product_, types.compute, types.scale) != 0 ||
        !SetTranspose(lt::kTransposeA, matmul.transpose_b) ||
        !SetTranspose(lt::kTransposeB, matmul.transpose_a) || !MakeLayout(types.data, b, b_) ||
        !MakeLayout(types.data, a, a_) || !MakeLayout(types.data, c, c_)) {
      return false;
    }
    LtPreference preference = nullptr;
    if (functions.cublasLtMatmulPreferenceCreate(&preference) != 0) return false;
    const auto set = [&](int attribute, const auto& value) {
      return functions.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value,
                                                            sizeof(value)) == 0;
    };
    bool ok = set(lt::kMostWorkspace, kMostWorkspace) &&
              set(lt::kReductions, lt::kReduceInComputeType);
    for (const int alignment : lt::kLeastAlignments) ok = ok && set(alignment, kOperandAlignment);
    LtHeuristic found = {};
    int count = 0;
    ok = ok && functions.cublasLtMatmulAlgoGetHeuristic(library_.handle(), product_, b_, a_, c_, c_,
                                                        preference, 1, &found, &count) == 0;
    functions.cublasLtMatmulPreferenceDestroy(preference);
    if (!ok || count < 1 || found.status != 0) return false;
    algorithm_ = found.algorithm;  // for all executions: another one would give other bits
    workspace_ = found.workspace_bytes;
    return true;
  }
  std::unique_ptr<CudaExecutable> TakeOwn() { return std::move(own_); }

  CUresult Launch(const Call& call) override {
    const void* a = call.inputs[0].data;
    const void* b = call.inputs[1].data;
    void* c = call.outputs[0].data;
    // The library looks at no guard, and writes its result whatever is poisoned. That does no harm
    // where a flag covers the result; a state has to keep the value that it had.
    if (in_state_ && call.guard.looks) return own_->Launch(call);
    // The algorithm is for operands that are aligned so. A tensor of the caller's may lie elsewhere
    // in each execution.
    for (const void* data : {a, b, static_cast<const void*>(c)}) {
      if (reinterpret_cast<uintptr_t>(data) % kOperandAlignment != 0) return own_->Launch(call);
    }
    const CUresult passed = launcher_.PassPoison(call);
    if (passed != CUDA_SUCCESS) return passed;
    const float one = 1, zero = 0;
    const double one_double = 1, zero_double = 0;
    const void* alpha = doubles_ ? static_cast<const void*>(&one_double) : &one;
    const void* beta = doubles_ ? static_cast<const void*>(&zero_double) : &zero;
    const int status = library_.functions().cublasLtMatmul(
        library_.handle(), product_, alpha, b, b_, a, a_, beta, c, c_, c, c_, &algorithm_,
        call.scratch, workspace_, call.stream);
    return status == 0 ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
  }
  uint64_t scratch() const override {
    return std::max(static_cast<uint64_t>(workspace_), own_->scratch());
  }
  std::string ErrorText(const Failure& failure) const override { return own_->ErrorText(failure); }

 private:
  bool SetTranspose(int attribute, bool transpose) {
    const int32_t operation = transpose ? lt::kTransposed : lt::kAsIs;
    return library_.functions().cublasLtMatmulDescSetAttribute(product_, attribute, &operation,
                                                               sizeof(operation)) == 0;
  }
  bool MakeLayout(int type, const Matrix& matrix, LtLayout& layout) {
    const CublasLt& functions = library_.functions();
    if (functions.cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(matrix.rows),
                                             static_cast<uint64_t>(matrix.columns),
                                             matrix.rows) != 0) {
      return false;
    }
    const auto count = static_cast<int32_t>(matrix.count);
    return matrix.count == 1 ||
           (functions.cublasLtMatrixLayoutSetAttribute(layout, lt::kBatchCount, &count,
                                                       sizeof(count)) == 0 &&
            functions.cublasLtMatrixLayoutSetAttribute(layout, lt::kBatchStride,
                                                       &matrix.batch_stride,
                                                       sizeof(matrix.batch_stride)) == 0);
  }

  std::unique_ptr<CudaExecutable> own_;
  Launcher launcher_;
  const ProductLibrary& library_;
  bool doubles_;
  bool in_state_;
  LtProduct product_ = nullptr;
  LtLayout a_ = nullptr, b_ = nullptr, c_ = nullptr;
  LtAlgorithm algorithm_ = {};
  size_t workspace_ = 0;  // bytes
};

bool IsStatic(const device::OperandType& type) {
  return std::none_of(type.dynamic, type.dynamic + type.rank, [](bool dynamic) { return dynamic; });
}

// Returns how far apart the matrices of an operand are that go into one matrix of the result after
// the other; -1 where they are not equally far apart.
int64_t BatchStride(const Dims& operand, const Dims& result, int64_t size) {
  const int64_t own = operand.Product(0, operand.rank - 2);
  if (own == 1) return 0;
  return own == result.Product(0, result.rank - 2) ? size : -1;
}

// Makes a product by the target's library, with an algorithm chosen now. Gives `own` back where the
// library is not there, has no algorithm, or does not suit: extents that are dynamic, integers,
// batches that broadcast in part, nothing to add up. The library writes its result whether or not
// the call is poisoned; so `own` takes its place in calls that may be poisoned and whose result
// lies in a state, and in those whose operands are not aligned to 16 bytes.
std::unique_ptr<CudaExecutable> WithLibraryProduct(const Making& making, const Matmul& matmul,
                                                   std::unique_ptr<CudaExecutable> own) {
  const DType dtype = making.out().dtype;
  if (making.target.libraries == nullptr || !plan::IsFloat(dtype) || !IsStatic(making.in(0)) ||
      !IsStatic(making.in(1)) || !IsStatic(making.out())) {
    return own;
  }
  const Dims a = BoundsOf(making.in(0)), b = BoundsOf(making.in(1)), c = BoundsOf(making.out());
  const ProductShape shape = ShapeOf(matmul, a, b, c);
  constexpr int64_t kMost = INT32_MAX;
  if (shape.m * shape.n * shape.matrices == 0 || shape.k == 0 || shape.m > kMost ||
      shape.matrices > kMost) {
    return own;
  }
  const bool one = shape.matrices == 1;
  const int64_t a_stride = one ? 0 : BatchStride(a, c, shape.m * shape.k);
  const int64_t b_stride = one ? 0 : BatchStride(b, c, shape.k * shape.n);
  if (a_stride < 0 || b_stride < 0) return own;
  const ProductLibrary* library = making.target.libraries->products();
  if (library == nullptr) return own;
  auto product = std::make_unique<LibraryProduct>(making, *library, std::move(own));
  const Matrix left = matmul.transpose_a ? Matrix{shape.m, shape.k, shape.matrices, a_stride}
                                         : Matrix{shape.k, shape.m, shape.matrices, a_stride};
  const Matrix right = matmul.transpose_b ? Matrix{shape.k, shape.n, shape.matrices, b_stride}
                                          : Matrix{shape.n, shape.k, shape.matrices, b_stride};
  const Matrix result{shape.n, shape.m, shape.matrices, shape.m * shape.n};
  if (!product->Prepare(dtype, matmul, left, right, result)) return product->TakeOwn();
  return product;
}

}  // namespace

ExecutableResult MakeMatmul(const Making& making) {
  const bool one_dtype = making.in(1).dtype == making.out().dtype;
  Result<CUfunction> function =
      making.Find(one_dtype ? "Matmul" : "MatmulWeights", making.in(1).dtype);
  if (!function.ok()) return function.status();
  Result<CUfunction> check = making.Find("CheckMatmul");
  if (!check.ok()) return check.status();
  Matmul matmul;
  matmul.transpose_a = *device::BoolAttribute(making.request, "transpose_a");
  matmul.transpose_b = *device::BoolAttribute(making.request, "transpose_b");
  matmul.may_fold = MayFold(making, matmul.transpose_a);
  const auto launch = [launcher = making.launcher, function = *function, check = *check,
                       matmul](const Call& call) {
    Matmul arguments = matmul;
    arguments.a = call.inputs[0];
    arguments.b = call.inputs[1];
    arguments.c = call.outputs[0];
    const Dims a = BoundsOf(arguments.a), b = BoundsOf(arguments.b), c = BoundsOf(arguments.c);
    const bool known = IsKnown(arguments.a) && IsKnown(arguments.b) && IsKnown(arguments.c);
    const bool checks = !known || !ExtentsFit(arguments, a, b, c);
    if (checks) {
      const CUresult result = launcher.Blocks(call, check, 1, 1, arguments);
      if (result != CUDA_SUCCESS) return result;
    }
    return launcher.Blocks(checks ? Checked(call) : call, function,
                           ShapeOf(arguments, a, b, c).tiles(), kThreads, arguments);
  };
  std::unique_ptr<CudaExecutable> own = ExecutableOf(
      launch, {.error_text = [](const Failure&) { return device::kMatmulExtentsText; }});
  if (!one_dtype) return ExecutableResult(std::move(own));  // the library has none of two dtypes
  return ExecutableResult(WithLibraryProduct(making, matmul, std::move(own)));
}

ExecutableResult MakePackedMatmul(const Making& making) {
  const bool nibbles = making.request.kernel == "matmul_q4_1";
  Result<CUfunction> function = making.Find(nibbles ? "MatmulQ4" : "MatmulQ8");
  if (!function.ok()) return function.status();
  const auto launch = [launcher = making.launcher, function = *function, nibbles,
                       groups = making.in(1).dims[0],
                       blocks = making.in(1).dims[1]](const Call& call) {
    const auto half = [&](size_t i) {
      return static_cast<const device::F16*>(call.inputs[i].data);
    };
    PackedMatmul packed;
    packed.c = call.outputs[0];
    packed.x = call.inputs[0].data;
    packed.q = call.inputs[1].data;
    packed.scale = half(2);
    packed.minimum = nibbles ? half(3) : nullptr;
    packed.groups = groups, packed.blocks = blocks;
    return launcher.Items(call, function, BoundOfElements(packed.c), packed);
  };
  return ExecutableOf(launch);
}

}  // namespace cgraph::cuda
