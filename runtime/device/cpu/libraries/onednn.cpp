// Products and convolutions of oneDNN, with operands as they lie in tensors.
#include "runtime/device/cpu/libraries/onednn.h"

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "runtime/device/cpu/libraries/onednn_library.h"

namespace cgraph::device {

#ifdef CGRAPH_ONEDNN
namespace {

class Matmul {
 public:
  explicit Matmul(const DnnlLibrary& library) : dnnl_(library), primitive_(library) {}

  bool Init(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k) {
    if (m == kAnyRows && transpose_a) return false;
    rows_ = m, n_ = n, k_ = k;
    if (m == kAnyRows) m = DNNL_RUNTIME_DIM_VAL;
    DnnlOperand a{DNNL_ARG_SRC, {}}, b{DNNL_ARG_WEIGHTS, {}}, c{DNNL_ARG_DST, {}};
    dnnl_matmul_desc_t matmul;
    if (!Describe(a.desc, m, k, transpose_a) || !Describe(b.desc, k, n, transpose_b) ||
        !Describe(c.desc, m, n, false) ||
        !IsDone(dnnl_.matmul_desc_init(&matmul, &a.desc, &b.desc, nullptr, &c.desc))) {
      return false;
    }
    const DnnlOperand operands[] = {a, b, c};
    return primitive_.Init(&matmul, nullptr, operands);
  }

  bool Run(int64_t m, const void* a, const void* b, void* c) {
    if (rows_ == kAnyRows && m != last_rows_) {
      dnnl_memory_desc_t a_desc, c_desc;
      if (!Describe(a_desc, m, k_, false) || !Describe(c_desc, m, n_, false) ||
          !primitive_.DescribeOperand(0, a_desc) || !primitive_.DescribeOperand(2, c_desc)) {
        last_rows_ = kAnyRows;
        return false;
      }
      last_rows_ = m;
    }
    void* const data[] = {const_cast<void*>(a), const_cast<void*>(b), c};
    return primitive_.Run(data);
  }

 private:
  bool Describe(dnnl_memory_desc_t& desc, int64_t rows, int64_t columns, bool transpose) const {
    const dnnl_dims_t dims = {rows, columns};
    const dnnl_dims_t strides = {transpose ? 1 : columns, transpose ? rows : 1};
    return IsDone(dnnl_.memory_desc_init_by_strides(&desc, 2, dims, dnnl_bf16, strides));
  }

  const DnnlLibrary& dnnl_;
  DnnlPrimitive primitive_;
  int64_t rows_ = 0, n_ = 0, k_ = 0;
  int64_t last_rows_ = kAnyRows;  // those that the operands are described with, of any number
};

class Convolution {
 public:
  explicit Convolution(const DnnlLibrary& library) : dnnl_(library), primitive_(library) {}

  bool Init(const ConvolutionShape& s, ConvolutionPart part, plan::DType dtype) {
    const dnnl_data_type_t type = dtype == plan::DType::f32 ? dnnl_f32 : dnnl_bf16;
    // A kernel of one element makes a product of matrices as they lie.
    const bool plain = s.kernel[0] * s.kernel[1] == 1;
    Operand x, weight, y;
    if (!Describe(x, {s.images, s.channels, s.height, s.width}, type, plain) ||
        !Describe(
            weight,
            {s.groups, s.out_channels / s.groups, s.channels / s.groups, s.kernel[0], s.kernel[1]},
            type, plain) ||
        !Describe(y, {s.images, s.out_channels, s.out[0], s.out[1]}, type, plain)) {
      return false;
    }
    dnnl_dims_t strides, dilates, before, behind;
    for (int i = 0; i < 2; ++i) {
      strides[i] = s.stride[i];
      dilates[i] = s.dilation[i] - 1;
      before[i] = s.padding[i];
      // What is read behind the input, which is less than the padding where strides leave a rest.
      const int64_t extent = i == 0 ? s.height : s.width;
      const int64_t reach = (s.out[i] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1;
      behind[i] = reach - extent - s.padding[i];
    }
    const dnnl_alg_kind_t by = dnnl_convolution_direct;  // Winograd's is less accurate
    dnnl_convolution_desc_t forward, gradient;
    if (!IsDone(dnnl_.dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, by,
                                                            &x.used, &weight.used, nullptr, &y.used,
                                                            strides, dilates, before, behind))) {
      return false;
    }
    switch (part) {
      case ConvolutionPart::kForward: {
        const DnnlOperand operands[] = {
            {DNNL_ARG_SRC, x.plain}, {DNNL_ARG_WEIGHTS, weight.plain}, {DNNL_ARG_DST, y.plain}};
        return primitive_.Init(&forward, nullptr, operands);
      }
      case ConvolutionPart::kInputGradient: {
        const DnnlOperand operands[] = {{DNNL_ARG_WEIGHTS, weight.plain},
                                        {DNNL_ARG_DIFF_DST, y.plain},
                                        {DNNL_ARG_DIFF_SRC, x.plain}};
        return IsDone(dnnl_.dilated_convolution_backward_data_desc_init(
                   &gradient, by, &x.used, &weight.used, &y.used, strides, dilates, before,
                   behind)) &&
               InitGradient(forward, gradient, operands);
      }
      case ConvolutionPart::kWeightGradient: {
        const DnnlOperand operands[] = {{DNNL_ARG_SRC, x.plain},
                                        {DNNL_ARG_DIFF_DST, y.plain},
                                        {DNNL_ARG_DIFF_WEIGHTS, weight.plain}};
        return IsDone(dnnl_.dilated_convolution_backward_weights_desc_init(
                   &gradient, by, &x.used, &weight.used, nullptr, &y.used, strides, dilates, before,
                   behind)) &&
               InitGradient(forward, gradient, operands);
      }
    }
    return false;
  }

