#include "runtime/native/calls.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runtime/native/dlpack_types.h"
#include "runtime/native/guarded.h"
#include "runtime/plan/kinds.h"

namespace cgraph::native {

using device::Tensor;

namespace {

// Returns a number that is another one for other bytes, as good as surely: of words, each step can
// be undone.
uint64_t SumOf(const Tensor& tensor) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  constexpr size_t kLanes = 4, kBlock = kLanes * sizeof(uint64_t);
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  const auto add = [&](const void* block) {
    uint64_t words[kLanes];
    std::memcpy(words, block, kBlock);
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kOdd, 31);
  };
  const auto* at = static_cast<const char*>(tensor.data);
  size_t left = tensor.bytes();
  for (; left >= kBlock; left -= kBlock, at += kBlock) add(at);
  if (left != 0) {
    char rest[kBlock] = {};
    std::memcpy(rest, at, left);
    add(rest);
  }
  uint64_t sum = 0;
  for (const uint64_t lane : lanes) sum = std::rotl((sum ^ lane) * kOdd, 31);
  return sum;
}

DLDevice DeviceOf(StreamOrCpu stream) {
  return stream == nullptr ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, stream->device};
}

DLTensor ViewOf(const Tensor& tensor, DLDevice device) {
  return {tensor.data, device, tensor.rank, DLPackTypeOf(tensor.dtype),
          const_cast<int64_t*>(tensor.dims), nullptr, 0};
}

}  // namespace

MethodCall::MethodCall(const plan::Kernel& kernel, const Library& library, Library::Method method,
                       MethodOperands operands, bool checks_always)
    : code_(fmt::format("`{}` of {}", SymbolInProgram(kernel.symbol), kernel.library)),
      library_(library),
      method_(method),
      operands_(std::move(operands)),
      parameters_(std::span(kernel.body[0]->attributes).subspan(operands_.first_parameter())),
      checks_always_(checks_always) {
  arguments_.reserve(operands_.arguments);
  results_.reserve(operands_.results);
  states_.reserve(operands_.reads + operands_.writes);
  for (size_t i = kExternHead; i < operands_.first_parameter(); ++i) {
    (i < operands_.first_state() ? names_ : state_names_)
        .push_back(kernel.body[0]->attributes[i]->text.c_str());
  }
  for (size_t i = 0; i < operands_.writes; ++i) {
    written_.push_back({static_cast<uint16_t>(operands_.arguments + operands_.reads + i),
                        static_cast<uint16_t>(operands_.results + i)});
  }
}

bool MethodCall::Run(const Object* object, std::span<const Tensor> inputs,
                     std::span<const Tensor> outputs, StreamOrCpu stream, std::string& error) {
  if (object == nullptr || object->library != &library_ || object->actor != operands_.actor) {
    error = "the place has no object of this library";
    return false;
  }
  if (object->busy.exchange(true, std::memory_order_acquire)) {  // by an altered plan
    error = "the place's object is at work for another place";
    return false;
  }
  Fill(inputs, outputs, DeviceOf(stream));
  const cgraph_call call{object->made,
                         method_.method,
                         arguments_.data(),
                         static_cast<int32_t>(arguments_.size()),
                         results_.data(),
                         static_cast<int32_t>(results_.size()),
                         states_.data(),
                         static_cast<int32_t>(states_.size()),
                         static_cast<int32_t>(operands_.reads),
                         parameters_.data(),
                         parameters_.size(),
                         names_.data(),
                         static_cast<int32_t>(names_.size()),
                         state_names_.data(),
                         stream == nullptr ? nullptr : stream->handle,
                         SetText,
                         &error};
  int32_t code = 0;
  const uint64_t number = ++calls_;
  const bool checks = stream == nullptr && (checks_always_ || std::has_single_bit(number));
  if (checks) SumUp(inputs);
  object->caller.store(std::this_thread::get_id(), std::memory_order_relaxed);
  const bool failed = Fails(object->place, code_, number, error, [&] {
    code = method_.call(&call);
    return code != 0;
  });
  object->caller.store({}, std::memory_order_relaxed);
  object->busy.store(false, std::memory_order_release);
  if (checks && !failed && error.empty()) error = WrittenArgument(inputs);
  if (!failed && !error.empty()) return false;  // it has said why, whatever it returned
  if (failed && error.empty()) error = fmt::format("{} returned {}", code_, code);
  if (failed || stream != nullptr) return !failed;  // a stream's work is yet to be done
  error = WrongBooleans(outputs);
  return error.empty();
}

