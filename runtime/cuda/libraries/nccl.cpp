#include "runtime/cuda/libraries/nccl.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cgraph::cuda {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";

Status Unusable(std::string why) {
  return {StatusCode::kNotFound,
          fmt::format("{}\ninstall NCCL {} or newer where the loader looks", std::move(why),
                      NcclVersionText(kOldestNccl))};
}

Result<Nccl> OpenNccl() {
  // NCCL reads its environment when it is called first. Operations of several communicators begin
  // in the order in which a GPU's one thread issues them; and communicators are connected when they
  // are made, so that issuing waits for no other thread.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*replace=*/0);
  setenv("NCCL_RUNTIME_CONNECT", "0", /*replace=*/0);
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    const bool absent = std::string_view(error).find("No such file") != std::string_view::npos;
    return Unusable(absent ? fmt::format("{} was not found", kLibrary)
                           : fmt::format("{} cannot be used ({})", kLibrary, error));
  }
  Nccl nccl;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(nccl.ncclGetVersion, "ncclGetVersion");
  if (missing != nullptr || nccl.ncclGetVersion(&nccl.version) != nccl::kSuccess) {
    return Unusable(fmt::format("{} does not say its version", kLibrary));
  }
  if (nccl.version < kOldestNccl) {
    return Unusable(fmt::format("{} is version {}, and {} or newer is needed", kLibrary,
                                NcclVersionText(nccl.version), NcclVersionText(kOldestNccl)));
  }
#define FUNCTION(name, parameters) find(nccl.name, #name);
#include "runtime/cuda/libraries/nccl.def"
#undef FUNCTION
  find(nccl.ncclGetErrorString, "ncclGetErrorString");
  find(nccl.ncclGetLastError, "ncclGetLastError");
  if (missing != nullptr) {
    return Unusable(fmt::format("{} {} has no function {}", kLibrary,
                                NcclVersionText(nccl.version), missing));
  }
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
