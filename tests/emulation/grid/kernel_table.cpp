#include "tests/emulation/grid/kernel_table.h"

#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

// Kernels enter while the library is loaded, in one thread; nothing changes after that.
HostKernels& Kernels() {
  static auto* const kernels = new HostKernels;
  return *kernels;
}

thread_local HostKernels* entered_into = nullptr;

}  // namespace

const HostKernel* FindHostKernel(std::string_view name) {
  const auto found = Kernels().find(name);
  return found == Kernels().end() ? nullptr : &found->second;
}

void AddHostKernel(HostKernel kernel) {
  std::string name = kernel.name;
  HostKernels& kernels = entered_into != nullptr ? *entered_into : Kernels();
  if (!kernels.emplace(name, std::move(kernel)).second) {
    FatalMisuse("two kernels are called " + name);
  }
}

void EnterInto(HostKernels* kernels) { entered_into = kernels; }

}  // namespace cgraph::emulation
