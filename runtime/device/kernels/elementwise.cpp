// Elementwise kernels: loops over rows of elements, and the broadcasting around them.
//
// An operation (elementwise_ops.h) becomes three loops per dtype: both operands run along, or one of
// them stands still. Each loop is compiled twice, for the baseline and for AVX2, and chosen when the
// kernel is made. Operands of equal size and single elements take one loop; other broadcasts merge
// adjacent dimensions that both operands walk alike, and run the loop once per remaining row.
//
// A result may be the memory of an operand of the same type: element i is read before it is written.
#include "runtime/device/kernels/elementwise_ops.h"
#include "runtime/device/kernels/makers.h"

namespace cgraph::device {
namespace {

// ---- loops --------------------------------------------------------------------------------------

using BinaryLoop = void (*)(const void* a, const void* b, void* out, int64_t count);
using UnaryLoop = void (*)(const void* x, void* out, int64_t count);

enum class Walk { kBoth, kOnlyA, kOnlyB };  // which operand moves from element to element

template <typename Operation, typename In, typename Out, Walk walk>
[[gnu::always_inline]] inline void LoopBinary(const void* a, const void* b, void* out,
                                              int64_t count) {
  const In* from_a = static_cast<const In*>(a);
  const In* from_b = static_cast<const In*>(b);
  Out* to = static_cast<Out*>(out);
  const In first_a = *from_a;
  const In first_b = *from_b;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Operation::Of(walk == Walk::kOnlyB ? first_a : from_a[i],
                          walk == Walk::kOnlyA ? first_b : from_b[i]);
  }
}

template <typename Operation, typename T>
[[gnu::always_inline]] inline void LoopUnary(const void* x, void* out, int64_t count) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = Operation::Of(from[i]);
}

struct Baseline {
  template <typename Operation, typename In, typename Out, Walk walk>
  static void Binary(const void* a, const void* b, void* out, int64_t count) {
    LoopBinary<Operation, In, Out, walk>(a, b, out, count);
  }
  template <typename Operation, typename T>
  static void Unary(const void* x, void* out, int64_t count) {
    LoopUnary<Operation, T>(x, out, count);
  }
};

#if defined(__x86_64__)
struct Avx2 {
  template <typename Operation, typename In, typename Out, Walk walk>
  [[gnu::target("avx2")]] static void Binary(const void* a, const void* b, void* out,
                                             int64_t count) {
    LoopBinary<Operation, In, Out, walk>(a, b, out, count);
  }
  template <typename Operation, typename T>
  [[gnu::target("avx2")]] static void Unary(const void* x, void* out, int64_t count) {
    LoopUnary<Operation, T>(x, out, count);
  }
};
bool HasAvx2() { return __builtin_cpu_supports("avx2"); }
#else
using Avx2 = Baseline;
bool HasAvx2() { return false; }
#endif

// ---- broadcasting -------------------------------------------------------------------------------

// Dimensions from the innermost out, merged where both operands walk them alike. The innermost
// stride of an operand is 1 or, where it is broadcast, 0: operands are dense.
struct Walks {
  int rank = 0;
  int64_t extents[kMaxRank], a_strides[kMaxRank], b_strides[kMaxRank];

  Walks(const Tensor& a, const Tensor& b, const Tensor& out) {
    int64_t a_size = 1, b_size = 1;
    for (int i = 1; i <= out.rank; ++i) {
      const int64_t extent = out.dims[out.rank - i];
      const int64_t a_stride = Step(a, i, a_size);
      const int64_t b_stride = Step(b, i, b_size);
      if (extent != 1) Append(extent, a_stride, b_stride);
    }
    if (rank == 0) Append(1, 1, 1);
  }

 private:
  // The stride of the i-th dimension from the end; `size` is the elements of those after it.
  static int64_t Step(const Tensor& tensor, int i, int64_t& size) {
    if (i > tensor.rank || tensor.dims[tensor.rank - i] == 1) return 0;
    const int64_t stride = size;
    size *= tensor.dims[tensor.rank - i];
    return stride;
  }
  void Append(int64_t extent, int64_t a_stride, int64_t b_stride) {
    if (rank > 0 && a_stride == a_strides[rank - 1] * extents[rank - 1] &&
        b_stride == b_strides[rank - 1] * extents[rank - 1]) {
      extents[rank - 1] *= extent;
      return;
    }
    extents[rank] = extent;
    a_strides[rank] = a_stride;
    b_strides[rank] = b_stride;
    ++rank;
  }
};

