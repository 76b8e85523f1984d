// The driver's functions of modules and launches. A module is what our build embeds, a fat binary,
// whose functions are the kernels that the host's compiler made, by the same names; or it is what
// the emulated NVRTC compiled, which has kernels of its own.
#include <cuda.h>
#include <fmt/format.h>

#include <cstring>

#include "tests/emulation/driver/host_object.h"
#include "tests/emulation/driver/machine.h"
#include "tests/emulation/grid/run_grid.h"
#include "tests/emulation/misuse.h"

using namespace cgraph::emulation;

namespace {

constexpr uint32_t kFatBinary = 0xba55ed50;  // its first four bytes
constexpr int kMostShared = 227 << 10;       // of a block, where a function asks for it
constexpr size_t kMostArguments = 32764;     // in bytes

bool Fits(const CUfunc_st& function, dim3 grid, dim3 block, unsigned shared_bytes) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return grid.x != 0 && grid.y != 0 && grid.z != 0 && grid.x <= 2147483647 && grid.y <= 65535 &&
         grid.z <= 65535 && threads != 0 && threads <= kMostThreads && block.z <= 64 &&
         shared_bytes <= static_cast<unsigned>(function.most_shared_bytes);
}

const HostKernel* FindKernel(const CUmod_st& module, const char* name) {
  if (module.kernels == nullptr) return FindHostKernel(name);
  const auto found = module.kernels->find(name);
  return found == module.kernels->end() ? nullptr : &found->second;
}

// Returns the arguments side by side, at multiples of 16.
std::vector<std::byte> CopyOf(const HostKernel& kernel, void** arguments) {
  std::vector<std::byte> values;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const auto* const argument = static_cast<const std::byte*>(arguments[i]);
    values.resize((values.size() + 15) / 16 * 16);
    values.insert(values.end(), argument, argument + kernel.parameters[i]);
  }
  return values;
}

// Loading code may wait for all that the device has to do. A captured launch loads it later.
CUresult LoadCode(Machine& machine, Lock& lock, CUfunction function, const CUstream_st& stream) {
  if (function->loaded || stream.capture.capture != nullptr) return CUDA_SUCCESS;
  if (machine.steady) {
    Misuse(fmt::format("the kernel {} is loaded in the steady state", function->kernel->name));
  }
  function->loaded = true;
  return Drain(machine, lock, function->context);
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* handle, const void* image) {
  return Serve(calls::k_cuModuleLoadData, [&](Machine& machine, Lock& lock) {
    uint32_t magic = 0;
    std::memcpy(&magic, image, sizeof(magic));
    const HostKernels* const kernels = magic == kHostObject ? LoadHostObject(image) : nullptr;
    if (magic != kFatBinary && kernels == nullptr) return CUDA_ERROR_INVALID_IMAGE;
    const CUresult drained = Drain(machine, lock, CurrentContext());
    if (drained != CUDA_SUCCESS) return drained;
    CUmodule module = machine.modules.Make();
    module->context = CurrentContext();
    module->kernels = kernels;
    *handle = module;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return Serve(calls::k_cuModuleUnload, [&](Machine& machine, Lock& lock) {
    if (!machine.modules.Lives(module)) return BadHandle("a module");
    const CUresult drained = Drain(machine, lock, CurrentContext());
    if (drained != CUDA_SUCCESS) return drained;
    for (const auto& [name, function] : module->functions) machine.functions.Destroy(function);
    machine.modules.Destroy(module);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* handle, CUmodule module, const char* name) {
  return Serve(calls::k_cuModuleGetFunction, [&](Machine& machine, Lock&) {
    if (!machine.modules.Lives(module)) return BadHandle("a module");
    const HostKernel* const kernel = FindKernel(*module, name);
    if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
    CUfunction& function = module->functions[name];
    if (function == nullptr) {
      function = machine.functions.Make();
      function->module = module;
      function->context = module->context;
      function->kernel = kernel;
    }
    *handle = function;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction function) {
  return Serve(calls::k_cuFuncLoad, [&](Machine& machine, Lock&) {
    if (!machine.functions.Lives(function)) return BadHandle("a function");
    function->loaded = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return Serve(calls::k_cuFuncSetAttribute, [&](Machine& machine, Lock&) {
    if (!machine.functions.Lives(function)) return BadHandle("a function");
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        value > kMostShared) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    function->most_shared_bytes = value;
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z,
                        unsigned shared_bytes, CUstream handle, void** arguments, void** extra) {
  return Serve(calls::k_cuLaunchKernel, [&](Machine& machine, Lock& lock) {
    if (!machine.functions.Lives(function)) return BadHandle("a function");
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    if (function->context != stream->context) {
      Misuse(fmt::format("the kernel {}, loaded on device {}, is launched on device {}",
                         function->kernel->name, function->context->device,
                         stream->context->device));
      return CUDA_ERROR_INVALID_HANDLE;
    }
    const dim3 grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
    if (extra != nullptr || !Fits(*function, grid, block, shared_bytes) ||
        (arguments == nullptr && !function->kernel->parameters.empty())) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto values = CopyOf(*function->kernel, arguments);
    if (values.size() > kMostArguments) return CUDA_ERROR_INVALID_VALUE;
    const CUresult loaded = LoadCode(machine, lock, function, *stream);
    if (loaded != CUDA_SUCCESS) return loaded;
    return Issue(machine, stream, {LaunchGrid{function->kernel, grid, block, shared_bytes,
                                              std::move(values)}});
  });
}
