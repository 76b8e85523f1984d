// Products of f32 and packed weights of 8 or 4 bits (stdlib/std/quant.cgraph). A few rows read the
// weights as they lie in memory; of more rows blocks of them are widened for OpenBLAS.
#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/packed_product.h"
#include "runtime/device/cpu/kernels/row_product.h"
#include "runtime/device/cpu/kernels/workspace.h"
#include "runtime/device/cpu/libraries/blas.h"

namespace cgraph::device {
namespace {

// The edge of a block of weights that is widened.
constexpr int64_t kEdge = 512;

template <bool nibbles>
struct WidenPackedBlocks {
  // Widens the weights of some groups and blocks, from the first of each on, to [number, output].
  CGRAPH_INLINE static void Run(const PackedWeights& w, int64_t group, int64_t groups,
                                int64_t block, int64_t blocks, float* to) {
    constexpr int kOutputs = kPackedOutputs;
    const int64_t width = groups * kOutputs;
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t at = (group + g) * w.blocks + block + b;
        float* const column = to + b * kPackedBlock * width + g * kOutputs;
        float scale[kOutputs], minimum[kOutputs] = {};
        CGRAPH_FOR_LANES(l, kOutputs) scale[l] = w.scale[at * kOutputs + l];
        if constexpr (nibbles) {
          CGRAPH_FOR_LANES(l, kOutputs) minimum[l] = w.minimum[at * kOutputs + l];
          const auto* bytes =
              static_cast<const uint8_t*>(w.q) + at * kPackedBlock / 2 * kOutputs;
          for (int word = 0; word < 4; ++word, bytes += 4 * kOutputs) {
            uint32_t words[kOutputs];  // bytes of a caller's may lie anywhere
            std::memcpy(words, bytes, sizeof words);
            for (int i = 0; i < 8; ++i) {
              float* const row = column + ColumnOfNibble(word, i) * width;
              CGRAPH_FOR_LANES(l, kOutputs) {
                row[l] = Fma(static_cast<float>(static_cast<int32_t>(words[l] >> 4 * i & 15)),
                             scale[l], minimum[l]);
              }
            }
          }
        } else {
          const auto* numbers = static_cast<const int8_t*>(w.q) + at * kPackedBlock * kOutputs;
          for (int i = 0; i < kPackedBlock; ++i, numbers += kOutputs) {
            CGRAPH_FOR_LANES(l, kOutputs) {
              column[i * width + l] = static_cast<float>(numbers[l]) * scale[l];
            }
          }
        }
      }
    }
  }
};

template <bool nibbles>
class PackedMatmul final : public Kernel {
 public:
  PackedMatmul(Gemm<float> gemm, const OperandType& q) : gemm_(gemm) {
    const int64_t outputs = std::min(q.dims[0] * kPackedOutputs, kEdge);
    widened_.resize(static_cast<size_t>(outputs * std::min(q.dims[1] * kPackedBlock, kEdge)));
    sums_.resize(nibbles ? static_cast<size_t>(kMostRows * q.dims[1]) : 0);
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    const Tensor& x = inputs[0];
    const Tensor& q = inputs[1];
    const PackedWeights weights{q.data, inputs[2].as<F16>(),
                                nibbles ? inputs[3].as<F16>() : nullptr, q.dims[0], q.dims[1]};
    const int64_t rows = Product(x, 0, x.rank - 1);
    float* const c = outputs[0].as<float>();
    if (weights.blocks == 0) std::fill_n(c, outputs[0].elements(), 0.0f);
    if (rows == 0 || weights.groups == 0 || weights.blocks == 0) return true;
    if (rows > kMostRows) {
      MultiplyWidened(x.as<float>(), rows, weights, c);
      return true;
    }
    if (nibbles) SumBlocks(x.as<float>(), rows * weights.blocks);
    product_(x.as<float>(), sums_.data(), rows, weights, c);
    return true;
  }