// Returns which result or state holds booleans that are neither 0 nor 1; empty: none.
std::string MethodCall::WrongBooleans(std::span<const Tensor> outputs) const {
  const auto is_wrong = [](const Tensor& tensor) {
    return !plan::ValidElements(tensor.dtype, {tensor.as<uint8_t>(), tensor.bytes()});
  };
  for (size_t i = 0; i < operands_.results; ++i) {
    if (!is_wrong(outputs[i])) continue;
    const std::string which = operands_.results > 1 ? fmt::format("result {}", i) : "its result";
    return fmt::format("{} has {}", which, plan::kWrongBooleans);
  }
  for (size_t i = 0; i < operands_.writes_states(); ++i) {
    if (!is_wrong(outputs[written_[i].output])) continue;
    return fmt::format("its state `{}` has {}", state_names_[operands_.reads + i],
                       plan::kWrongBooleans);
  }
  return "";
}

// In the order of `cgraph_call`: arguments; results; then the states that the method reads and
// those that it writes.
void MethodCall::Fill(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                      DLDevice device) {
  arguments_.clear(), results_.clear(), states_.clear();
  for (size_t i = 0; i < operands_.arguments + operands_.reads; ++i) {
    (i < operands_.arguments ? arguments_ : states_).push_back(ViewOf(inputs[i], device));
  }
  for (size_t i = 0; i < operands_.results; ++i) {
    results_.push_back(ViewOf(outputs[i], device));
  }
  for (size_t i = 0; i < operands_.writes_states(); ++i) {
    states_.push_back(ViewOf(outputs[written_[i].output], device));
  }
}

void MethodCall::SumUp(std::span<const Tensor> inputs) {
  sums_.clear();
  for (size_t i = 0; i < operands_.arguments + operands_.reads; ++i) {
    sums_.push_back(SumOf(inputs[i]));
  }
}

std::string MethodCall::WrittenArgument(std::span<const Tensor> inputs) const {
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (SumOf(inputs[i]) == sums_[i]) continue;
    const std::string name = NameOfInput(i);
    if (i >= operands_.arguments) {
      return fmt::format(
          "it has written the state `{0}`, which it only `reads`; `writes {0}` lets it", name);
    }
    return fmt::format(
        "it has written its argument `{0}`, which others may read, too; it is to work on a copy{1}",
        name,
        library_.is_interpreter()
            ? fmt::format(" (torch.from_dlpack({0}).clone(), numpy.array({0})), or to say that it "
                          "writes: `@cgraph.writes(\"{0}\")` above it gives it a copy",
                          name)
            : "");
  }
  return "";
}

// Returns how the program calls one of what the method only reads. Of arguments the names are in
// between those of what is known at compile time.
std::string MethodCall::NameOfInput(size_t i) const {
  if (i >= operands_.arguments) return state_names_[i - operands_.arguments];
  for (const std::string_view name : names_) {
    const std::span parameters(parameters_.data(), static_cast<size_t>(parameters_.size()));
    if (std::any_of(parameters.begin(), parameters.end(),
                    [&](const cgraph_parameter& each) { return name == each.name; })) {
      continue;
    }
    if (i-- == 0) return std::string(name);
  }
  return "?";
}

CreateCall::CreateCall(const plan::Kernel& kernel, const Library& library, std::string place,
                       size_t methods)
    : code_(fmt::format("`{}_create` of {}", kernel.symbol, kernel.library)),
      actor_(kernel.symbol),
      place_(std::move(place)),
      library_(library),
      parameters_(std::span(kernel.body[0]->attributes).subspan(kExternCreateHead + methods)) {
  for (size_t i = 0; i < methods; ++i) {
    symbols_.push_back(kernel.body[0]->attributes[kExternCreateHead + i]->text.c_str());
  }
}

int64_t CreateCall::Run(StreamOrCpu stream, Objects& objects, MakeCurrent make_current,
                        std::string& error) {
  void* made = nullptr;
  if (cgraph_create* create = library_.FindCreate(actor_); create != nullptr) {
    const cgraph_actor actor{place_.c_str(),
                             actor_.c_str(),
                             symbols_.data(),
                             static_cast<int32_t>(symbols_.size()),
                             parameters_.data(),
                             parameters_.size(),
                             DeviceOf(stream),
                             SetText,
                             &error};
    const bool failed = Fails(place_, code_, 1, error, [&] {
      made = create(&actor);
      return made == nullptr;
    });
    if (failed && error.empty()) error = code_ + " returned null";
    if (!error.empty()) return 0;
  }
  return objects.Add(made, library_, actor_, place_, std::move(make_current));
}

}  // namespace cgraph::native
