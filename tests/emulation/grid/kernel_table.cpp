#include "tests/emulation/grid/kernel_table.h"

#include <map>

#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

// Kernels enter while the library is loaded, in one thread; nothing changes after that.
std::map<std::string, HostKernel, std::less<>>& Kernels() {
  static auto* const kernels = new std::map<std::string, HostKernel, std::less<>>;
  return *kernels;
}

}  // namespace

const HostKernel* FindHostKernel(std::string_view name) {
  const auto found = Kernels().find(name);
  return found == Kernels().end() ? nullptr : &found->second;
}

void AddHostKernel(HostKernel kernel) {
  std::string name = kernel.name;
  if (!Kernels().emplace(name, std::move(kernel)).second) {
    FatalMisuse("two kernels are called " + name);
  }
}

}  // namespace cgraph::emulation
