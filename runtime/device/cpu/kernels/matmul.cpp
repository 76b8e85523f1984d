// Matrix products. f32 and f64 are computed by OpenBLAS; f16 and bf16 by loops of our own over
// blocks that are widened to f32 (by OpenBLAS where the right operand is transposed); a few rows
// by loops of our own; integers by a plain loop; bf16 by oneDNN where that is faster and only the
// number of rows may be dynamic. Weights of f16 or bf16 multiply f32 in the same loops, or are
// widened for OpenBLAS where the processor lacks the instructions. Leading dimensions are a batch
// that broadcasts; where only the left operand has a batch, its matrices are rows of a single
// product.
#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/block_product.h"
#include "runtime/device/cpu/kernels/dot_product.h"
#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/row_product.h"
#include "runtime/device/cpu/kernels/workspace.h"
#include "runtime/device/cpu/libraries/blas.h"
#include "runtime/device/cpu/libraries/onednn.h"

namespace cgraph::device {
namespace {

// One product c[m, n] = a[m, k] @ b[k, n], each operand possibly stored the other way round.
struct Shape {
  bool transpose_a, transpose_b;
  int64_t m, n, k;

  // Returns whether elements of b are used so seldom that packing it would cost more than it gains.
  bool has_few_rows() const {
    return m <= kMostRows && (m == 1 || !transpose_a);
  }
};

template <typename T>
struct BlasProduct {
  Gemm<T> gemm;
  RowProductFunction<T> row = FewRowsOf<RowProduct, T>();
  DotProductFunction<T> dot = FewRowsOf<DotProduct, T>();

  void operator()(const Shape& shape, const T* a, const T* b, T* c, T beta = 0) const {
    const auto& [transpose_a, transpose_b, m, n, k] = shape;
    if (row != nullptr && beta == 0 && shape.has_few_rows()) {
      if (transpose_b) return dot(a, b, m, n, k, c);
      std::fill_n(c, m * n, T(0));
      return row(a, m, k, b, n, k, n, c, n);
    }
    gemm(kRowMajor, shape.transpose_a ? kTranspose : kNoTranspose,
         shape.transpose_b ? kTranspose : kNoTranspose, static_cast<int>(shape.m),
         static_cast<int>(shape.n), static_cast<int>(shape.k), T(1), a,
         static_cast<int>(shape.transpose_a ? shape.m : shape.k), b,
         static_cast<int>(shape.transpose_b ? shape.k : shape.n), beta, c,
         static_cast<int>(shape.n));
  }
};

// The product of f16 or bf16: blocks are widened, multiplied and added up in f32, and rounded once.
template <typename T>
class HalfProduct {
 public:
  // For products whose m, n and k are at most those of `most`.
  HalfProduct(Gemm<float> gemm, HalfLoops half, const Shape& most) : gemm_(gemm), half_(half) {
    const auto size = [](int64_t rows, int64_t columns) {
      return static_cast<size_t>(std::min(rows, kEdge) * std::min(columns, kEdge));
    };
    const int64_t few = std::min(most.m, kMostRows);
    const bool dots = dot_ != nullptr && few * most.k <= kMostRowElements;
    a_.resize(std::max(size(most.m, most.k), dots ? static_cast<size_t>(few * most.k) : 0));
    b_.resize(size(most.k, most.n));
    c_.resize(SumElements(std::min(most.m, kEdge), std::min(most.n, kEdge)));
    if (blocks_ != nullptr) panel_.resize(kPanelElements);
  }
  void operator()(const Shape& shape, const T* a, const T* b, T* c) {
    const int64_t a_width = shape.transpose_a ? shape.m : shape.k;
    const int64_t b_width = shape.transpose_b ? shape.k : shape.n;
    const bool rows_fit = static_cast<size_t>(shape.m * shape.k) <= a_.size();
    if (dot_ != nullptr && shape.transpose_b && shape.has_few_rows() && rows_fit) {
      return MultiplyByDots(shape, a, b, c);
    }
    for (int64_t i = 0; i < shape.m; i += kEdge) {
      for (int64_t j = 0; j < shape.n; j += kEdge) {
        Shape block = shape;
        block.m = std::min(kEdge, shape.m - i), block.n = std::min(kEdge, shape.n - j);
        if (blocks_ != nullptr && !shape.transpose_b && !shape.has_few_rows()) {
          MultiplyPanels(block, i, a, a_width, b + j, c + i * shape.n + j, shape.n);
          continue;
        }
        Multiply(block, i, j, a, a_width, b, b_width);
        const bool whole = block.n == shape.n;  // its rows follow one another
        const int64_t rows = whole ? 1 : block.m, length = whole ? block.m * block.n : block.n;
        for (int64_t r = 0; r < rows; ++r) {
          half_.narrow(c_.data() + r * length, c + (i + r) * shape.n + j, length);
        }
      }
    }
  }

