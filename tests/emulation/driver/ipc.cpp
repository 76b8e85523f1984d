// CUDA IPC between processes on emulated devices. Memory of another process is a copy here, made
// when its handle is opened: what either process writes later the other does not see. That is
// enough for a process that exports memory, fills it, and waits for its readers. The runtime does
// not use these calls, so they have no rules in calls.def.
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "tests/emulation/driver/machine.h"

namespace cgraph::emulation {
namespace {

constexpr CallKind kGet{"cuIpcGetMemHandle", kContext | kSetup};

// What a handle holds: a file of the process that made it.
struct Exported {
  pid_t process;
  int file;
  uint64_t bytes;
};
static_assert(sizeof(Exported) <= sizeof(CUipcMemHandle));

bool WriteAll(int file, const std::vector<char>& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = write(file, bytes.data() + at, bytes.size() - at);
    if (written <= 0) return false;
    at += static_cast<size_t>(written);
  }
  return true;
}

bool ReadAll(int file, std::vector<char>& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got = pread(file, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace
}  // namespace cgraph::emulation

using namespace cgraph::emulation;

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  uint64_t bytes = 0;
  const CUresult found = Serve(kGet, [&](Machine& machine, Lock&) {
    const auto* start = reinterpret_cast<const void*>(address);
    const Allocation* const allocation = machine.memory.Find(start);
    if (allocation == nullptr || allocation->freed || allocation->device == kHost) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (allocation->start != start) return CUDA_ERROR_INVALID_VALUE;
    bytes = allocation->bytes;
    return CUDA_SUCCESS;
  });
  if (found != CUDA_SUCCESS) return found;
  std::vector<char> copy(bytes);
  const CUresult copied = cuMemcpyDtoH(copy.data(), address, bytes);
  if (copied != CUDA_SUCCESS) return copied;
  const int file = memfd_create("emulated memory", 0);  // until this process ends
  if (file < 0 || !WriteAll(file, copy)) return CUDA_ERROR_OPERATING_SYSTEM;
  const Exported exported{getpid(), file, bytes};
  *handle = {};
  std::memcpy(handle, &exported, sizeof exported);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  Exported exported;
  std::memcpy(&exported, &handle, sizeof exported);
  if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  if (exported.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;  // as CUDA has it
  const std::string path = fmt::format("/proc/{}/fd/{}", exported.process, exported.file);
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> copy(exported.bytes);
  const bool read = ReadAll(file, copy);
  close(file);
  if (!read) return CUDA_ERROR_OPERATING_SYSTEM;
  const CUresult made = cuMemAlloc(address, copy.size());
  if (made != CUDA_SUCCESS) return made;
  const CUresult copied = cuMemcpyHtoD(*address, copy.data(), copy.size());
  // The bytes are staged now; they must be there before the memory is closed.
  return copied != CUDA_SUCCESS ? copied : cuStreamSynchronize(nullptr);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) { return cuMemFree(address); }
