// Kernels that call native code: a method, and what makes the object of a place.
#ifndef CGRAPH_RUNTIME_NATIVE_KERNELS_H_
#define CGRAPH_RUNTIME_NATIVE_KERNELS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/kernel.h"
#include "runtime/native/library.h"
#include "runtime/native/objects.h"

namespace cgraph::native {

// Native: the native code that an engine uses in this process.
struct Native {
  explicit Native(std::vector<std::string> paths) : libraries(std::move(paths)) {}
  Libraries libraries;
  Objects objects;
};

// Returns whether the kernel makes the object of a place, which only the start graph may do.
bool MakesObject(const plan::Kernel& kernel);

// Makes the kernel of a plan that names a library. The operands of a method are its arguments, the
// states that it reads, and those that it may write, the last of them i64[1], the number of the
// object; its results are those of the method, then the written states. What makes an object has
// that number as its only result. kNotFound without the library or the function; kInvalid where the
// plan breaks these rules.
Result<std::unique_ptr<device::Kernel>> MakeKernel(const plan::Kernel& kernel,
                                                   std::span<const device::OperandType> inputs,
                                                   std::span<const device::OperandType> outputs,
                                                   Native& native);

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_KERNELS_H_
