// ProductConvolution: a convolution as products of matrices, by OpenBLAS.
//
// The elements of x that meet the kernel for one element of the result are a patch. Patches are the
// columns of a matrix; it is made for a block of the result at a time, so that it stays in the
// second-level cache. f16 and bf16 are widened to f32. Sums are in the type of the products, also
// those of a weight's gradient over all images, as in other frameworks.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_PRODUCTS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_PRODUCTS_H_

#include <algorithm>

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/cpu/kernels/workspace.h"
#include "runtime/device/cpu/libraries/blas.h"
#include "runtime/device/kernel.h"
#include "runtime/device/numbers/half.h"

namespace cgraph::device {

template <typename T>
class ProductConvolution final : public Kernel {
 public:
  using C = Compute<T>;

  // `half` widens and narrows T, where T is f16 or bf16.
  ProductConvolution(const ConvolutionShape& shape, ConvolutionPart part, Gemm<C> gemm,
                     HalfLoops half)
      : s_(shape), part_(part), gemm_(gemm), half_(half) {
    const int64_t most = std::max<int64_t>(kNear / std::max<int64_t>(patch_, 1), 1);
    columns_ = std::min(s_.out[1], most);
    rows_ = columns_ < s_.out[1] ? 1 : std::min(s_.out[0], most / columns_);
    if (is_pointwise_) {
      rows_ = s_.out[0];
      columns_ = s_.out[1];
    } else {
      patches_.resize(static_cast<size_t>(patch_ * rows_ * columns_));
    }
    if constexpr (kIsHalf<T>) {
      wide_x_.resize(static_cast<size_t>(s_.channels * x_plane_));
      wide_weight_.resize(static_cast<size_t>(s_.out_channels * patch_));
      wide_y_.resize(static_cast<size_t>(s_.out_channels * y_plane_));
    }
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    switch (part_) {
      case ConvolutionPart::kForward:
        RunImages(inputs[0], inputs[1], outputs[0]);
        break;
      case ConvolutionPart::kInputGradient:
        RunImages(outputs[0], inputs[0], inputs[1]);
        break;
      case ConvolutionPart::kWeightGradient:
        RunImages(inputs[0], outputs[0], inputs[1]);
        break;
    }
    return true;
  }

 private:
  static constexpr int64_t kNear = 1 << 18;  // elements of patches

  // Elements of the result of one image and channel, in rows and columns.
  struct Block {
    int64_t row, rows, column, columns;
    int count() const { return static_cast<int>(rows * columns); }
  };

  void RunImages(const Tensor& x, const Tensor& weight, const Tensor& y) {
    const int64_t x_size = s_.channels * x_plane_, y_size = s_.out_channels * y_plane_;
    const int64_t weight_size = s_.out_channels * patch_;
    C* const w = Take(weight.as<T>(), wide_weight_, weight_size, ConvolutionPart::kWeightGradient);
    for (int64_t i = 0; i < x.dims[0]; ++i) {
      T* const x_image = x.as<T>() + i * x_size;
      T* const y_image = y.as<T>() + i * y_size;
      C* const from = Take(x_image, wide_x_, x_size, ConvolutionPart::kInputGradient);
      C* const to = Take(y_image, wide_y_, y_size, ConvolutionPart::kForward);
      for (int64_t g = 0; g < s_.groups; ++g) {
        RunGroup(from + g * x_size / s_.groups, w + g * weight_size / s_.groups,
                 to + g * y_size / s_.groups);
      }
      Give(x_image, wide_x_, x_size, ConvolutionPart::kInputGradient);
      Give(y_image, wide_y_, y_size, ConvolutionPart::kForward);
    }
    Give(weight.as<T>(), wide_weight_, weight_size, ConvolutionPart::kWeightGradient);
  }

  // Returns where an operand's elements are computed with; `part` is the one whose result it is.
  C* Take(T* elements, Workspace<C>& wide, int64_t count, ConvolutionPart part) const {
    C* space;
    if constexpr (kIsHalf<T>)
      space = wide.data();
    else
      space = elements;
    if (part != part_) {
      if constexpr (kIsHalf<T>) half_.widen(elements, space, count);
    } else if (adds_) {
      std::fill_n(space, count, C(0));
    }
    return space;
  }
  void Give(T* elements, const Workspace<C>& wide, int64_t count, ConvolutionPart part) const {
    if constexpr (kIsHalf<T>) {
      if (part == part_) half_.narrow(wide.data(), elements, count);
    }
  }

