// The sizes of blocks and accesses, which host and device code share.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_BLOCK_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_BLOCK_H_

namespace cgraph::cuda {

inline constexpr int kThreads = 256;     // of a block, unless a kernel says otherwise
inline constexpr int kWarpThreads = 32;  // of a warp
inline constexpr int kPackBytes = 16;    // that a thread reads or writes at once, at the most

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_BLOCK_H_
