// Kernels that call native code: a method, and what makes the object of a place. On a device with
// queues they are code that gives a queue its work.
#ifndef CGRAPH_RUNTIME_NATIVE_KERNELS_H_
#define CGRAPH_RUNTIME_NATIVE_KERNELS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/foreign_code.h"
#include "runtime/device/kernel.h"
#include "runtime/native/library.h"
#include "runtime/native/objects.h"

namespace cgraph::native {

// Native: the native code that an engine uses in this process.
struct Native {
  Native(std::vector<std::string> paths, bool checks_arguments)
      : libraries(std::move(paths)), checks_arguments(checks_arguments) {}
  Libraries libraries;
  Objects objects;
  const bool checks_arguments;  // in every call
};

// Returns whether the kernel makes the object of a place, None where its methods are functions of
// Python's. Only the start graph may do that.
bool MakesObject(const plan::Kernel& kernel);

// Of a kernel of Python's library: imports the module of its method, or those of its object's
// methods up to the class that is made. Load calls it before devices are opened (load/load.cpp).
// kNotFound, with what Python says.
Status ImportModulesOf(const plan::Kernel& kernel, Native& native);

// Makes the kernel of a plan that names a library. The operands of a method are its arguments, the
// states that it reads, and those that it may write, the last of them i64[1], the number of the
// object; its results are those of the method, then the written states. What makes an object has
// that number as its only result. kNotFound without the library or the function; kInvalid where the
// plan breaks these rules.
Result<std::unique_ptr<device::Kernel>> MakeKernel(const plan::Kernel& kernel,
                                                   std::span<const device::OperandType> inputs,
                                                   std::span<const device::OperandType> outputs,
                                                   Native& native);

// The same for a GPU, in whose memory the operands are. `place`: that the call is of, as
// "stage[2]"; `make_current`: of its object's device. kUnsupported where the library's methods work
// on host memory alone.
Result<std::unique_ptr<device::QueueCode>> MakeQueueCode(
    const plan::Kernel& kernel, std::span<const device::OperandType> inputs,
    std::span<const device::OperandType> outputs, const std::string& place,
    const MakeCurrent& make_current, Native& native);

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_KERNELS_H_
