#include "runtime/native/kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "runtime/device/kernels/operands.h"
#include "runtime/device/memory.h"
#include "runtime/native/dlpack_types.h"
#include "runtime/native/guarded.h"
#include "runtime/native/parameters.h"

namespace cgraph::native {
namespace {

using device::OperandType;
using device::Request;
using device::Tensor;

constexpr char kMethodOp[] = "extern";
constexpr char kCreateOp[] = "extern_create";
// The attributes before the parameters: of a method library, symbol, actor, reads, writes, names,
// then as many names, and one for each state; of what makes an object library, symbol, place,
// methods, then as many symbols.
constexpr size_t kMethodAttributes = 6;
constexpr size_t kCreateAttributes = 4;

// Tensors as a call is given them. The extents are the operands' own.
class Views {
 public:
  explicit Views(size_t count) { views_.reserve(count); }
  void Clear() { views_.clear(); }
  void Add(const Tensor& tensor) {
    views_.push_back({tensor.data, DLDevice{kDLCPU, 0}, tensor.rank, DLPackTypeOf(tensor.dtype),
                      const_cast<int64_t*>(tensor.dims), nullptr, 0});
  }
  const DLTensor* data() const { return views_.data(); }
  int32_t size() const { return static_cast<int32_t>(views_.size()); }

 private:
  std::vector<DLTensor> views_;
};

// MethodOperands: what a method is given, as the attributes of its kernel say it.
struct MethodOperands {
  std::string actor;
  size_t arguments, reads, writes, names;
  // Of attributes: behind the names come those of states, of which the object's number is none.
  size_t first_state() const { return kMethodAttributes + names; }
  size_t first_parameter() const { return first_state() + reads + writes - 1; }
};

class MethodKernel : public device::Kernel {
 public:
  MethodKernel(const plan::Kernel& kernel, const Library& library, Library::Method method,
               const Objects& objects, MethodOperands operands)
      : code_(fmt::format("`{}` of {}", kernel.symbol, kernel.library)),
        library_(library),
        method_(method),
        objects_(objects),
        actor_(std::move(operands.actor)),
        parameters_(std::span(kernel.body[0]->attributes).subspan(operands.first_parameter())),
        argument_count_(operands.arguments),
        reads_(operands.reads),
        writes_(operands.writes),
        arguments_(operands.arguments),
        results_(64),
        states_(operands.reads + operands.writes) {
    for (size_t i = kMethodAttributes; i < operands.first_parameter(); ++i) {
      (i < operands.first_state() ? names_ : state_names_)
          .push_back(kernel.body[0]->attributes[i]->text.c_str());
    }
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    const int64_t number = *inputs.back().as<int64_t>();
    const Object* object = objects_.Find(number);
    if (object == nullptr || object->library != &library_ || object->actor != actor_) {
      error = "the place has no object of this library";
      return false;
    }
    if (object->busy.exchange(true, std::memory_order_acquire)) {  // by an altered plan
      error = "the place's object is at work for another place";
      return false;
    }
    Fill(inputs, outputs);
    const cgraph_call call{object->made,
                           method_.method,
                           arguments_.data(),
                           arguments_.size(),
                           results_.data(),
                           results_.size(),
                           states_.data(),
                           states_.size(),
                           static_cast<int32_t>(reads_),
                           parameters_.data(),
                           parameters_.size(),
                           names_.data(),
                           static_cast<int32_t>(names_.size()),
                           state_names_.data(),
                           nullptr,
                           SetText,
                           &error};
    int32_t code = 0;
    const bool failed = Fails(object->place, code_, ++calls_, error, [&] {
      code = method_.call(&call);
      return code != 0;
    });
    object->busy.store(false, std::memory_order_release);
    if (!failed && !error.empty()) return false;  // it has said why, whatever it returned
    if (failed && error.empty()) error = fmt::format("{} returned {}", code_, code);
    if (!failed) *outputs.back().as<int64_t>() = number;
    return !failed;
  }

 private:
  void Fill(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    arguments_.Clear(), results_.Clear(), states_.Clear();
    const size_t results = outputs.size() - writes_;
    for (size_t i = 0; i < argument_count_ + reads_; ++i) {
      (i < argument_count_ ? arguments_ : states_).Add(inputs[i]);
    }
    for (size_t i = 0; i < results; ++i) results_.Add(outputs[i]);
    for (size_t i = 0; i + 1 < writes_; ++i) {  // all but the object's number
      const Tensor& from = inputs[argument_count_ + reads_ + i];
      const Tensor& to = outputs[results + i];
      if (from.data != to.data) device::CopyBytes(to.data, from.data, to.bytes());
      states_.Add(to);
    }
  }

  const std::string code_;
  const Library& library_;
  const Library::Method method_;
  const Objects& objects_;
  const std::string actor_;
  const Parameters parameters_;
  std::vector<const char*> names_, state_names_;  // the plan's own
  const size_t argument_count_, reads_, writes_;
  uint64_t calls_ = 0;
  Views arguments_, results_, states_;
};

class CreateKernel : public device::Kernel {
 public:
  CreateKernel(const plan::Kernel& kernel, const Library& library, Objects& objects,
               std::string place, size_t methods)
      : code_(fmt::format("`{}_create` of {}", kernel.symbol, kernel.library)),
        actor_(kernel.symbol),
        place_(std::move(place)),
        library_(library),
        objects_(objects),
        parameters_(std::span(kernel.body[0]->attributes).subspan(kCreateAttributes + methods)) {
    for (size_t i = 0; i < methods; ++i) {
      symbols_.push_back(kernel.body[0]->attributes[kCreateAttributes + i]->text.c_str());
    }
  }