  void RunGroup(C* x, C* weight, C* y) {
    if (patch_ == 0 || s_.out_channels == 0) return;
    for (int64_t row = 0; row < s_.out[0]; row += rows_) {
      const int64_t rows = std::min(rows_, s_.out[0] - row);
      for (int64_t column = 0; column < s_.out[1]; column += columns_) {
        RunBlock(x, weight, y + row * s_.out[1] + column,
                 {row, rows, column, std::min(columns_, s_.out[1] - column)});
      }
    }
  }

  void RunBlock(C* x, C* weight, C* y, const Block& block) {
    C* const patches = is_pointwise_ ? x : patches_.data();
    const int results = static_cast<int>(s_.out_channels / s_.groups), count = block.count();
    const int patch = static_cast<int>(patch_), y_width = static_cast<int>(y_plane_);
    if (part_ == ConvolutionPart::kInputGradient) {
      gemm_(kRowMajor, kTranspose, kNoTranspose, patch, count, results, 1, weight, patch, y,
            y_width, 0, patches, count);
      if (!is_pointwise_) MovePatches<true>(x, block);
      return;
    }
    if (!is_pointwise_) MovePatches<false>(x, block);
    if (part_ == ConvolutionPart::kForward) {
      gemm_(kRowMajor, kNoTranspose, kNoTranspose, results, count, patch, 1, weight, patch, patches,
            count, 0, y, y_width);
    } else {
      gemm_(kRowMajor, kNoTranspose, kTranspose, results, patch, count, 1, y, y_width, patches,
            count, 1, weight, patch);
    }
  }

  // Copies the patches of a block out of x, or adds them to it.
  template <bool adds>
  void MovePatches(C* x, const Block& block) {
    C* patch = patches_.data();
    for (int64_t c = 0; c < s_.channels / s_.groups; ++c) {
      for (int64_t i = 0; i < s_.kernel[0]; ++i) {
        for (int64_t j = 0; j < s_.kernel[1]; ++j) {
          for (int64_t r = 0; r < block.rows; ++r, patch += block.columns) {
            const int64_t row = (block.row + r) * s_.stride[0] + i * s_.dilation[0] - s_.padding[0];
            const bool is_inside = row >= 0 && row < s_.height;
            const int64_t at = c * x_plane_ + (is_inside ? row * s_.width : 0);
            MoveRow<adds>(x + at, is_inside, j, block, patch);
          }
        }
      }
    }
  }
  // Moves what one element of the kernel, in column j, meets of a row of x.
  template <bool adds>
  void MoveRow(C* x, bool is_inside, int64_t j, const Block& block, C* patch) const {
    const int64_t stride = s_.stride[1], count = is_inside ? block.columns : 0;
    const int64_t shift = block.column * stride + j * s_.dilation[1] - s_.padding[1];
    const int64_t first = std::clamp<int64_t>((stride - 1 - shift) / stride, 0, count);
    const int64_t end = std::clamp((s_.width - shift + stride - 1) / stride, first, count);
    if constexpr (adds) {
      for (int64_t q = first; q < end; ++q) x[q * stride + shift] += patch[q];
    } else {
      std::fill(patch, patch + first, C(0));
      if (stride != 1) {
        for (int64_t q = first; q < end; ++q) patch[q] = x[q * stride + shift];
      } else if (first < end) {  // else the pointers may be outside of x
        std::copy(x + (first + shift), x + (end + shift), patch + first);
      }
      std::fill(patch + end, patch + block.columns, C(0));
    }
  }

  const ConvolutionShape s_;
  const ConvolutionPart part_;
  const Gemm<C> gemm_;
  const HalfLoops half_;
  const int64_t patch_ = s_.channels / s_.groups * s_.kernel[0] * s_.kernel[1];  // elements
  const int64_t x_plane_ = s_.height * s_.width, y_plane_ = s_.out[0] * s_.out[1];
  // Each patch is one element of each channel, so x itself is the matrix of patches.
  const bool is_pointwise_ = patch_ == s_.channels / s_.groups && y_plane_ == x_plane_ &&
                             s_.padding[0] == 0 && s_.padding[1] == 0;
  // Whether products are added to the result, which begins with zeros; else they are the result.
  const bool adds_ = patch_ == 0 || s_.out_channels == 0 ||
                     part_ == ConvolutionPart::kWeightGradient ||
                     (part_ == ConvolutionPart::kInputGradient && !is_pointwise_);
  int64_t rows_, columns_;  // of a block
  Workspace<C> patches_, wide_x_, wide_weight_, wide_y_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_PRODUCTS_H_