class BinaryKernel final : public Kernel {
 public:
  struct Loops {
    BinaryLoop both, only_a, only_b;
    int64_t in_bytes, out_bytes;  // of an element
  };
  explicit BinaryKernel(const Loops& loops) : loops_(loops) {}

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    const Tensor& a = inputs[0];
    const Tensor& b = inputs[1];
    const Tensor& out = outputs[0];
    const int64_t count = out.elements();
    const int64_t a_count = a.elements(), b_count = b.elements();
    if (count == 0 || a_count == 0 || b_count == 0) return true;
    if (a_count == count && b_count == count) {
      loops_.both(a.data, b.data, out.data, count);
    } else if (a_count == count && b_count == 1) {
      loops_.only_a(a.data, b.data, out.data, count);
    } else if (a_count == 1 && b_count == count) {
      loops_.only_b(a.data, b.data, out.data, count);
    } else {
      RunRows(Walks(a, b, out), a.as<char>(), b.as<char>(), out.as<char>());
    }
    return true;
  }

 private:
  void RunRows(const Walks& walks, const char* a, const char* b, char* out) const {
    int64_t index[kMaxRank] = {};
    for (;;) {
      RunRow(walks, a, b, out);
      out += walks.extents[0] * loops_.out_bytes;
      int i = 1;
      for (; i < walks.rank; ++i) {
        a += walks.a_strides[i] * loops_.in_bytes;
        b += walks.b_strides[i] * loops_.in_bytes;
        if (++index[i] < walks.extents[i]) break;
        a -= walks.extents[i] * walks.a_strides[i] * loops_.in_bytes;
        b -= walks.extents[i] * walks.b_strides[i] * loops_.in_bytes;
        index[i] = 0;
      }
      if (i >= walks.rank) return;
    }
  }
  void RunRow(const Walks& walks, const char* a, const char* b, char* out) const {
    const int64_t count = walks.extents[0];
    const bool walk_a = walks.a_strides[0] != 0, walk_b = walks.b_strides[0] != 0;
    if (walk_a) {
      (walk_b ? loops_.both : loops_.only_a)(a, b, out, count);
    } else if (walk_b) {
      loops_.only_b(a, b, out, count);
    } else {
      for (int64_t i = 0; i < count; ++i) loops_.both(a, b, out + i * loops_.out_bytes, 1);
    }
  }

  Loops loops_;
};

class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(UnaryLoop loop) : loop_(loop) {}
  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    loop_(inputs[0].data, outputs[0].data, outputs[0].elements());
    return true;
  }

 private:
  UnaryLoop loop_;
};

// ---- makers -------------------------------------------------------------------------------------

// Whether an operation of these dtypes is instantiated for the C++ type.
template <DTypes dtypes, typename T>
inline constexpr bool kComputes = dtypes == DTypes::kFloat  ? std::is_floating_point_v<T>
                                  : dtypes == DTypes::kBool ? std::is_same_v<T, uint8_t>
                                                            : true;

template <typename Target, typename Operation, typename In, typename Out>
BinaryKernel::Loops LoopsOf() {
  return {Target::template Binary<Operation, In, Out, Walk::kBoth>,
          Target::template Binary<Operation, In, Out, Walk::kOnlyA>,
          Target::template Binary<Operation, In, Out, Walk::kOnlyB>, sizeof(In), sizeof(Out)};
}

template <typename Operation, DTypes dtypes, bool compare>
KernelResult BinaryOf(const Request& request) {
  const DType dtype = request.inputs[0].dtype;
  if (!Contains(dtypes, dtype)) return NoKernel(request);
  BinaryKernel::Loops loops = {};
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kComputes<dtypes, T>) {
      using Out = std::conditional_t<compare, uint8_t, T>;
      loops = HasAvx2() ? LoopsOf<Avx2, Operation, T, Out>() : LoopsOf<Baseline, Operation, T, Out>();
    }
  });
  return KernelResult(std::make_unique<BinaryKernel>(loops));
}

template <typename Operation, DTypes dtypes>
KernelResult UnaryOf(const Request& request) {
  const DType dtype = request.inputs[0].dtype;
  if (!Contains(dtypes, dtype)) return NoKernel(request);
  UnaryLoop loop = nullptr;
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kComputes<dtypes, T>) {
      loop = HasAvx2() ? &Avx2::template Unary<Operation, T> : &Baseline::Unary<Operation, T>;
    }
  });
  return KernelResult(std::make_unique<UnaryKernel>(loop));
}

// The result has the dimensions that NumPy would give.
Status ExpectBroadcasting(const Request& request) {
  const OperandType& a = request.inputs[0];
  const OperandType& b = request.inputs[1];
  const OperandType& out = request.outputs[0];
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcast(request, a, out));
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcast(request, b, out));
  for (int i = 1; i <= out.rank; ++i) {
    const bool given = (i <= a.rank && SameDim(a, a.rank - i, out, out.rank - i)) ||
                       (i <= b.rank && SameDim(b, b.rank - i, out, out.rank - i));
    if (!given) {
      return Invalid(request, TypeText(a) + " and " + TypeText(b) + " do not broadcast to " +
                                  TypeText(out));
    }
  }
  return Status::Ok();
}

}  // namespace

KernelResult MakeBinary(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcasting(request));
#define BINARY(name, operation, dtypes) \
  if (request.kernel == name) return BinaryOf<operation, DTypes::dtypes, false>(request);
#include "runtime/device/kernels/kernels.def"
  return NoKernel(request);
}

KernelResult MakeCompare(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  if (request.inputs[0].dtype != request.inputs[1].dtype ||
      request.outputs[0].dtype != DType::bool_) {
    return Invalid(request, "it compares operands of one dtype and gives bool");
  }
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcasting(request));
#define COMPARE(name, operation, dtypes) \
  if (request.kernel == name) return BinaryOf<operation, DTypes::dtypes, true>(request);
#include "runtime/device/kernels/kernels.def"
  return NoKernel(request);
}

KernelResult MakeUnary(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
#define UNARY(name, operation, dtypes) \
  if (request.kernel == name) return UnaryOf<operation, DTypes::dtypes>(request);
#include "runtime/device/kernels/kernels.def"
  return NoKernel(request);
}

}  // namespace cgraph::device
