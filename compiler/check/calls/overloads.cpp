#include "compiler/check/calls/overloads.h"

#include <algorithm>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

using Parameters = llvm::ArrayRef<syntax::Parameter>;

bool Contains(Parameters parameters, const std::string& name) {
  return llvm::any_of(
      parameters, [&](const syntax::Parameter& parameter) { return parameter.name.text == name; });
}

// Returns whether labels can give all that `parameters` need to `others`, too.
bool CanLabel(Parameters parameters, Parameters others) {
  return llvm::all_of(parameters, [&](const syntax::Parameter& parameter) {
    return parameter.default_value.valid() || Contains(others, parameter.name.text);
  });
}

}  // namespace

bool Takes(Parameters parameters, const std::vector<syntax::Argument>& arguments) {
  const auto labelled = llvm::find_if(
      arguments, [](const syntax::Argument& argument) { return argument.label.has_value(); });
  const auto positional = static_cast<size_t>(labelled - arguments.begin());
  if (positional > parameters.size()) return false;
  const Parameters rest = parameters.drop_front(positional);
  const bool known = std::all_of(labelled, arguments.end(), [&](const syntax::Argument& argument) {
    return argument.label && Contains(rest, argument.label->text);
  });
  return known && llvm::all_of(rest, [&](const syntax::Parameter& parameter) {
           return parameter.default_value.valid() ||
                  std::any_of(labelled, arguments.end(), [&](const syntax::Argument& argument) {
                    return argument.label->text == parameter.name.text;
                  });
         });
}

const std::vector<syntax::Parameter>* WrittenParameters(const Checker& checker,
                                                        const Symbol& symbol) {
  if (const auto* op = std::get_if<OpId>(&symbol.node)) return &checker.ops[*op].decl->parameters;
  if (const auto* fn = std::get_if<FnId>(&symbol.node)) return &checker.fns[*fn].decl->parameters;
  return nullptr;
}

bool TakeTheSame(const std::vector<syntax::Parameter>& a, const std::vector<syntax::Parameter>& b) {
  const size_t most = std::min(a.size(), b.size());
  size_t alike = 0;
  while (alike < most && a[alike].name.text == b[alike].name.text) ++alike;
  for (size_t positional = 0; positional <= (alike == 0 ? most : alike); ++positional) {
    const Parameters rest_a = Parameters(a).drop_front(positional);
    const Parameters rest_b = Parameters(b).drop_front(positional);
    if (CanLabel(rest_a, rest_b) && CanLabel(rest_b, rest_a)) return true;
  }
  return false;
}

const Symbol& ChooseOverload(const Checker& checker, const Symbol& symbol,
                             const std::vector<syntax::Argument>& arguments) {
  const Symbol* nearest = &symbol;
  const auto distance = [&](const Symbol& of) {
    const size_t count = WrittenParameters(checker, of)->size();
    return std::llabs(static_cast<long long>(count) - static_cast<long long>(arguments.size()));
  };
  const auto is_meant = [&](const Symbol& candidate) {
    return Takes(*WrittenParameters(checker, candidate), arguments);
  };
  if (symbol.overloads.empty() || is_meant(symbol)) return symbol;
  for (const Symbol& candidate : symbol.overloads) {
    if (is_meant(candidate)) return candidate;
    if (distance(candidate) < distance(*nearest)) nearest = &candidate;
  }
  return *nearest;
}

}  // namespace cgraph::check
