// A tool as NVTX_INJECTION64_PATH names it: writes the ranges of each thread to the file that
// FAKE_NVTX_RANGES names, a line each: the thread, "push" or "pop", the name. FAKE_NVTX_REFUSES: it
// cannot start. It is written by NVIDIA's own header, where what we declare could be wrong.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <nvtx3/nvToolsExt.h>

namespace {

std::mutex mutex;
std::FILE* ranges = nullptr;

int Push(const char* name) {
  std::lock_guard lock(mutex);
  std::fprintf(ranges, "%d push %s\n", static_cast<int>(gettid()), name);
  std::fflush(ranges);
  return 0;
}

int Pop() {
  std::lock_guard lock(mutex);
  std::fprintf(ranges, "%d pop\n", static_cast<int>(gettid()));
  std::fflush(ranges);
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  const char* path = std::getenv("FAKE_NVTX_RANGES");
  if (path == nullptr || std::getenv("FAKE_NVTX_REFUSES") != nullptr) return 0;
  ranges = std::fopen(path, "a");
  const auto* version = static_cast<const NvtxExportTableVersionInfo*>(
      get_export_table(NVTX_ETID_VERSIONINFO));
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (version == nullptr || version->struct_size < sizeof *version || version->version != 3 ||
      callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) {
    return 0;
  }
  version->SetInjectionNvtxVersion(3);
  for (int module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; ++module) {
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    const int found = callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(module),
                                                        &table, &size);
    if (found == 0 || table[0] != nullptr || table[size] != nullptr) return 0;
    if (module != NVTX_CB_MODULE_CORE) continue;
    if (size < NVTX_CBID_CORE_SIZE) return 0;
    *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(Push);
    *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(Pop);
  }
  return 1;
}
