// Memory of a GPU that another process reads by CUDA IPC. This process exports it, a second one,
// which is this program again, opens the handle, looks at the bytes, and measures.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <string>

#include "bench/gpu/probe/probe.h"

namespace cgraph::cuda {
namespace {

using device::Memory;

constexpr unsigned char kPattern = 0x5a;

// The functions of the driver, which the runtime does not use; null where it has none.
struct Ipc {
  decltype(&::cuIpcGetMemHandle) get = nullptr;
  decltype(&::cuIpcOpenMemHandle) open = nullptr;
  decltype(&::cuIpcCloseMemHandle) close = nullptr;

  static Ipc Find() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    Ipc ipc;
    if (driver == nullptr) return ipc;
    ipc.get = reinterpret_cast<decltype(ipc.get)>(dlsym(driver, "cuIpcGetMemHandle"));
    ipc.open = reinterpret_cast<decltype(ipc.open)>(dlsym(driver, "cuIpcOpenMemHandle_v2"));
    ipc.close = reinterpret_cast<decltype(ipc.close)>(dlsym(driver, "cuIpcCloseMemHandle"));
    return ipc;
  }
  bool complete() const { return get != nullptr && open != nullptr && close != nullptr; }
};

std::string ToHex(const CUipcMemHandle& handle) {
  std::string text;
  for (const char byte : handle.reserved) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

CUipcMemHandle FromHex(const std::string& text) {
  CUipcMemHandle handle = {};
  if (text.size() != 2 * sizeof handle.reserved) Fail("--import takes a handle");
  for (size_t i = 0; i < sizeof handle.reserved; ++i) {
    handle.reserved[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

// Returns what this program prints, called with these words.
std::string CallItself(const std::string& words) {
  char path[PATH_MAX + 1] = {};
  if (readlink("/proc/self/exe", path, PATH_MAX) < 0) Fail("/proc/self/exe cannot be read");
  FILE* pipe = popen(fmt::format("'{}' {}", path, words).c_str(), "r");
  if (pipe == nullptr) Fail("a second process does not start");
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
  if (pclose(pipe) != 0) Fail("the process that reads memory of this one has failed");
  return text;
}

}  // namespace

void MeasureProcesses(Probe& probe) {
  const Ipc ipc = Ipc::Find();
  if (!ipc.complete()) return Note("the driver has no functions for CUDA IPC");
  const uint64_t bytes = probe.small ? 200 : 40'000'000;
  const Memory shared = probe.OnGpu(bytes);
  probe.Fill(shared, kPattern, bytes);
  probe.Wait();
  CUipcMemHandle handle;
  const CUresult exported = ipc.get(&handle, AddressOf(shared.data()));
  if (exported != CUDA_SUCCESS) {
    return Note("memory is not exported by CUDA IPC: " + probe.driver.ErrorText(exported));
  }
  const std::string figures = CallItself(
      fmt::format("{} --import {} {}", probe.small ? "--small" : "", ToHex(handle), bytes));
  if (figures.empty()) return;  // the other process has said why
  probe.text += (probe.text.empty() ? "" : ",") + figures;
}

int ImportMemory(Probe& probe, const std::string& text, uint64_t bytes) {
  const Ipc ipc = Ipc::Find();
  const CUipcMemHandle handle = FromHex(text);
  CUdeviceptr address = 0;
  // Containers and some kinds of virtual GPU do not let processes share memory.
  const CUresult opened = ipc.open(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (opened != CUDA_SUCCESS) {
    Note("CUDA IPC is not available: opening memory of another process: " +
         probe.driver.ErrorText(opened));
    return 0;
  }
  const auto open = [&] {
    probe.Check(ipc.open(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                "opening memory of another process");
  };
  const auto close = [&] { probe.Check(ipc.close(address), "closing memory of another process"); };
  close();
  probe.Measure("ipc_open_and_close", [&] { open(), close(); });
  open();
  const Memory own = probe.OnGpu(bytes), host = probe.Pinned(bytes);
  const auto copy = [&] {
    probe.Check(probe.driver.cuMemcpyAsync(AddressOf(own.data()), address, bytes, probe.stream),
                "copying from another process");
  };
  probe.MeasureEager(fmt::format("ipc_copy_{}", bytes), copy);
  probe.Copy(host, own, bytes);
  probe.Wait();
  for (uint64_t i = 0; i < bytes; ++i) {
    if (static_cast<unsigned char>(host.data()[i]) != kPattern) {
      Fail(fmt::format("byte {} from another process is not what it wrote", i));
    }
  }
  close();
  std::printf("%s", probe.text.c_str());
  return 0;
}

}  // namespace cgraph::cuda
