#include "compiler/emit/pools.h"

#include <bit>

#include "compiler/base/check.h"
#include "compiler/base/kernels.h"
#include "llvm/Support/JSON.h"

namespace cgraph::emit {
namespace {

struct AttributeWriter {
  plan::Attribute& to;

  void operator()(int64_t value) { to.ints = {value}; }
  void operator()(bool value) { to.ints = {value}; }
  void operator()(double value) { to.bits = {std::bit_cast<uint64_t>(value)}; }
  void operator()(const std::string& value) { to.text = value; }
  void operator()(const std::vector<int64_t>& value) { to.ints = value; }
  void operator()(DType value) { to.dtype = PlanDType(value); }
};

std::unique_ptr<plan::Attribute> MakeAttribute(const graph::Attribute& attribute) {
  auto result = std::make_unique<plan::Attribute>();
  result->name = attribute.name;
  std::visit(AttributeWriter{*result}, attribute.value);
  return result;
}

std::unique_ptr<plan::Primitive> MakePrimitive(const std::string& kernel,
                                               const std::vector<graph::Attribute>& attributes) {
  auto primitive = std::make_unique<plan::Primitive>();
  primitive->op = kernel;
  for (const graph::Attribute& attribute : attributes) {
    primitive->attributes.push_back(MakeAttribute(attribute));
  }
  return primitive;
}

// Adds a fused op's primitives. Each hands its result to later ones in a temporary of its number;
// the last one writes the result.
void AddSteps(const graph::Op& op, plan::Kernel& kernel) {
  for (size_t i = 0; i < op.steps.size(); ++i) {
    const graph::FusedStep& step = op.steps[i];
    const bool last = i + 1 == op.steps.size();
    auto primitive = MakePrimitive(step.kernel, step.attributes);
    primitive->operands.assign(step.operands.begin(), step.operands.end());
    primitive->operands.push_back(static_cast<int32_t>(last ? op.operands.size() : -1 - i));
    if (!last) kernel.temporaries.push_back(PlanDType(step.dtype));
    kernel.body.push_back(std::move(primitive));
  }
}

// Returns the attributes; for a collective also its kind and reduction.
std::vector<graph::Attribute> AttributesOf(const graph::Op& op) {
  std::vector<graph::Attribute> attributes = op.attributes;
  if (!op.collective) return attributes;
  const graph::Collective& collective = *op.collective;
  const std::string reduction = collective.reduction ? ReductionName(*collective.reduction) : "";
  attributes.push_back({"kind", std::string(TraitsOf(collective.kind).name)});
  attributes.push_back({"reduction", reduction});
  attributes.push_back({"members", static_cast<int64_t>(collective.participants.size())});
  attributes.push_back({"root", int64_t{collective.root}});
  return attributes;
}

// Returns an attribute that is a text; a bug of ours where there is none.
std::string TextAttribute(const graph::Op& op, const std::string& name) {
  for (const graph::Attribute& attribute : op.attributes) {
    const std::string* text = std::get_if<std::string>(&attribute.value);
    if (attribute.name == name && text) return *text;
  }
  CheckFailed("emit", op.name + " without its text `" + name + "`", __FILE__, __LINE__);
}

std::unique_ptr<plan::Kernel> MakeKernel(const graph::Op& op) {
  auto kernel = std::make_unique<plan::Kernel>();
  kernel->name = op.kernel;
  if (op.kernel == kExternKernel || op.kernel == kExternCreateKernel) {
    kernel->library = TextAttribute(op, extern_attributes::kLibrary);
    kernel->symbol = TextAttribute(op, extern_attributes::kSymbol);
  }
  if (op.steps.empty()) {
    kernel->body.push_back(MakePrimitive(op.kernel, AttributesOf(op)));
    for (size_t i = 0; i < op.operands.size() + op.results.size(); ++i) {
      kernel->body[0]->operands.push_back(static_cast<int32_t>(i));
    }
  }
  AddSteps(op, *kernel);
  kernel->flops = op.flops;
  kernel->bytes = op.bytes;
  kernel->cost_unstated = op.cost_unstated;
  kernel->fails = op.fails;
  for (const auto& [operand, result] : op.inplace) {
    kernel->inplace.emplace_back(static_cast<uint16_t>(operand), static_cast<uint16_t>(result));
  }
  return kernel;
}

// Returns bytes that are equal for two ops with the same kernel. Texts and lists carry their
// length, so that no attribute's text can look like the rest of another.
std::string Identity(const plan::Kernel& kernel) {
  std::string bytes;
  const auto add = [&bytes](auto number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto add_all = [&](const auto& elements) {
    add(elements.size());
    if (elements.empty()) return;
    bytes.append(reinterpret_cast<const char*>(elements.data()),
                 elements.size() * sizeof *elements.data());
  };
  add_all(kernel.name);
  add(kernel.flops);
  add(kernel.bytes);
  add(kernel.cost_unstated);
  add(kernel.fails);
  add(kernel.body.size());
  for (const auto& primitive : kernel.body) {
    add_all(primitive->op);
    add_all(primitive->operands);
    add(primitive->attributes.size());
    for (const auto& attribute : primitive->attributes) {
      add_all(attribute->name);
      add(attribute->dtype);
      add_all(attribute->text);
      add_all(attribute->ints);
      add_all(attribute->bits);
    }
  }
  add_all(kernel.temporaries);
  for (const plan::Inplace& pair : kernel.inplace) {
    add(pair.input());
    add(pair.output());
  }
  return bytes;
}

}  // namespace

// The cast is safe since both lists are in the same order (runtime/plan/kinds.h).
plan::DType PlanDType(DType dtype) { return static_cast<plan::DType>(dtype); }

Pools::Pools(plan::Plan& plan, const Sources* sources) : plan_(plan), sources_(sources) {
  if (!sources) return;
  // A file's name may be no valid text, and a plan has text only.
  for (size_t i = 0; i < sources->size(); ++i) {
    plan_.files.push_back(llvm::json::fixUTF8((*sources)[SourceId(i)].path));
  }
}

uint32_t Pools::Name(const std::string& name) {
  const auto [it, is_new] = names_.try_emplace(name, plan_.names.size());
  if (is_new) plan_.names.push_back(name);
  return it->second;
}

uint32_t Pools::Site(const Range& range) {
  if (!sources_ || !range.valid()) return plan::kNone;
  const auto [it, is_new] =
      sites_.try_emplace({range.source, range.begin, range.end}, plan_.sites.size());
  if (is_new) {
    const LineColumn begin = sources_->Locate(range.source, range.begin);
    const LineColumn end = sources_->Locate(range.source, range.end);
    plan_.sites.emplace_back(range.source.index, begin.line, begin.column, end.line, end.column);
  }
  return it->second;
}

uint32_t Pools::Kernel(const graph::Op& op) {
  std::unique_ptr<plan::Kernel> kernel = MakeKernel(op);
  const auto [it, is_new] = kernels_.try_emplace(Identity(*kernel), plan_.kernels.size());
  if (is_new) plan_.kernels.push_back(std::move(kernel));
  return it->second;
}

uint32_t Pools::Weight(const graph::Op& load) {
  const std::string file = TextAttribute(load, "file"), tensor = TextAttribute(load, "tensor");
  const auto [it, is_new] = weights_.try_emplace({file, tensor}, plan_.weights.size());
  if (is_new) {
    auto weight = std::make_unique<plan::WeightFile>();
    weight->name = file;
    weight->tensor = tensor;
    plan_.weights.push_back(std::move(weight));
  }
  return it->second;
}

}  // namespace cgraph::emit
