// oneDNN, loaded when the first plan convolves f32, or multiplies or convolves bf16 on a processor
// that has instructions for it: there it is several times as fast as widening to f32. Elsewhere, or
// where the library is not installed, there is none and the caller takes OpenBLAS.
//
// The workers are the threads, so oneDNN runs with one OpenMP thread. Executing allocates: oneDNN's
// own bookkeeping, counted in kernel_allocations_test.cpp. The work memory is ours, taken when the
// product is made.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_ONEDNN_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_ONEDNN_H_

#include <cstdint>
#include <functional>

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {

// As the number of rows of a product: each call has its own.
inline constexpr int64_t kAnyRows = -1;

// Computes c[m, n] = a[m, k] @ b[k, n] of m rows in bf16. Returns false when the library reports an
// error.
using DnnlMatmul = std::function<bool(int64_t m, const void* a, const void* b, void* c)>;
// Each operand may be stored transposed, but not `a` where it has any number of rows. Returns none
// where there is no such library, or no gain in it. Thread-safe.
DnnlMatmul MakeDnnlMatmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k);

// Computes a convolution in f32 or bf16, or one of its gradients. Takes x and weight, weight and
// gy, or x and gy, by the part. Returns false when the library reports an error.
using DnnlConvolution = std::function<bool(const void* a, const void* b, void* out)>;
// As MakeDnnlMatmul().
DnnlConvolution MakeDnnlConvolution(const ConvolutionShape& shape, ConvolutionPart part,
                                    plan::DType dtype);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_ONEDNN_H_