 private:
  static constexpr int64_t kEdge = 512, kFewRows = 4, kNear = 32 * kEdge;  // kNear: elements
  static constexpr int64_t kMostRowElements = 1 << 20;  // which are widened together
  struct Box { int64_t row, column, rows, columns; };

  void MultiplyByDots(const Shape& shape, const T* a, const T* b, T* c) {
    const auto& [transpose_a, transpose_b, m, n, k] = shape;
    half_.widen(a, a_.data(), m * k);
    const int64_t width = std::min(n, kEdge);
    for (int64_t j = 0; j < n; j += width) {
      const int64_t columns = std::min(width, n - j);
      dot_(a_.data(), b + j * k, m, columns, k, c_.data());
      for (int64_t r = 0; r < m; ++r) {
        half_.narrow(c_.data() + r * columns, c + r * n + j, columns);
      }
    }
  }

  // Computes into c_ the block of the result at i, j, over all k.
  void Multiply(Shape block, int64_t i, int64_t j, const T* a, int64_t a_width, const T* b,
                int64_t b_width) {
    const bool in_registers = row_ != nullptr && !block.transpose_b && block.has_few_rows();
    // Elements that are used only a few times should not leave the first-level cache in between.
    const bool near = block.m < kFewRows && !in_registers;
    const int64_t depth = near ? std::min(kEdge, kNear / block.n) : kEdge, k = block.k;
    if (in_registers) std::fill_n(c_.data(), block.m * block.n, 0.0f);
    for (int64_t l = 0; l < k; l += depth) {
      block.k = std::min(depth, k - l);
      WidenA(block, i, l, a, a_width);
      if (in_registers) {
        row_(a_.data(), block.m, block.k, b + l * b_width + j, b_width, block.k, block.n,
             c_.data(), block.n);
        continue;
      }
      Widen(b, b_width, block.transpose_b ? Box{j, l, block.n, block.k}
                                          : Box{l, j, block.k, block.n}, b_.data());
      BlasProduct<float>{gemm_}(block, a_.data(), b_.data(), c_.data(), l == 0 ? 0 : 1);
    }
  }
  // Computes into c the block of the result at row i, whose columns begin at those of b.
  void MultiplyPanels(Shape block, int64_t i, const T* a, int64_t a_width, const T* b, T* c,
                      int64_t width) {
    const int64_t k = block.k;
    for (int64_t l = 0; l < k; l += kMostDepth) {
      block.k = std::min(kMostDepth, k - l);
      WidenA(block, i, l, a, a_width);
      blocks_({.a = a_.data(),
               .a_row = block.transpose_a ? 1 : block.k,
               .a_step = block.transpose_a ? block.m : 1,
               .b = b + l * width,
               .b_width = width,
               .transpose_b = false,
               .m = block.m,
               .n = block.n,
               .k = block.k,
               .first = l == 0,
               .last = l + block.k == k,
               .panel = panel_.data(),
               .sums = c_.data(),
               .c = c,
               .c_width = width});
    }
  }

  void WidenA(const Shape& block, int64_t i, int64_t l, const T* a, int64_t a_width) {
    Widen(a, a_width, block.transpose_a ? Box{l, i, block.k, block.m}
                                        : Box{i, l, block.m, block.k}, a_.data());
  }
  void Widen(const T* matrix, int64_t width, const Box& box, float* to) const {
    if (box.columns == width) {
      half_.widen(matrix + box.row * width, to, box.rows * width);
      return;
    }
    for (int64_t r = 0; r < box.rows; ++r) {
      half_.widen(matrix + (box.row + r) * width + box.column, to + r * box.columns, box.columns);
    }
  }

