// Our declarations of NCCL against its own header, where that is installed, as CMake finds out.
// Compiling this file is the test.
#include <nccl.h>

#include <type_traits>

#include "runtime/device/cuda/libraries/nccl.h"
#include "runtime/device/memory.h"

namespace cgraph::cuda {

static_assert(nccl::kSuccess == ncclSuccess && nccl::kInProgress == ncclInProgress);
static_assert(nccl::kSum == ncclSum && nccl::kProd == ncclProd && nccl::kMax == ncclMax);
static_assert(nccl::kMin == ncclMin && nccl::kAvg == ncclAvg);
static_assert(nccl::kI8 == ncclInt8 && nccl::kU8 == ncclUint8 && nccl::kI32 == ncclInt32);
static_assert(nccl::kI64 == ncclInt64 && nccl::kF16 == ncclFloat16);
static_assert(nccl::kF32 == ncclFloat32 && nccl::kF64 == ncclFloat64);
static_assert(nccl::kBF16 == ncclBfloat16);
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
static_assert(nccl::kSymmetricWindow == NCCL_WIN_COLL_SYMMETRIC);
static_assert(device::kBlockAlign % NCCL_WIN_REQUIRED_ALIGNMENT == 0);
#endif
// The configuration, to the end of ours: later versions have more.
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclConfig, cga_cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(NcclConfig, least_ctas) == offsetof(ncclConfig_t, minCTAs));
static_assert(offsetof(NcclConfig, most_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(NcclConfig, network) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclConfig, split_share) == offsetof(ncclConfig_t, splitShare));
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 25, 0)
static_assert(offsetof(NcclConfig, traffic_class) == offsetof(ncclConfig_t, trafficClass));
#endif
inline constexpr ncclConfig_t kTheirs = NCCL_CONFIG_INITIALIZER;
static_assert(NcclConfig{}.magic == kTheirs.magic && NcclConfig{}.blocking == kTheirs.blocking);
static_assert(NcclConfig{}.version == NCCL_VERSION(2, 19, 0));

// Every function takes as many parameters as ours, each of the same size and kind.
template <typename Ours, typename Theirs>
constexpr bool kLike =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_class_v<Ours> == std::is_class_v<Theirs>;
template <typename R, typename... Ours, typename S, typename... Theirs>
constexpr bool Like(R (*)(Ours...), S (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
    return false;
  } else {
    return kLike<R, S> && (kLike<Ours, Theirs> && ...);
  }
}
#define FUNCTION(name, parameters) \
  static_assert(Like(decltype(Nccl::name)(nullptr), decltype(&::name)(nullptr)));
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 27, 0)
#define LATER_FUNCTION(version, name, parameters)
#endif
#include "runtime/device/cuda/libraries/nccl.def"
#undef FUNCTION
static_assert(Like(decltype(Nccl::ncclGetErrorString)(nullptr),
                   decltype(&::ncclGetErrorString)(nullptr)));
static_assert(Like(decltype(Nccl::ncclGetLastError)(nullptr),
                   decltype(&::ncclGetLastError)(nullptr)));

}  // namespace cgraph::cuda
