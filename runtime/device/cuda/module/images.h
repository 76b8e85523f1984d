// Images: the device code of this library, one for each .cu file, as nvcc made it (a "fatbin"). The
// build makes their table (runtime/device/cuda/CMakeLists.txt).
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_IMAGES_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_IMAGES_H_

#include <span>

namespace cgraph::cuda {

struct Image {
  const char* file = nullptr;           // "kernels/poison.cu"
  const unsigned char* data = nullptr;  // begins with kImageMagic
};

// The first four bytes of an image, as a little-endian number.
inline constexpr unsigned kImageMagic = 0xBA55ED50;

std::span<const Image> Images();

// Returns the oldest compute capability that the images were compiled for: 80 for 8.0.
int OldestCapability();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_IMAGES_H_
