// NCCL, which carries out collectives among GPUs. What we use of it is declared here as in its
// header, nccl.h, which need not be installed. The library is opened at run time: without it, our
// own kernels and copies carry out collectives.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_NCCL_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_NCCL_H_

#include <cuda.h>

#include <climits>
#include <cstddef>
#include <string>

#include "runtime/base/status.h"

namespace cgraph::cuda {

using NcclComm = struct NcclCommObject*;
using NcclWindow = struct NcclWindowObject*;
struct NcclId {
  char internal[128];
};
// As of version 2.19; later versions have more fields and take this one, which says so.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21900;
  int blocking = INT_MIN;  // INT_MIN, and null: as NCCL likes
  int cga_cluster_size = INT_MIN;
  int least_ctas = INT_MIN;
  int most_ctas = INT_MIN;
  const char* network = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;  // of later versions, where 2.19 has padding
};

// Numbers of nccl.h.
namespace nccl {
inline constexpr int kSuccess = 0, kInProgress = 7;                 // ncclResult_t
inline constexpr int kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4;  // ncclRedOp_t
inline constexpr int kI8 = 0, kU8 = 1, kI32 = 2, kI64 = 4;          // ncclDataType_t
inline constexpr int kF16 = 6, kF32 = 7, kF64 = 8, kBF16 = 9;
inline constexpr int kSymmetricWindow = 1;                          // NCCL_WIN_COLL_SYMMETRIC
}  // namespace nccl

// Versions as ncclGetVersion counts. The oldest that is used: communicators that do not block, and
// their configuration. The first in which operations of several communicators of one GPU begin in
// the order in which they were issued; the first that lets several ranks be on one GPU.
inline constexpr int kOldestNccl = 21900;
inline constexpr int kOrderedNccl = 22600;
inline constexpr int kSeveralRanksNccl = 23000;

struct Nccl {
#define FUNCTION(name, parameters) int(*name) parameters = nullptr;
#include "runtime/device/cuda/libraries/nccl.def"
#undef FUNCTION
  const char* (*ncclGetErrorString)(int status) = nullptr;
  const char* (*ncclGetLastError)(NcclComm communicator) = nullptr;
  int version = 0;
  // Why it does not keep the order between communicators, though its version could; empty where it
  // does, and where it is older than kOrderedNccl.
  std::string unordered;
  bool several_ranks = false;  // on one GPU, as the environment asks for

  // Whether operations of several communicators of one GPU begin in the order in which they were
  // issued.
  bool ordered() const { return version >= kOrderedNccl && unordered.empty(); }

  // Opens the library, once a process. kNotFound where there is none, kUnsupported where it is old
  // or broken, with a sentence that says what to do about it.
  static Result<const Nccl*> Get();

  // Returns a status in words, with what NCCL adds to its last error.
  std::string ErrorText(int status) const;
};

// Returns "2.28.9" of a version's number.
std::string NcclVersionText(int version);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_NCCL_H_