  Gemm<float> gemm_;
  HalfLoops half_;
  RowProductFunction<T> row_ = FewRowsOf<RowProduct, T>();
  DotProductFunction<T> dot_ = FewRowsOf<DotProduct, T>();
  BlockProductFunction<T, T> blocks_ = BlockProductOf<T, T>();
  Workspace<float> a_, b_, c_, panel_;
};

// The product of f32 and weights of f16 or bf16, all in f32.
template <typename T>
class WeightsProduct {
 public:
  // For products whose m, n and k are at most those of `most`, transposed as it says.
  WeightsProduct(Gemm<float> gemm, HalfLoops half, const Shape& most) : gemm_(gemm), half_(half) {
    const int64_t rows = std::min(most.m, kEdge), columns = std::min(most.n, kEdge);
    if (blocks_ != nullptr) {
      if (most.transpose_a) a_.resize(static_cast<size_t>(rows * std::min(most.k, kMostDepth)));
      panel_.resize(kPanelElements);
      sums_.resize(SumElements(rows, columns));
    } else {
      block_.resize(static_cast<size_t>(columns * std::min(most.k, kEdge)));
    }
  }
  void operator()(const Shape& shape, const float* a, const T* b, float* c) {
    const auto& [transpose_a, transpose_b, m, n, k] = shape;
    if (row_ != nullptr && shape.has_few_rows()) {
      if (transpose_b) return dot_(a, b, m, n, k, c);
      std::fill_n(c, m * n, 0.0f);
      return row_(a, m, k, b, n, k, n, c, n);
    }
    if (blocks_ != nullptr) return MultiplyBlocks(shape, a, b, c);
    for (int64_t j = 0; j < n; j += kEdge) {
      const int64_t columns = std::min(kEdge, n - j);
      for (int64_t l = 0; l < k; l += kEdge) {
        const int64_t depth = std::min(kEdge, k - l);
        Widen(transpose_b ? b + j * k + l : b + l * n + j, transpose_b ? k : n,
              transpose_b ? columns : depth, transpose_b ? depth : columns);
        gemm_(kRowMajor, transpose_a ? kTranspose : kNoTranspose,
              transpose_b ? kTranspose : kNoTranspose, static_cast<int>(m),
              static_cast<int>(columns), static_cast<int>(depth), 1, a + l * (transpose_a ? m : 1),
              static_cast<int>(transpose_a ? m : k), block_.data(),
              static_cast<int>(transpose_b ? depth : columns), l == 0 ? 0 : 1, c + j,
              static_cast<int>(n));
      }
    }
  }

 private:
  static constexpr int64_t kEdge = 512;

  void MultiplyBlocks(const Shape& shape, const float* a, const T* b, float* c) {
    const auto& [transpose_a, transpose_b, m, n, k] = shape;
    for (int64_t i = 0; i < m; i += kEdge) {
      const int64_t rows = std::min(kEdge, m - i);
      for (int64_t j = 0; j < n; j += kEdge) {
        for (int64_t l = 0; l < k; l += kMostDepth) {
          const int64_t depth = std::min(kMostDepth, k - l);
          // Rows that are far apart would take each other's place in the cache.
          for (int64_t s = 0; transpose_a && s < depth; ++s) {
            std::copy_n(a + (l + s) * m + i, rows, a_.data() + s * rows);
          }
          blocks_({.a = transpose_a ? a_.data() : a + i * k + l,
                   .a_row = transpose_a ? 1 : k,
                   .a_step = transpose_a ? rows : 1,
                   .b = transpose_b ? b + j * k + l : b + l * n + j,
                   .b_width = transpose_b ? k : n,
                   .transpose_b = transpose_b,
                   .m = rows,
                   .n = std::min(kEdge, n - j),
                   .k = depth,
                   .first = l == 0,
                   .last = l + kMostDepth >= k,
                   .panel = panel_.data(),
                   .sums = sums_.data(),
                   .c = c + i * n + j,
                   .c_width = n});
        }
      }
    }
  }
  void Widen(const T* from, int64_t width, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
      half_.widen(from + r * width, block_.data() + r * columns, columns);
    }
  }

