// DirectConvolution: a convolution as it is defined, row by row of an image. f16 and bf16 are added
// up in f32.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_DIRECT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_DIRECT_H_

#include <algorithm>

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/cpu/kernels/workspace.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// to[i * to_step] += by * from[i * from_step].
template <typename T>
struct AddScaledRow {
  using C = Compute<T>;
  CGRAPH_INLINE static void Run(C* to, int64_t to_step, const T* from, int64_t from_step, C by,
                                int64_t count) {
    if (to_step == 1 && from_step == 1) {
      for (int64_t i = 0; i < count; ++i) to[i] += by * C(from[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i * to_step] += by * C(from[i * from_step]);
    }
  }
};

// The sum of a[i] * b[i * step], made as several, one after another in turn.
template <typename T>
struct RowProduct {
  using C = Compute<T>;
  CGRAPH_INLINE static C Run(const T* a, const T* b, int64_t step, int64_t count) {
    constexpr int kSums = 16;
    C sums[kSums] = {};
    int64_t i = 0;
    if (step == 1) {
      for (; i + kSums <= count; i += kSums) {
        CGRAPH_FOR_LANES(j, kSums) sums[j] += C(a[i + j]) * C(b[i + j]);
      }
    }
    for (; i < count; ++i) sums[0] += C(a[i]) * C(b[i * step]);
    C sum = 0;
    for (int j = 0; j < kSums; ++j) sum += sums[j];
    return sum;
  }
};

template <typename T>
class DirectConvolution {
 public:
  using C = Compute<T>;

  DirectConvolution(const ConvolutionShape& shape, ConvolutionPart part)
      : s_(shape),
        part_(part),
        add_(WidestOf<AddScaledRow<T>>()),
        multiply_(WidestOf<RowProduct<T>>()) {
    const int64_t plane = part == ConvolutionPart::kForward         ? s_.out[0] * s_.out[1]
                          : part == ConvolutionPart::kInputGradient ? s_.height * s_.width
                                                                    : 0;
    plane_.resize(static_cast<size_t>(plane));
    if (plane == 0) sums_.resize(static_cast<size_t>(KernelSize()));
  }

  // `images` is how many there are in this call.
  void Run(int64_t images, const T* a, const T* b, T* out) {
    switch (part_) {
      case ConvolutionPart::kForward:
        return Forward(images, a, b, out);
      case ConvolutionPart::kInputGradient:
        return InputGradient(images, a, b, out);
      case ConvolutionPart::kWeightGradient:
        return WeightGradient(images, a, b, out);
    }
  }

 private:
  // The elements [first, end) of a row of the result that meet an element of x for a column of the
  // kernel; `from` is the one of x that the first meets.
  struct Overlap {
    int64_t first, end, from;
  };
  // Padding is left out here, once for a row, instead of being looked for at every element.
  Overlap OverlapOf(int64_t column) const {
    const int64_t shift = column * s_.dilation[1] - s_.padding[1], stride = s_.stride[1];
    const int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    const int64_t last = s_.width - 1 - shift;  // the greatest position in x, less the shift
    const int64_t end = last < 0 ? 0 : std::min(s_.out[1], last / stride + 1);
    return {first, std::max(first, end), first * stride + shift};
  }

  // Calls use(row of x, row of the result, overlap, element of the kernel) for what meets.
  template <typename Use>
  void ForEachMeeting(Use use) const {
    for (int64_t i = 0; i < s_.kernel[0]; ++i) {
      for (int64_t j = 0; j < s_.kernel[1]; ++j) {
        const Overlap overlap = OverlapOf(j);
        if (overlap.first == overlap.end) continue;
        for (int64_t p = 0; p < s_.out[0]; ++p) {
          const int64_t row = p * s_.stride[0] + i * s_.dilation[0] - s_.padding[0];
          if (row >= 0 && row < s_.height) use(row, p, overlap, i * s_.kernel[1] + j);
        }
      }
    }
  }
  int64_t GroupInputs() const { return s_.channels / s_.groups; }
  int64_t GroupResults() const { return s_.out_channels / s_.groups; }
  int64_t KernelSize() const { return s_.kernel[0] * s_.kernel[1]; }
  int64_t PlaneOfX() const { return s_.height * s_.width; }
  int64_t PlaneOfY() const { return s_.out[0] * s_.out[1]; }

