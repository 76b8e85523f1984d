#include "compiler/elaborate/report.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/work.h"
#include "compiler/graph/print.h"
#include "compiler/program/text.h"

namespace cgraph::elaborate {
namespace {

constexpr size_t kNotedLoops = 3;

constexpr size_t kNotedCalls = 4;

// An operator does not show its op, nor an op what it takes.
std::string OpText(const program::Program& program, const program::Op& op) {
  const program::TextPrinter printer(program, &op.signature, &op.locals);
  std::vector<std::string> parameters;
  for (const program::Parameter& parameter : op.signature.parameters) {
    parameters.push_back(parameter.name + ": " + printer.Text(parameter.type));
  }
  const program::TypeId result = op.signature.result;
  return fmt::format("this calls {}({}){}", op.name, fmt::join(parameters, ", "),
                     result.valid() ? " -> " + printer.Text(result) : "");
}

bool IsOfLibrary(const Work& work, Range range) {
  if (!range.valid()) return false;
  return llvm::StringRef(work.diagnostics.sources()[range.source].path).startswith("<std>/");
}

// What goes wrong in a declaration of the library is the fault of the program's own line that leads
// there.
Range OwnLine(const Work& work, Range range) {
  if (!IsOfLibrary(work, range)) return range;
  for (size_t i = work.trail.calls.size(); i > 0; --i) {
    const Range site = work.trail.calls[i - 1].site;
    if (site.valid() && !IsOfLibrary(work, site)) return site;
  }
  return range;
}

}  // namespace

Diagnostic& Report(Work& work, Code code, Range at, std::string message) {
  const Range range = OwnLine(work, at);
  Diagnostic& diagnostic = work.diagnostics.Report(code, range, std::move(message));
  if (range != at) {
    const program::Op* op = work.trail.calls.back().op;
    diagnostic.AddNote(at, op != nullptr ? OpText(work.program, *op) : "it is computed here");
  }
  // A loop whose every turn has the same fault shows it once, and need not end.
  if (work.diagnostics.has_errors() && ++work.budget.reports > kMaxReports) {
    work.budget.stopped = true;
  }
  for (size_t i = 0; i < work.trail.loops.size() && i < kNotedLoops; ++i) {
    const Trail::Loop& loop = work.trail.loops[work.trail.loops.size() - 1 - i];
    const std::optional<Value>& value = loop.frame->locals[loop.local.index];
    if (!value) continue;
    const graph::InstanceId* place = value->As<graph::InstanceId>();
    std::string text = place ? work.module.instances[*place].name : ScalarText(*value);
    diagnostic.AddNote(Range(), fmt::format("in iteration {} = {}", *loop.name, text));
  }
  for (size_t i = 0; i < work.trail.calls.size() && i < kNotedCalls; ++i) {
    const Trail::Call& call = work.trail.calls[work.trail.calls.size() - 1 - i];
    // A graph that is run is called by nobody.
    bool is_root = work.builder && call.site == work.builder->graph().range;
    if (call.site == range || is_root) continue;
    if (call.op != nullptr) {
      diagnostic.AddNote(call.site, OpText(work.program, *call.op));
      continue;
    }
    const char* what = call.frame->signature ? "in `{}`, called here" : "of `{}`, made here";
    diagnostic.AddNote(call.site, fmt::format(fmt::runtime(what), call.frame->subject));
  }
  return diagnostic;
}

Range SiteOr(const Work& work, Range range) {
  return work.trail.calls.empty() ? range : work.trail.calls.back().site;
}

std::string Text(const Work& work, const graph::Type& type) {
  if (work.trial && !type.dims.empty()) {  // what is unknown has no bound
    std::vector<std::string> dims;
    for (const graph::Dim& dim : type.dims) {
      dims.push_back(dim.symbol.valid() ? work.builder->graph().symbols[dim.symbol].name
                                        : std::to_string(dim.extent));
    }
    return fmt::format("{}[{}]", DTypeName(type.dtype).str(), fmt::join(dims, ", "));
  }
  static const graph::Graph none;
  return TypeText(work.builder ? work.builder->graph() : none, type);
}

std::string Describe(const Work& work, const Value& value) {
  if (const Tensor* tensor = value.As<Tensor>())
    return Text(work, work.builder->type(tensor->value));
  return IsNumber(value) ? fmt::format("{} ({})", KindText(value), ScalarText(value))
                         : KindText(value);
}

std::string Declared(const Work& work, program::TypeId type, const Frame& frame) {
  return program::TextPrinter(work.program, frame.signature, frame.names).Text(type);
}

std::string Declared(const Work& work, program::ExprId dim, const Frame& frame) {
  return program::TextPrinter(work.program, frame.signature, frame.names).Text(dim);
}

std::string Describe(const Work&, const Subject& subject, const Frame& frame) {
  std::string text = subject.role;
  if (subject.name) text += fmt::format(" `{}`", *subject.name);
  if (!frame.subject.empty()) text += fmt::format(" of `{}`", frame.subject);
  return text;
}

}  // namespace cgraph::elaborate
