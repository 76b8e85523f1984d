// Calls of native code as a kernel of a plan states them: what is alike on the CPU, where a call is
// a kernel, and on a device with queues, where it gives a queue its work.
#ifndef CGRAPH_RUNTIME_NATIVE_CALLS_H_
#define CGRAPH_RUNTIME_NATIVE_CALLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/kinds/native.h"
#include "runtime/device/foreign_code.h"
#include "runtime/device/tensor.h"
#include "runtime/native/library.h"
#include "runtime/native/objects.h"
#include "runtime/native/parameters.h"
#include "runtime/plan/plan.h"

namespace cgraph::native {

// What takes a call's work, and where its tensors are; null: the CPU.
using StreamOrCpu = const device::QueueCode::Stream*;

// MethodOperands: what a method is given, as the attributes of its kernel say it
// (runtime/base/kinds/native.h). Inputs are the arguments, the states of `reads`, those of
// `writes`, and the object's number, which is one of these if it is written. Outputs are the
// results, then the states of `writes`.
struct MethodOperands {
  std::string actor;
  size_t arguments, reads, writes, names, results;
  bool writes_object;  // its number is the last of `writes`
  size_t writes_states() const { return writes - (writes_object ? 1 : 0); }
  // Attributes: names, then states (the object's number is not among them), then parameters.
  size_t first_state() const { return kExternHead + names; }
  size_t first_parameter() const { return first_state() + reads + writes_states(); }
};

class MethodCall {
 public:
  // `checks_always`: whether every call is checked, and not the first, second, fourth, eighth, ...
  // alone, for arguments that the method has written.
  MethodCall(const plan::Kernel& kernel, const Library& library, Library::Method method,
             MethodOperands operands, bool checks_always);

  // Calls the method on an object, which may be null: there is none. The states that are written
  // hold their old values already. False, with `error`, when the call has failed.
  bool Run(const Object* object, std::span<const device::Tensor> inputs,
           std::span<const device::Tensor> outputs, StreamOrCpu stream, std::string& error);
  // Returns the states that are written; the last may be the number of the object.
  std::span<const device::QueueCode::Kept> written() const { return written_; }

 private:
  void Fill(std::span<const device::Tensor> inputs, std::span<const device::Tensor> outputs,
            DLDevice device);
  // Sums up what the method only reads, and says which of it has another sum than before; empty:
  // nothing.
  void SumUp(std::span<const device::Tensor> inputs);
  std::string WrittenArgument(std::span<const device::Tensor> inputs) const;
  std::string NameOfInput(size_t i) const;
  std::string WrongBooleans(std::span<const device::Tensor> outputs) const;

  const std::string code_;
  const Library& library_;
  const Library::Method method_;
  const MethodOperands operands_;
  const Parameters parameters_;
  std::vector<const char*> names_, state_names_;  // the plan's own
  std::vector<device::QueueCode::Kept> written_;
  const bool checks_always_;
  uint64_t calls_ = 0;
  std::vector<uint64_t> sums_;  // by inputs that are only read
  // Tensors as the call is given them. The extents are the operands' own.
  std::vector<DLTensor> arguments_, results_, states_;
};

class CreateCall {
 public:
  CreateCall(const plan::Kernel& kernel, const Library& library, std::string place, size_t methods);

  // Makes the object of the place and adds it to `objects`, with what makes its device current.
  // Returns its number; 0, with `error`, when that has failed.
  int64_t Run(StreamOrCpu stream, Objects& objects, MakeCurrent make_current, std::string& error);

 private:
  const std::string code_, actor_, place_;
  const Library& library_;
  const Parameters parameters_;
  std::vector<const char*> symbols_;
};

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_CALLS_H_