  void Store(T* out) const {
    for (size_t i = 0; i < plane_.size(); ++i) out[i] = T(plane_[i]);
  }

  void Forward(int64_t images, const T* x, const T* weight, T* y) {
    for (int64_t image = 0; image < images; ++image) {
      for (int64_t o = 0; o < s_.out_channels; ++o) {
        std::fill(plane_.begin(), plane_.end(), C(0));
        const int64_t first = image * s_.channels + o / GroupResults() * GroupInputs();
        for (int64_t c = 0; c < GroupInputs(); ++c) {
          const T* from = x + (first + c) * PlaneOfX();
          const T* kernel = weight + (o * GroupInputs() + c) * KernelSize();
          ForEachMeeting([&](int64_t row, int64_t p, const Overlap& overlap, int64_t element) {
            add_(plane_.data() + p * s_.out[1] + overlap.first, 1,
                 from + row * s_.width + overlap.from, s_.stride[1], C(kernel[element]),
                 overlap.end - overlap.first);
          });
        }
        Store(y + (image * s_.out_channels + o) * PlaneOfY());
      }
    }
  }

  void InputGradient(int64_t images, const T* weight, const T* gy, T* gx) {
    for (int64_t image = 0; image < images; ++image) {
      for (int64_t c = 0; c < s_.channels; ++c) {
        std::fill(plane_.begin(), plane_.end(), C(0));
        const int64_t group = c / GroupInputs();
        for (int64_t o = group * GroupResults(); o < (group + 1) * GroupResults(); ++o) {
          const T* from = gy + (image * s_.out_channels + o) * PlaneOfY();
          const T* kernel = weight + (o * GroupInputs() + c % GroupInputs()) * KernelSize();
          ForEachMeeting([&](int64_t row, int64_t p, const Overlap& overlap, int64_t element) {
            add_(plane_.data() + row * s_.width + overlap.from, s_.stride[1],
                 from + p * s_.out[1] + overlap.first, 1, C(kernel[element]),
                 overlap.end - overlap.first);
          });
        }
        Store(gx + (image * s_.channels + c) * PlaneOfX());
      }
    }
  }

  // An element's sum goes over all images and places, so the sums of rows are added in f64.
  void WeightGradient(int64_t images, const T* x, const T* gy, T* gradient) {
    for (int64_t o = 0; o < s_.out_channels; ++o) {
      for (int64_t c = 0; c < GroupInputs(); ++c) {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (int64_t image = 0; image < images; ++image) {
          const int64_t channel = image * s_.channels + o / GroupResults() * GroupInputs() + c;
          const T* from = x + channel * PlaneOfX();
          const T* with = gy + (image * s_.out_channels + o) * PlaneOfY();
          ForEachMeeting([&](int64_t row, int64_t p, const Overlap& overlap, int64_t element) {
            sums_[static_cast<size_t>(element)] += static_cast<double>(multiply_(
                with + p * s_.out[1] + overlap.first, from + row * s_.width + overlap.from,
                s_.stride[1], overlap.end - overlap.first));
          });
        }
        T* to = gradient + (o * GroupInputs() + c) * KernelSize();
        for (size_t i = 0; i < sums_.size(); ++i) to[i] = T(sums_[i]);
      }
    }
  }

  const ConvolutionShape s_;
  const ConvolutionPart part_;
  decltype(&AddScaledRow<T>::Run) add_;
  decltype(&RowProduct<T>::Run) multiply_;
  Workspace<C> plane_;      // of the result, or of the gradient of x
  Workspace<double> sums_;  // of the gradient of weight
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_CONVOLUTION_DIRECT_H_
