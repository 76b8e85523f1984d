#include "runtime/device/cuda/libraries/nccl.h"

#include <cstdlib>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "runtime/device/cuda/libraries/shared_library.h"

namespace cgraph::cuda {
namespace {

std::string_view FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// What the user's environment decides, which is left as it is.
void ReadEnvironment(Nccl& nccl) {
  const std::string_view order = FromEnvironment("NCCL_LAUNCH_ORDER_IMPLICIT");
  if (order != "1" && nccl.version >= kOrderedNccl) {
    nccl.unordered = fmt::format("carries out one communicator of each GPU: "
                                 "NCCL_LAUNCH_ORDER_IMPLICIT is \"{}\" in the environment, so that "
                                 "it keeps no order between several; unset that", order);
  }
  nccl.several_ranks = nccl.version >= kSeveralRanksNccl &&
                       FromEnvironment("NCCL_MULTI_RANK_GPU_ENABLE") == "1";
}

Result<Nccl> OpenNccl() {
  // NCCL reads its environment when it is called first. Operations of several communicators begin
  // in the order in which a GPU's one thread issues them; and communicators are connected when they
  // are made, so that issuing waits for no other thread.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*replace=*/0);
  setenv("NCCL_RUNTIME_CONNECT", "0", /*replace=*/0);
  const SharedLibrary shared{{"libnccl.so.2"},
                             "moves data between GPUs",
                             "NCCL, by `pip install " CGRAPH_NCCL_PACKAGE
                             "` or as NVIDIA's package libnccl2"};
  const Result<void*> library = shared.Open();
  if (!library.ok()) return library.status();
  Nccl nccl;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(FindSymbol(*library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(nccl.ncclGetVersion, "ncclGetVersion");
  if (missing != nullptr || nccl.ncclGetVersion(&nccl.version) != nccl::kSuccess) {
    return shared.Unusable("does not say its version");
  }
  if (nccl.version < kOldestNccl) {
    return shared.Unusable(fmt::format("is of version {}, and {} or newer is needed",
                                       NcclVersionText(nccl.version),
                                       NcclVersionText(kOldestNccl)));
  }
#define FUNCTION(name, parameters) find(nccl.name, #name);
#define LATER_FUNCTION(since, name, parameters) \
  if (nccl.version >= since) find(nccl.name, #name);
#include "runtime/device/cuda/libraries/nccl.def"
#undef FUNCTION
  find(nccl.ncclGetErrorString, "ncclGetErrorString");
  find(nccl.ncclGetLastError, "ncclGetLastError");
  if (missing != nullptr) {
    return shared.Unusable(fmt::format("is of version {} and has no function {}",
                                       NcclVersionText(nccl.version), missing));
  }
  ReadEnvironment(nccl);
  return nccl;
}

}  // namespace

Result<const Nccl*> Nccl::Get() {
  static const Result<Nccl> opened = OpenNccl();
  if (!opened.ok()) return opened.status();
  return &*opened;
}

std::string Nccl::ErrorText(int status) const {
  const char* what = ncclGetErrorString(status);
  const char* more = ncclGetLastError(nullptr);
  std::string text = what != nullptr ? what : fmt::format("error {}", status);
  if (more != nullptr && *more != '\0') text += fmt::format(" ({})", more);
  return text;
}

std::string NcclVersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace cgraph::cuda
