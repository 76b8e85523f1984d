// Kernels of several elementwise primitives. Where there is a compiler, they become one kernel,
// whose temporaries are registers. Else the primitives run one after another, and their temporaries
// lie in the call's scratch memory. Either way each gives the bits that it gives in a kernel of its
// own.
#include <vector>

#include "runtime/base/kinds/limits.h"
#include "runtime/device/cuda/kernels/elementwise/chain_source.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

// One operand of a step: an input or the output of the whole kernel, or a temporary.
struct OperandRef {
  enum { kInput, kTemporary, kOutput } kind;
  size_t index = 0;
};
OperandRef RefOf(int32_t operand, size_t inputs) {
  if (operand < 0) return {OperandRef::kTemporary, static_cast<size_t>(-1 - operand)};
  if (static_cast<size_t>(operand) < inputs) {
    return {OperandRef::kInput, static_cast<size_t>(operand)};
  }
  return {OperandRef::kOutput, 0};
}

struct Step {
  std::unique_ptr<CudaExecutable> executable;
  std::vector<OperandRef> operands;  // the last is the result
};

class Chain final : public CudaExecutable {
 public:
  Chain(std::vector<Step> steps, std::vector<uint64_t> offsets, uint64_t scratch)
      : steps_(std::move(steps)), offsets_(std::move(offsets)), scratch_(scratch) {}

  CUresult Launch(const Call& call) override {
    for (const Step& step : steps_) {
      View operands[kMaxFusedOperands + 1];
      const size_t count = step.operands.size();
      for (size_t i = 0; i < count; ++i) operands[i] = ViewOf(call, step.operands[i]);
      Call one = call;
      one.inputs = {operands, count - 1};
      one.outputs = {operands + count - 1, 1};
      const CUresult result = step.executable->Launch(one);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  }
  uint64_t scratch() const override { return scratch_; }

 private:
  View ViewOf(const Call& call, const OperandRef& ref) const {
    if (ref.kind == OperandRef::kInput) return call.inputs[ref.index];
    View view = call.outputs[0];
    if (ref.kind == OperandRef::kTemporary) {
      view.data = static_cast<char*>(call.scratch) + offsets_[ref.index];
    }
    return view;
  }

  std::vector<Step> steps_;
  std::vector<uint64_t> offsets_;  // of temporaries in scratch
  uint64_t scratch_;
};

// Returns the executable of the one kernel; null where there can be none.
std::unique_ptr<CudaExecutable> MakeCompiled(const Target& target, const Launcher& launcher,
                                             const plan::Kernel& kernel,
                                             std::span<const device::OperandType> inputs,
                                             const device::OperandType& output) {
  if (target.libraries == nullptr) return nullptr;
  const std::optional<ChainSource> source = SourceOf(kernel, inputs, output);
  if (!source.has_value()) return nullptr;
  const Result<CUfunction> function = target.libraries->Compile(source->text, source->name);
  if (!function.ok()) return nullptr;
  return MakeElementwise(launcher, *function, inputs.size());
}

}  // namespace

ExecutableResult MakeFused(const Target& target, const Launcher& launcher,
                           const plan::Kernel& kernel,
                           std::span<const device::OperandType> inputs,
                           std::span<const device::OperandType> outputs) {
  if (auto compiled = MakeCompiled(target, launcher, kernel, inputs, outputs[0])) {
    return ExecutableResult(std::move(compiled));
  }
  const auto type_of = [&](const OperandRef& ref) {
    if (ref.kind == OperandRef::kInput) return inputs[ref.index];
    device::OperandType type = outputs[0];
    if (ref.kind == OperandRef::kTemporary) type.dtype = kernel.temporaries[ref.index];
    return type;
  };
  std::vector<Step> steps;
  for (const auto& primitive : kernel.body) {
    Step step;
    std::vector<device::OperandType> types;
    for (const int32_t operand : primitive->operands) {
      step.operands.push_back(RefOf(operand, inputs.size()));
      types.push_back(type_of(step.operands.back()));
    }
    const std::span<const device::OperandType> all = types;
    ExecutableResult made = MakePrimitive(target, launcher, *primitive, all.first(all.size() - 1),
                                          all.last(1));
    if (!made.ok()) return made.status();
    step.executable = std::move(*made);
    steps.push_back(std::move(step));
  }
  std::vector<uint64_t> offsets;
  uint64_t scratch = 0;
  for (const DType dtype : kernel.temporaries) {
    offsets.push_back(scratch);
    auto bytes = static_cast<uint64_t>(plan::DTypeBytes(dtype));
    for (int i = 0; i < outputs[0].rank; ++i) bytes *= static_cast<uint64_t>(outputs[0].dims[i]);
    scratch += AlignScratch(bytes);
  }
  return ExecutableResult(
      std::make_unique<Chain>(std::move(steps), std::move(offsets), scratch));
}

}  // namespace cgraph::cuda
