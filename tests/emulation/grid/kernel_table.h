// The kernels that the host's compiler made, by their names, and how one is called when its
// arguments are addresses, as launches pass them.
#ifndef CGRAPH_TESTS_EMULATION_GRID_KERNEL_TABLE_H_
#define CGRAPH_TESTS_EMULATION_GRID_KERNEL_TABLE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cgraph::emulation {

struct HostKernel {
  std::string name;
  std::vector<size_t> parameters;  // their sizes in bytes
  // Runs one thread: parameters[i] is the address of a value of the i-th parameter's type.
  void (*invoke)(void (*function)(), void** parameters) = nullptr;
  void (*function)() = nullptr;

  void Invoke(void** arguments) const { invoke(function, arguments); }
};

using HostKernels = std::map<std::string, HostKernel, std::less<>>;  // by their names

// Returns null when there is no such kernel.
const HostKernel* FindHostKernel(std::string_view name);
// Enters a kernel. Two of one name are a misuse.
void AddHostKernel(HostKernel kernel);
// What the calling thread enters from here on goes into these kernels, which nobody else finds;
// null: where all find it.
void EnterInto(HostKernels* kernels);

// KernelEntry: enters a kernel when the library that holds it is loaded.
class KernelEntry {
 public:
  template <typename... Parameters>
  KernelEntry(const char* name, void (*function)(Parameters...)) {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                  "what a launch copies is trivially copyable");
    static_assert(!(std::is_reference_v<Parameters> || ...), "kernels take values");
    AddHostKernel({name,
                   {sizeof(Parameters)...},
                   &InvokeWith<Parameters...>,
                   reinterpret_cast<void (*)()>(function)});
  }

 private:
  template <typename... Parameters>
  static void InvokeWith(void (*function)(), void** arguments) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      reinterpret_cast<void (*)(Parameters...)>(function)(
          *static_cast<const Parameters*>(arguments[I])...);
    }(std::index_sequence_for<Parameters...>());
  }
};

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_GRID_KERNEL_TABLE_H_