  Gemm<float> gemm_;
  HalfLoops half_;
  RowProductFunction<T> row_ = FewRowsOf<RowProduct, T>();
  DotProductFunction<T> dot_ = FewRowsOf<DotProduct, T>();
  BlockProductFunction<T, float> blocks_ = BlockProductOf<T, float>();
  Workspace<float> a_, block_, panel_, sums_;
};

// A product computed by oneDNN, but for a few rows where their number is dynamic.
struct DnnlProduct {
  DnnlMatmul matmul;
  std::optional<HalfProduct<BF16>> of_few_rows;

  bool operator()(const Shape& shape, const BF16* a, const BF16* b, BF16* c) {
    if (!of_few_rows || !shape.has_few_rows()) return matmul(shape.m, a, b, c);
    (*of_few_rows)(shape, a, b, c);
    return true;
  }
};

template <typename T>
struct IntegerProduct {
  void operator()(const Shape& shape, const T* a, const T* b, T* c) const {
    const int64_t a_row = shape.transpose_a ? 1 : shape.k,
                  a_column = shape.transpose_a ? shape.m : 1;
    const int64_t b_row = shape.transpose_b ? 1 : shape.n,
                  b_column = shape.transpose_b ? shape.k : 1;
    std::memset(c, 0, sizeof(T) * static_cast<size_t>(shape.m * shape.n));
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t l = 0; l < shape.k; ++l) {
        const T factor = a[i * a_row + l * a_column];
        for (int64_t j = 0; j < shape.n; ++j) {
          T& sum = c[i * shape.n + j];
          sum = Add::Of(sum, Multiply::Of(factor, b[l * b_row + j * b_column]));
        }
      }
    }
  }
};

template <typename T, typename Weights, typename OneProduct>
class MatmulKernel final : public Kernel {
 public:
  MatmulKernel(OneProduct product, bool transpose_a, bool transpose_b, bool may_fold)
      : product_(std::move(product)), transpose_a_(transpose_a), transpose_b_(transpose_b),
        may_fold_(may_fold) {}

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    const Tensor& a = inputs[0];
    const Tensor& b = inputs[1];
    const Tensor& c = outputs[0];
    Shape shape{transpose_a_, transpose_b_, c.dims[c.rank - 2], c.dims[c.rank - 1],
                a.dims[a.rank - (transpose_a_ ? 2 : 1)]};
    // Dynamic dims are known only at run time, and CBLAS is undefined for strides that do not fit.
    if (a.dims[a.rank - (transpose_a_ ? 1 : 2)] != shape.m ||
        b.dims[b.rank - (transpose_b_ ? 2 : 1)] != shape.n ||
        b.dims[b.rank - (transpose_b_ ? 1 : 2)] != shape.k) {
      error = kMatmulExtentsText;
      return false;
    }
    if (c.elements() == 0) return true;
    failed_ = false;
    if (shape.k == 0) {
      std::memset(c.data, 0, c.bytes());
      return true;
    }
    if (may_fold_ && Matrices(b) == 1) {
      shape.m *= Matrices(c);
      Multiply(shape, a.as<T>(), b.as<Weights>(), c.as<T>());
    } else {
      RunBatch(shape, a, b, c);
    }
    if (failed_) error = "oneDNN reports an error in matmul";
    return !failed_;
  }

 private:
  void Multiply(const Shape& shape, const T* a, const Weights* b, T* c) {
    if constexpr (std::is_same_v<OneProduct, DnnlProduct>) failed_ |= !product_(shape, a, b, c);
    else product_(shape, a, b, c);
  }
  // The number of matrices.
  static int64_t Matrices(const Tensor& tensor) { return Product(tensor, 0, tensor.rank - 2); }

  void RunBatch(const Shape& shape, const Tensor& a, const Tensor& b, const Tensor& c) {
    const int64_t count = Matrices(c);
    for (int64_t i = 0; i < count; ++i) {
      Multiply(shape, a.as<T>() + Matrix(a, c, i) * shape.m * shape.k,
               b.as<Weights>() + Matrix(b, c, i) * shape.k * shape.n,
               c.as<T>() + i * shape.m * shape.n);
    }
  }
  // Returns which matrix of an operand goes into the i-th matrix of the result.
  static int64_t Matrix(const Tensor& operand, const Tensor& result, int64_t i) {
    int64_t matrix = 0, size = 1;
    for (int d = 3; d <= result.rank; ++d) {
      const int64_t extent = result.dims[result.rank - d];
      if (d <= operand.rank && operand.dims[operand.rank - d] != 1) {
        matrix += i % extent * size;
        size *= operand.dims[operand.rank - d];
      }
      i /= extent;
    }
    return matrix;
  }

  OneProduct product_;
  bool transpose_a_, transpose_b_;
  bool failed_ = false;
  bool may_fold_;  // a's batch may become rows: it is stored so, and the number of rows fits
};

