#include "runtime/native/kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/kinds/native.h"
#include "runtime/device/cpu/kernels/operands.h"
#include "runtime/device/memory.h"
#include "runtime/native/calls.h"

namespace cgraph::native {
namespace {

using device::OperandType;
using device::QueueCode;
using device::Request;
using device::Tensor;

namespace attributes = extern_attributes;

// ---- on the CPU ---------------------------------------------------------------------------------

bool RunMethod(MethodCall& call, const Objects& objects, std::span<const Tensor> inputs,
               std::span<const Tensor> outputs, std::string& error) {
  for (const auto [input, output] : call.written()) {
    const Tensor &from = inputs[input], &to = outputs[output];
    if (from.data != to.data) device::CopyBytes(to.data, from.data, to.bytes());
  }
  return call.Run(objects.Find(*inputs.back().as<int64_t>()), inputs, outputs, nullptr, error);
}

bool RunCreate(CreateCall& call, Objects& objects, std::span<const Tensor>,
               std::span<const Tensor> outputs, std::string& error) {
  const int64_t number = call.Run(nullptr, objects, {}, error);
  if (number == 0) return false;
  std::fill_n(outputs[0].as<int64_t>(), outputs[0].dims[0], number);
  return true;
}

// A kernel that runs a call by one of these functions.
template <typename Call, auto run>
class CallKernel : public device::Kernel {
 public:
  CallKernel(std::unique_ptr<Call> call, Objects& objects)
      : call_(std::move(call)), objects_(objects) {}

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    return run(*call_, objects_, inputs, outputs, error);
  }

 private:
  const std::unique_ptr<Call> call_;
  Objects& objects_;
};

// ---- on a device with queues --------------------------------------------------------------------

// The thread that calls does not read the object's number in the device's memory: the object is the
// place's.
class MethodCode : public QueueCode {
 public:
  MethodCode(std::unique_ptr<MethodCall> call, Objects& objects, std::string place)
      : call_(std::move(call)), objects_(objects), place_(std::move(place)) {}

  std::span<const Kept> kept() const override { return call_->written(); }
  bool Append(std::span<const Tensor> inputs, std::span<const Tensor> outputs, const Stream& stream,
              std::string& error) override {
    if (object_ == nullptr) object_ = objects_.FindOf(place_);
    return call_->Run(object_, inputs, outputs, &stream, error);
  }

 private:
  const std::unique_ptr<MethodCall> call_;
  Objects& objects_;
  const std::string place_;
  const Object* object_ = nullptr;  // once it is known
};

class CreateCode : public QueueCode {
 public:
  CreateCode(std::unique_ptr<CreateCall> call, Objects& objects, MakeCurrent make_current)
      : call_(std::move(call)), objects_(objects), make_current_(std::move(make_current)) {}

  std::span<const Kept> kept() const override { return {}; }
  bool Append(std::span<const Tensor>, std::span<const Tensor>, const Stream& stream,
              std::string& error) override {
    number_ = call_->Run(&stream, objects_, make_current_, error);
    return number_ != 0;
  }
  std::optional<int64_t> stored() const override { return number_; }