  bool Run(const void* a, const void* b, void* out) {
    void* const data[] = {const_cast<void*>(a), const_cast<void*>(b), out};
    return primitive_.Run(data);
  }

 private:
  // An operand as it lies in a tensor, and as the convolution has it.
  struct Operand {
    dnnl_memory_desc_t plain, used;
  };

  bool Describe(Operand& operand, std::initializer_list<int64_t> extents, dnnl_data_type_t type,
                bool plain) const {
    const int rank = static_cast<int>(extents.size());
    dnnl_dims_t dims;
    std::copy(extents.begin(), extents.end(), dims);
    const dnnl_format_tag_t rows = rank == 4 ? dnnl_nchw : dnnl_goihw;
    const dnnl_format_tag_t used = plain ? rows : dnnl_format_tag_any;
    return IsDone(dnnl_.memory_desc_init_by_tag(&operand.plain, rank, dims, type, rows)) &&
           IsDone(dnnl_.memory_desc_init_by_tag(&operand.used, rank, dims, type, used));
  }
  bool InitGradient(const dnnl_convolution_desc_t& forward, const dnnl_convolution_desc_t& gradient,
                    std::span<const DnnlOperand> operands) {
    dnnl_primitive_desc_t hint = nullptr;
    if (!IsDone(dnnl_.primitive_desc_create(&hint, &forward, nullptr, dnnl_.engine, nullptr))) {
      return false;
    }
    const bool made = primitive_.Init(&gradient, hint, operands);
    dnnl_.primitive_desc_destroy(hint);
    return made;
  }

  const DnnlLibrary& dnnl_;
  DnnlPrimitive primitive_;
};

// Products in bf16 gain where the processor has instructions for them.
bool HasBf16() { return __builtin_cpu_supports("avx512bf16"); }

}  // namespace

DnnlMatmul MakeDnnlMatmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k) {
  const DnnlLibrary* library = HasBf16() ? DnnlLibrary::Find() : nullptr;
  if (library == nullptr) return nullptr;
  auto matmul = std::make_shared<Matmul>(*library);
  if (!matmul->Init(transpose_a, transpose_b, m, n, k)) return nullptr;
  return [matmul](int64_t rows, const void* a, const void* b, void* c) {
    return matmul->Run(rows, a, b, c);
  };
}

DnnlConvolution MakeDnnlConvolution(const ConvolutionShape& shape, ConvolutionPart part,
                                    plan::DType dtype) {
  if (dtype != plan::DType::f32 && (dtype != plan::DType::bf16 || !HasBf16())) return nullptr;
  const DnnlLibrary* library = DnnlLibrary::Find();
  if (library == nullptr) return nullptr;
  auto convolution = std::make_shared<Convolution>(*library);
  if (!convolution->Init(shape, part, dtype)) return nullptr;
  return [convolution](const void* a, const void* b, void* out) {
    return convolution->Run(a, b, out);
  };
}

#else

DnnlMatmul MakeDnnlMatmul(bool, bool, int64_t, int64_t, int64_t) { return nullptr; }
DnnlConvolution MakeDnnlConvolution(const ConvolutionShape&, ConvolutionPart, plan::DType) {
  return nullptr;
}

#endif

}  // namespace cgraph::device