Status CheckShapes(const Request& request, bool transpose_a, bool transpose_b) {
  const OperandType& a = request.inputs[0];
  const OperandType& b = request.inputs[1];
  const OperandType& c = request.outputs[0];
  if (a.rank < 2 || b.rank < 2 || c.rank != std::max(a.rank, b.rank)) {
    return Invalid(request, fmt::format("it multiplies matrices or batches of them, not {} and {} "
                                        "to {}", TypeText(a), TypeText(b), TypeText(c)));
  }
  const int a_m = a.rank - (transpose_a ? 1 : 2), a_k = a.rank - (transpose_a ? 2 : 1);
  const int b_k = b.rank - (transpose_b ? 1 : 2), b_n = b.rank - (transpose_b ? 2 : 1);
  if (!SameDim(a, a_k, b, b_k) || !SameDim(a, a_m, c, c.rank - 2) ||
      !SameDim(b, b_n, c, c.rank - 1)) {
    return Invalid(request, fmt::format("{} times {} does not give {}", TypeText(a), TypeText(b),
                                        TypeText(c)));
  }
  for (const OperandType* type : {&a, &b, &c}) {
    OperandType batch = *type, result = c;
    batch.rank = static_cast<uint8_t>(type->rank - 2);
    result.rank = static_cast<uint8_t>(c.rank - 2);
    CGRAPH_RETURN_IF_ERROR(ExpectBroadcast(request, batch, result));
    for (int i = type->rank - 2; i < type->rank; ++i) {
      if (type->dims[i] > INT_MAX) {
        return Invalid(request,
                       fmt::format("{} has a dimension above {}", TypeText(*type), INT_MAX));
      }
    }
  }
  return Status::Ok();
}

// Returns whether an f32 is multiplied by an f16 or bf16.
bool HasNarrowWeights(const Request& request) {
  return request.inputs[0].dtype == DType::f32 && request.outputs[0].dtype == DType::f32 &&
         IsHalf(request.inputs[1].dtype);
}

// Returns whether the batch of `a` can be read as more rows of one matrix.
bool MayFold(const OperandType& a, const OperandType& c, bool transpose_a) {
  if (transpose_a || a.rank != c.rank) return false;
  for (int i = 0; i < a.rank - 2; ++i) {
    if (!SameDim(a, i, c, i)) return false;
  }
  return true;
}

// Returns the rows of all matrices of a result, at their bound; INT_MAX + 1 for anything greater.
int64_t Rows(const OperandType& c) {
  int64_t rows = 1;
  for (int i = 0; i < c.rank - 1; ++i) {
    if (__builtin_mul_overflow(rows, c.dims[i], &rows) || rows > INT_MAX) {
      return int64_t{INT_MAX} + 1;
    }
  }
  return rows;
}

// Returns the greatest product of a call.
Shape MostOf(const Request& request, bool transpose_a, bool may_fold) {
  const OperandType& a = request.inputs[0];
  const OperandType& c = request.outputs[0];
  return {transpose_a, false, may_fold ? Rows(c) : c.dims[c.rank - 2], c.dims[c.rank - 1],
          a.dims[a.rank - (transpose_a ? 2 : 1)]};
}

bool IsDynamic(const OperandType& type) {
  return std::any_of(type.dynamic, type.dynamic + type.rank, [](bool dynamic) { return dynamic; });
}

