// oneDNN, loaded when the first plan multiplies bf16 on a processor that has instructions for it:
// there it is several times as fast as widening to f32. Elsewhere, or where the library is not
// installed, there is no DnnlMatmul and the caller widens.
//
// The workers are the threads, so oneDNN runs with one OpenMP thread. Executing allocates: oneDNN's
// own bookkeeping, counted in kernel_allocations_test.cpp. The work memory is ours, taken when the
// product is made.
#ifndef CGRAPH_RUNTIME_DEVICE_LIBRARIES_ONEDNN_H_
#define CGRAPH_RUNTIME_DEVICE_LIBRARIES_ONEDNN_H_

#include <cstdint>
#include <memory>

namespace cgraph::device {

// Computes c[m, n] = a[m, k] @ b[k, n] in bf16; each operand may be stored transposed.
class DnnlMatmul {
 public:
  virtual ~DnnlMatmul() = default;
  // Returns null where there is no such library, or no gain in it. Thread-safe.
  static std::unique_ptr<DnnlMatmul> Make(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                          int64_t k);
  // Returns false when the library reports an error.
  virtual bool Run(const void* a, const void* b, void* c) = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_LIBRARIES_ONEDNN_H_
