// Pack: neighbouring elements that are read or written at once, by one access of up to 16 bytes.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_PACK_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_PACK_H_

#include <bit>
#include <cstdint>

#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/cuda/kernels/device_code.h"

namespace cgraph::cuda {

template <typename T>
inline constexpr int kInPack = kPackBytes / sizeof(T);  // elements

template <typename T, int count>
struct Pack {
  T of[count];
};

// Words: what is moved at once; aligned to its size.
template <int bytes>
struct [[gnu::may_alias]] alignas(bytes) Words {
  uint32_t of[bytes / 4];
};
template <>
struct [[gnu::may_alias]] alignas(2) Words<2> {
  uint16_t of[1];
};
template <>
struct [[gnu::may_alias]] alignas(1) Words<1> {
  uint8_t of[1];
};

template <typename T, int count>
__device__ inline Pack<T, count> LoadPack(const T* from) {
  return std::bit_cast<Pack<T, count>>(*reinterpret_cast<const Words<sizeof(T) * count>*>(from));
}
template <typename T, int count>
__device__ inline void StorePack(T* to, const Pack<T, count>& pack) {
  using Whole = Words<sizeof(T) * count>;
  *reinterpret_cast<Whole*>(to) = std::bit_cast<Whole>(pack);
}

// Returns whether packs of so many bytes may begin there.
__device__ inline bool IsAligned(const void* data, int bytes) {
  return (reinterpret_cast<uintptr_t>(data) & static_cast<uintptr_t>(bytes - 1)) == 0;
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_PACK_H_