// Makes a oneDNN product for a shape that gains from it, and of which at most the number of rows is
// dynamic; nothing where there is none.
std::optional<DnnlProduct> MakeDnnl(const Request& request, bool transpose_a, bool transpose_b,
                                    bool may_fold, const Blas& blas) {
  const OperandType& a = request.inputs[0];
  const OperandType& b = request.inputs[1];
  const bool any_rows = IsDynamic(a);
  if (IsDynamic(b) || a.dynamic[a.rank - (transpose_a ? 2 : 1)]) return std::nullopt;
  const bool one_b = std::all_of(b.dims, b.dims + b.rank - 2, [](int64_t d) { return d == 1; });
  Shape shape = MostOf(request, transpose_a, may_fold && one_b);
  shape.transpose_a = transpose_a, shape.transpose_b = transpose_b;
  if (shape.has_few_rows() && FewRowsOf<RowProduct, BF16>() != nullptr) return std::nullopt;
  constexpr double kLeast = 1 << 15;
  const double work = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                      static_cast<double>(shape.k);
  if (work < kLeast) return std::nullopt;
  DnnlProduct product;
  product.matmul = MakeDnnlMatmul(transpose_a, transpose_b, any_rows ? kAnyRows : shape.m,
                                  shape.n, shape.k);
  if (!product.matmul) return std::nullopt;
  if (any_rows) product.of_few_rows.emplace(blas.sgemm, HalfLoopsOf(DType::bf16), shape);
  return product;
}

}  // namespace

Status CheckMatmul(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  if (!HasNarrowWeights(request)) CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  const Result<bool> transpose_a = BoolAttribute(request, "transpose_a");
  const Result<bool> transpose_b = BoolAttribute(request, "transpose_b");
  if (!transpose_a.ok()) return transpose_a.status();
  if (!transpose_b.ok()) return transpose_b.status();
  CGRAPH_RETURN_IF_ERROR(CheckShapes(request, *transpose_a, *transpose_b));
  if (!Contains(DTypes::kNumber, request.outputs[0].dtype)) return NoKernel(request);
  return Status::Ok();
}

KernelResult MakeMatmul(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(CheckMatmul(request));
  const Result<bool> transpose_a = BoolAttribute(request, "transpose_a");
  const Result<bool> transpose_b = BoolAttribute(request, "transpose_b");
  const DType dtype = request.outputs[0].dtype;
  const OperandType& c = request.outputs[0];
  const bool may_fold = MayFold(request.inputs[0], c, *transpose_a) && Rows(c) <= INT_MAX;
  const Blas* blas = nullptr;
  if (plan::IsFloat(dtype)) {
    Result<const Blas*> loaded = LoadBlas();
    if (!loaded.ok()) return loaded.status();
    blas = *loaded;
    if (Rows(c) * c.dims[c.rank - 1] > 64 * 64) blas->WarmUp();
  }
  std::unique_ptr<Kernel> kernel;
  if (HasNarrowWeights(request)) {
    const DType weights = request.inputs[1].dtype;
    const auto keep = [&]<typename T>(T) {
      using Product = WeightsProduct<T>;
      kernel = std::make_unique<MatmulKernel<float, T, Product>>(
          Product(blas->sgemm, HalfLoopsOf(weights), MostOf(request, *transpose_a, may_fold)),
          *transpose_a, *transpose_b, may_fold);
    };
    weights == DType::f16 ? keep(F16{}) : keep(BF16{});
    return kernel;
  }
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto keep = [&](auto product) {
      kernel = std::make_unique<MatmulKernel<T, T, decltype(product)>>(
          std::move(product), *transpose_a, *transpose_b, may_fold);
    };
    if constexpr (std::is_same_v<T, BF16>) {
      if (auto dnnl = MakeDnnl(request, *transpose_a, *transpose_b, may_fold, *blas)) {
        return keep(std::move(*dnnl));
      }
    }
    if constexpr (kIsHalf<T>) {
      keep(
          HalfProduct<T>(blas->sgemm, HalfLoopsOf(dtype), MostOf(request, *transpose_a, may_fold)));
    } else if constexpr (std::is_same_v<T, float>) {
      keep(BlasProduct<T>{blas->sgemm});
    } else if constexpr (std::is_same_v<T, double>) {
      keep(BlasProduct<T>{blas->dgemm});
    } else {
      keep(IntegerProduct<T>{});
    }
  });
  return kernel;
}

}  // namespace cgraph::device