  bool Run(std::span<const Tensor>, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    void* made = nullptr;
    if (cgraph_create* create = library_.FindCreate(actor_); create != nullptr) {
      const cgraph_actor actor{place_.c_str(),
                               actor_.c_str(),
                               symbols_.data(),
                               static_cast<int32_t>(symbols_.size()),
                               parameters_.data(),
                               parameters_.size(),
                               DLDevice{kDLCPU, 0},
                               SetText,
                               &error};
      const bool failed = Fails(place_, code_, 1, error, [&] {
        made = create(&actor);
        return made == nullptr;
      });
      if (failed && error.empty()) error = code_ + " returned null";
      if (!error.empty()) return false;
    }
    *outputs[0].as<int64_t>() = objects_.Add(made, library_, actor_, place_);
    return true;
  }

 private:
  const std::string code_, actor_, place_;
  const Library& library_;
  Objects& objects_;
  const Parameters parameters_;
  std::vector<const char*> symbols_;
};

bool IsNumber(const OperandType& type) {
  return type.dtype == plan::DType::i64 && type.rank == 1 && type.dims[0] == 1 && !type.dynamic[0];
}
bool SameType(const OperandType& a, const OperandType& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}

// Returns whether as many states are written as read to be, of the same types, the last the number
// of the object.
bool StatesFit(const Request& request, uint64_t reads, uint64_t writes) {
  const auto& [kernel, attributes, inputs, outputs] = request;
  if (writes == 0 || writes > outputs.size() || writes > inputs.size() ||
      reads > inputs.size() - writes) {
    return false;
  }
  return IsNumber(inputs.back()) &&
         std::equal(inputs.end() - writes, inputs.end(), outputs.end() - writes, SameType);
}

Result<std::unique_ptr<device::Kernel>> MakeMethod(const plan::Kernel& kernel,
                                                   const Request& request, const Library& library,
                                                   const Objects& objects) {
  const auto actor = device::TextAttribute(request, "actor");
  const auto reads = device::IntAttribute(request, "reads");
  const auto writes = device::IntAttribute(request, "writes");
  const auto names = device::IntAttribute(request, "names");
  if (!actor.ok() || !reads.ok() || !writes.ok() || !names.ok() || *reads < 0 || *writes < 0 ||
      *names < 0 || static_cast<uint64_t>(*names) > request.attributes.size() || !kernel.fails ||
      !StatesFit(request, *reads, *writes)) {
    return device::Invalid(request, "its operands are not those of a method in native code");
  }
  const auto size = [](int64_t count) { return static_cast<size_t>(count); };
  MethodOperands operands{*actor, request.inputs.size() - size(*reads) - size(*writes),
                          size(*reads), size(*writes), size(*names)};
  if (request.attributes.size() < operands.first_parameter()) {
    return device::Invalid(request, "it lacks names of what a method in native code is given");
  }
  auto method = library.FindMethod(kernel.symbol);
  if (!method.ok()) return method.status();
  return std::unique_ptr<device::Kernel>(
      new MethodKernel(kernel, library, *method, objects, std::move(operands)));
}

Result<std::unique_ptr<device::Kernel>> MakeCreate(const plan::Kernel& kernel,
                                                   const Request& request, const Library& library,
                                                   Objects& objects) {
  const auto place = device::TextAttribute(request, "place");
  const auto methods = device::IntAttribute(request, "methods");
  if (!place.ok() || !methods.ok() || request.attributes.size() < kCreateAttributes ||
      *methods < 0 ||
      static_cast<uint64_t>(*methods) > request.attributes.size() - kCreateAttributes ||
      !kernel.fails || !request.inputs.empty() || request.outputs.size() != 1 ||
      !IsNumber(request.outputs[0])) {
    return device::Invalid(request, "its operands are not those of what makes an object");
  }
  CGRAPH_RETURN_IF_ERROR(library.CheckStoring(kernel.symbol));
  for (int64_t i = 0; i < *methods; ++i) {
    const auto& symbol = request.attributes[kCreateAttributes + static_cast<size_t>(i)];
    CGRAPH_RETURN_IF_ERROR(library.Permits(symbol->text));
  }
  return std::unique_ptr<device::Kernel>(
      new CreateKernel(kernel, library, objects, *place, static_cast<size_t>(*methods)));
}

}  // namespace

bool MakesObject(const plan::Kernel& kernel) {
  return !kernel.library.empty() && kernel.body.size() == 1 && kernel.body[0]->op == kCreateOp;
}

Result<std::unique_ptr<device::Kernel>> MakeKernel(const plan::Kernel& kernel,
                                                   std::span<const OperandType> inputs,
                                                   std::span<const OperandType> outputs,
                                                   Native& native) {
  static const std::vector<std::unique_ptr<plan::Attribute>> kNone;
  const bool single = kernel.body.size() == 1;
  const Request request{kernel.symbol, single ? kernel.body[0]->attributes : kNone, inputs,
                        outputs};
  const std::string op = single ? kernel.body[0]->op : "";
  if (op != kMethodOp && op != kCreateOp) {
    return device::Invalid(request, "it names a library and is no native code");
  }
  auto library = native.libraries.Find(kernel.library);
  if (!library.ok()) return library.status();
  return op == kMethodOp ? MakeMethod(kernel, request, **library, native.objects)
                         : MakeCreate(kernel, request, **library, native.objects);
}

}  // namespace cgraph::native
