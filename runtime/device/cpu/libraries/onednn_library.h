// oneDNN 2 through its C interface: its functions, and what its primitives have in common. Its
// headers give the layout of its structures; a build without them has no oneDNN (CGRAPH_ONEDNN).
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_ONEDNN_LIBRARY_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_ONEDNN_LIBRARY_H_

#if __has_include(<oneapi/dnnl/dnnl.h>) && defined(__x86_64__)
#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR == 2
#define CGRAPH_ONEDNN 1

#include <memory>
#include <span>
#include <vector>

#include "runtime/device/cpu/kernels/workspace.h"

namespace cgraph::device {

// The functions that are used, under their names without the prefix.
// clang-format off
#define CGRAPH_DNNL_FUNCTIONS(X)                                                             \
  X(engine_create) X(stream_create) X(stream_destroy)                                        \
  X(memory_desc_init_by_strides) X(memory_desc_init_by_tag) X(memory_desc_equal)             \
  X(memory_desc_get_size) X(memory_create) X(memory_set_data_handle) X(memory_destroy)       \
  X(primitive_attr_create) X(primitive_attr_set_scratchpad_mode) X(primitive_attr_destroy)   \
  X(primitive_desc_create) X(reorder_primitive_desc_create) X(primitive_desc_query_md)       \
  X(primitive_desc_destroy) X(primitive_create) X(primitive_execute) X(primitive_destroy)    \
  X(matmul_desc_init) X(dilated_convolution_forward_desc_init)                               \
  X(dilated_convolution_backward_data_desc_init)                                             \
  X(dilated_convolution_backward_weights_desc_init)
// clang-format on

struct DnnlLibrary {
#define X(name) decltype(&dnnl_##name) name = nullptr;
  CGRAPH_DNNL_FUNCTIONS(X)
#undef X
  void (*set_threads)(int) = nullptr;  // of OpenMP, for the calling thread
  dnnl_engine_t engine = nullptr;
  bool loaded = false;

  // Returns the one library of this process, never unloaded; null where there is none. Thread-safe.
  static const DnnlLibrary* Find();
};

inline bool IsDone(dnnl_status_t status) { return status == dnnl_success; }

// An operand of a primitive: DNNL_ARG_..., and how it lies in a tensor.
struct DnnlOperand {
  int argument;
  dnnl_memory_desc_t desc;
};

// A primitive with its operands, ready to run: on the thread that calls, and with work memory of
// its own, since the library's belongs to the thread that made the primitive. Where the primitive
// has an operand in another layout than its tensor, the operand is brought into it and back.
class DnnlPrimitive {
 public:
  explicit DnnlPrimitive(const DnnlLibrary& library) : dnnl_(library) {}
  ~DnnlPrimitive();
  DnnlPrimitive(const DnnlPrimitive&) = delete;
  DnnlPrimitive& operator=(const DnnlPrimitive&) = delete;

  // `op` describes the operation. `hint` is the forward primitive's of a gradient, or null. The
  // last operand is the result. Returns false where the library has no such primitive.
  bool Init(const_dnnl_op_desc_t op, const_dnnl_primitive_desc_t hint,
            std::span<const DnnlOperand> operands);
  // Says what an operand is like whose extents only a call knows (DNNL_RUNTIME_DIM_VAL).
  bool DescribeOperand(size_t operand, const dnnl_memory_desc_t& desc);
  // Runs on the operands' memory, in their order. Returns false when the library reports an error.
  bool Run(std::span<void* const> data);

 private:
  // An operand that the primitive has in a layout of its own.
  struct Reordered {
    size_t operand;
    Workspace<char> memory;
    std::unique_ptr<DnnlPrimitive> reorder;  // to that layout; of the result, from it
  };

  bool InitReorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to);
  // `describe(desc, attributes)` makes the primitive's description.
  template <typename Describe>
  bool InitBy(std::span<const DnnlOperand> operands, Describe describe);
  bool MakeOperand(const DnnlOperand& operand, size_t index, bool is_result,
                   const_dnnl_primitive_desc_t desc);
  bool MakeMemory(const dnnl_memory_desc_t& desc, void* data, int argument);

  const DnnlLibrary& dnnl_;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  std::vector<dnnl_exec_arg_t> arguments_;  // of the operands, then of the work memory
  std::vector<Reordered> reordered_;
  Workspace<char> work_;
};

}  // namespace cgraph::device

#endif
#endif

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_ONEDNN_LIBRARY_H_