 private:
  void SumBlocks(const float* x, int64_t blocks) {
    for (int64_t b = 0; b < blocks; ++b, x += kPackedBlock) {
      float lanes[8] = {};
      for (int i = 0; i < kPackedBlock; ++i) lanes[i % 8] += x[i];
      for (int half = 4; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
      }
      sums_[static_cast<size_t>(b)] = lanes[0];
    }
  }
  void MultiplyWidened(const float* x, int64_t rows, const PackedWeights& weights, float* c) {
    constexpr int64_t kGroups = kEdge / kPackedOutputs, kBlocks = kEdge / kPackedBlock;
    const int64_t width = weights.groups * kPackedOutputs, k = weights.blocks * kPackedBlock;
    for (int64_t g = 0; g < weights.groups; g += kGroups) {
      const int64_t groups = std::min(kGroups, weights.groups - g);
      const int columns = static_cast<int>(groups * kPackedOutputs);
      for (int64_t b = 0; b < weights.blocks; b += kBlocks) {
        const int64_t blocks = std::min(kBlocks, weights.blocks - b);
        widen_(weights, g, groups, b, blocks, widened_.data());
        gemm_(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(rows), columns,
              static_cast<int>(blocks * kPackedBlock), 1, x + b * kPackedBlock,
              static_cast<int>(k), widened_.data(), columns, b == 0 ? 0 : 1,
              c + g * kPackedOutputs, static_cast<int>(width));
      }
    }
  }

  Gemm<float> gemm_;
  PackedProductFunction product_ = PackedProductOf<nibbles>();
  decltype(&WidenPackedBlocks<nibbles>::Run) widen_ = WidestOf<WidenPackedBlocks<nibbles>>();
  Workspace<float> widened_, sums_;
};

bool HasDims(const OperandType& type, std::initializer_list<int64_t> dims) {
  return type.rank == dims.size() && std::equal(dims.begin(), dims.end(), type.dims) &&
         std::none_of(type.dynamic, type.dynamic + type.rank, [](bool dynamic) { return dynamic; });
}

}  // namespace

Status CheckPackedMatmul(const Request& request) {
  const bool nibbles = request.kernel == "matmul_q4_1";
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, nibbles ? 4 : 3, 1));
  const OperandType& x = request.inputs[0];
  const OperandType& q = request.inputs[1];
  const OperandType& c = request.outputs[0];
  bool fits = x.dtype == DType::f32 && c.dtype == DType::f32 && x.rank > 0 && c.rank == x.rank &&
              q.dtype == (nibbles ? DType::u8 : DType::i8) && q.rank == (nibbles ? 5 : 4);
  const int64_t groups = q.dims[0], blocks = q.dims[1];
  fits = fits && groups <= INT_MAX / kPackedOutputs && blocks <= INT_MAX / kPackedBlock &&
         (nibbles ? HasDims(q, {groups, blocks, 4, kPackedOutputs, 4})
                  : HasDims(q, {groups, blocks, kPackedBlock, kPackedOutputs}));
  for (size_t i = 2; fits && i < request.inputs.size(); ++i) {
    fits = request.inputs[i].dtype == DType::f16 &&
           HasDims(request.inputs[i], {groups, blocks, kPackedOutputs});
  }
  int64_t rows = 1;
  for (int i = 0; fits && i + 1 < x.rank; ++i) {
    fits = SameDim(x, i, c, i) && !__builtin_mul_overflow(rows, x.dims[i], &rows) &&
           rows <= INT_MAX;
  }
  const int last = x.rank - 1;
  if (fits && x.dims[last] == blocks * kPackedBlock && !x.dynamic[last] &&
      c.dims[last] == groups * kPackedOutputs && !c.dynamic[last]) {
    return Status::Ok();
  }
  std::string types;
  for (const OperandType& input : request.inputs) {
    types += fmt::format("{}{}", types.empty() ? "" : ", ", TypeText(input));
  }
  return Invalid(request, fmt::format("{} do not make {}", types, TypeText(c)));
}

KernelResult MakePackedMatmul(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(CheckPackedMatmul(request));
  Result<const Blas*> blas = LoadBlas();
  if (!blas.ok()) return blas.status();
  (*blas)->WarmUp();
  const OperandType& q = request.inputs[1];
  if (request.kernel == "matmul_q4_1") {
    return KernelResult(std::make_unique<PackedMatmul<true>>((*blas)->sgemm, q));
  }
  return KernelResult(std::make_unique<PackedMatmul<false>>((*blas)->sgemm, q));
}

}  // namespace cgraph::device