 private:
  const std::unique_ptr<CreateCall> call_;
  Objects& objects_;
  const MakeCurrent make_current_;
  int64_t number_ = 0;
};

// ---- making them --------------------------------------------------------------------------------

bool IsNumber(const OperandType& type) {
  return type.dtype == plan::DType::i64 && type.rank == 1 && type.dims[0] >= 1 && !type.dynamic[0];
}
bool SameType(const OperandType& a, const OperandType& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}

// Returns whether as many states are written as read to be, of the same types, and the last operand
// is the number of the object.
bool StatesFit(const Request& request, uint64_t reads, uint64_t writes, bool writes_object) {
  const auto& [kernel, attributes, inputs, outputs] = request;
  const uint64_t read_object = writes_object ? 0 : 1;
  if ((writes_object && writes == 0) || writes > outputs.size() ||
      inputs.size() < read_object || writes > inputs.size() - read_object ||
      reads > inputs.size() - read_object - writes) {
    return false;
  }
  const auto end = inputs.end() - static_cast<std::ptrdiff_t>(read_object);
  return IsNumber(inputs.back()) && std::equal(end - writes, end, outputs.end() - writes, SameType);
}

Result<std::unique_ptr<MethodCall>> MakeMethod(const plan::Kernel& kernel, const Request& request,
                                               const Library& library, bool checks_always) {
  const auto actor = device::TextAttribute(request, attributes::kActor);
  const auto reads = device::IntAttribute(request, attributes::kReads);
  const auto writes = device::IntAttribute(request, attributes::kWrites);
  const auto names = device::IntAttribute(request, attributes::kNames);
  const auto object = device::IntAttribute(request, attributes::kObject);
  if (!actor.ok() || !reads.ok() || !writes.ok() || !names.ok() || !object.ok() || *reads < 0 ||
      *writes < 0 || *names < 0 || (*object != 0 && *object != 1) ||
      static_cast<uint64_t>(*names) > request.attributes.size() || !kernel.fails ||
      !StatesFit(request, *reads, *writes, *object == 1)) {
    return device::Invalid(request, "its operands are not those of a method in native code");
  }
  const auto size = [](int64_t count) { return static_cast<size_t>(count); };
  MethodOperands operands{
      .actor = *actor,
      .arguments = request.inputs.size() - size(*reads) - size(*writes) - size(1 - *object),
      .reads = size(*reads),
      .writes = size(*writes),
      .names = size(*names),
      .results = request.outputs.size() - size(*writes),
      .writes_object = *object == 1,
  };
  if (request.attributes.size() < operands.first_parameter()) {
    return device::Invalid(request, "it lacks names of what a method in native code is given");
  }
  auto method = library.FindMethod(kernel.symbol);
  if (!method.ok()) return method.status();
  return std::make_unique<MethodCall>(kernel, library, *method, std::move(operands), checks_always);
}

Result<std::unique_ptr<CreateCall>> MakeCreate(const plan::Kernel& kernel, const Request& request,
                                               const Library& library) {
  const auto place = device::TextAttribute(request, attributes::kPlace);
  const auto methods = device::IntAttribute(request, attributes::kMethods);
  if (!place.ok() || !methods.ok() || request.attributes.size() < kExternCreateHead ||
      *methods < 0 ||
      static_cast<uint64_t>(*methods) > request.attributes.size() - kExternCreateHead ||
      !kernel.fails || !request.inputs.empty() || request.outputs.size() != 1 ||
      !IsNumber(request.outputs[0])) {
    return device::Invalid(request, "its operands are not those of what makes an object");
  }
  CGRAPH_RETURN_IF_ERROR(library.CheckStoring(kernel.symbol));
  for (int64_t i = 0; i < *methods; ++i) {
    const auto& symbol = request.attributes[kExternCreateHead + static_cast<size_t>(i)];
    CGRAPH_RETURN_IF_ERROR(library.Permits(symbol->text));
  }
  return std::make_unique<CreateCall>(kernel, library, *place, static_cast<size_t>(*methods));
}

// Makes a call and gives it to `method` or `create`, which make of it what their result says.
template <typename Made, typename Method, typename Create>
Result<std::unique_ptr<Made>> Make(const plan::Kernel& kernel, std::span<const OperandType> inputs,
                                   std::span<const OperandType> outputs, const Library& library,
                                   bool checks_always, Method&& method, Create&& create) {
  static const std::vector<std::unique_ptr<plan::Attribute>> kNone;
  const bool single = kernel.body.size() == 1;
  const Request request{kernel.symbol, single ? kernel.body[0]->attributes : kNone, inputs,
                        outputs};
  const std::string op = single ? kernel.body[0]->op : "";
  if (op == kExternOp) {
    auto call = MakeMethod(kernel, request, library, checks_always);
    if (!call.ok()) return call.status();
    return std::unique_ptr<Made>(method(std::move(*call)));
  }
  if (op != kExternCreateOp) {
    return device::Invalid(request, "it names a library and is no native code");
  }
  auto call = MakeCreate(kernel, request, library);
  if (!call.ok()) return call.status();
  return std::unique_ptr<Made>(create(std::move(*call)));
}

}  // namespace

bool MakesObject(const plan::Kernel& kernel) {
  return !kernel.library.empty() && kernel.body.size() == 1 &&
         kernel.body[0]->op == kExternCreateOp;
}

Status ImportModulesOf(const plan::Kernel& kernel, Native& native) {
  auto library = native.libraries.Find(kernel.library);
  if (!library.ok()) return library.status();
  if (!MakesObject(kernel)) return (*library)->Import(std::string(SymbolInProgram(kernel.symbol)));
  for (const auto& attribute : kernel.body[0]->attributes) {
    if (attribute->name != attributes::kMethod) continue;
    CGRAPH_RETURN_IF_ERROR((*library)->Import(attribute->text));
    const auto symbol = ReadPythonSymbol(attribute->text);
    if (symbol && !symbol->class_name.empty()) break;  // the class that is made
  }
  return Status::Ok();
}

Result<std::unique_ptr<device::Kernel>> MakeKernel(const plan::Kernel& kernel,
                                                   std::span<const OperandType> inputs,
                                                   std::span<const OperandType> outputs,
                                                   Native& native) {
  auto library = native.libraries.Find(kernel.library);
  if (!library.ok()) return library.status();
  Objects& objects = native.objects;
  return Make<device::Kernel>(
      kernel, inputs, outputs, **library, native.checks_arguments,
      [&](std::unique_ptr<MethodCall> call) {
        return new CallKernel<MethodCall, RunMethod>(std::move(call), objects);
      },
      [&](std::unique_ptr<CreateCall> call) {
        return new CallKernel<CreateCall, RunCreate>(std::move(call), objects);
      });
}

Result<std::unique_ptr<QueueCode>> MakeQueueCode(const plan::Kernel& kernel,
                                                 std::span<const OperandType> inputs,
                                                 std::span<const OperandType> outputs,
                                                 const std::string& place,
                                                 const MakeCurrent& make_current,
                                                 Native& native) {
  auto library = native.libraries.Find(kernel.library);
  if (!library.ok()) return library.status();
  CGRAPH_RETURN_IF_ERROR((*library)->WorksOnGpus(kernel.symbol));
  Objects& objects = native.objects;
  return Make<QueueCode>(
      kernel, inputs, outputs, **library, native.checks_arguments,
      [&](std::unique_ptr<MethodCall> call) {
        return new MethodCode(std::move(call), objects, place);
      },
      [&](std::unique_ptr<CreateCall> call) {
        return new CreateCode(std::move(call), objects, make_current);
      });
}

}  // namespace cgraph::native
