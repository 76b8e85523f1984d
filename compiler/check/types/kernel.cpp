#include "compiler/check/types/types.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/program/text.h"

namespace cgraph::check {

using namespace program;

namespace {

bool IsTensor(const Program& program, TypeId id) {
  return std::holds_alternative<TensorType>(program.types[id].node);
}

// Describes a list without its length.
std::string TypeWords(const Program& program, const TextPrinter& printer, TypeId id) {
  if (IsTensor(program, id)) return "tensor";
  const auto* list = std::get_if<ListType>(&program.types[id].node);
  if (list) return fmt::format("[{}]", TypeWords(program, printer, list->element));
  return printer.Expanded(id);
}

// Returns the declaration in the words of kernels.def: what the compiler looks for, and nothing
// else.
std::string DeclarationOf(const Program& program, const Op& op) {
  const TextPrinter printer(program, &op.signature, &op.locals);
  std::string text;
  for (const Parameter& parameter : op.signature.parameters) {
    const std::string type = TypeWords(program, printer, parameter.type);
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ",
                        IsTensor(program, parameter.type) ? "" : parameter.name + ": ", type);
  }
  text = fmt::format("({})", text);
  const TypeId result = op.signature.result;
  if (result.valid()) text += " -> " + TypeWords(program, printer, result);
  if (!op.effect.empty()) text += " effect";
  if (op.fails) text += " fails";
  return text;
}

bool HasPoison(const Program& program, const Signature& signature) {
  return (signature.result.valid() && IsPoison(program.types[signature.result])) ||
         std::any_of(signature.parameters.begin(), signature.parameters.end(),
                     [&](const Parameter& parameter) {
                       return IsPoison(program.types[parameter.type]);
                     });
}

}  // namespace

void CheckKernel(Checker& checker, OpId id) {
  const Op& op = checker.program.ops[id];
  const auto known =
      std::find_if(std::begin(kKnownKernels), std::end(kKnownKernels),
                   [&](const KnownKernel& kernel) { return op.kernel == kernel.name; });
  if (known == std::end(kKnownKernels) || HasPoison(checker.program, op.signature)) return;
  const std::string needed = known->declaration;
  const std::string declared = DeclarationOf(checker.program, op);
  if (needed.empty()) {
    checker.diagnostics.Report(
        Code::kE0424, op.range,
        fmt::format("kernel \"{}\" is the compiler's own; no op is declared with it",
                    known->name));
  } else if (!op.takes.empty()) {
    checker.diagnostics.Report(
        Code::kE0424, op.range,
        fmt::format("kernel \"{}\", which the compiler knows, is given all parameters in their "
                    "order",
                    known->name));
  } else if (declared != needed) {
    checker.diagnostics.Report(
        Code::kE0424, op.range,
        fmt::format("kernel \"{}\", which the compiler knows, is declared as {}; this is {}",
                    known->name, needed, declared));
  }
}

}  // namespace cgraph::check
