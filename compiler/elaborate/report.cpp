#include "compiler/elaborate/report.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/names.h"
#include "compiler/program/text.h"

namespace cgraph::elaborate {
namespace {

constexpr size_t kNotedLoops = 3;

constexpr size_t kNotedCalls = 4;

// A type that is longer is a formula, which explains nothing.
constexpr size_t kLongestResult = 60;

// Describes an op for messages: an operator does not show its op, nor an op its parameters.
std::string OpText(const program::Program& program, const program::Op& op) {
  const program::TextPrinter printer(program, &op.signature, &op.locals);
  std::vector<std::string> parameters;
  for (const program::Parameter& parameter : op.signature.parameters) {
    parameters.push_back(parameter.name + ": " + printer.Text(parameter.type));
  }
  const program::TypeId id = op.signature.result;
  const std::string result = id.valid() ? printer.Text(id) : "";
  const bool shown = !result.empty() && result.size() <= kLongestResult;
  return fmt::format("this calls {}({}){}{}", op.name, fmt::join(parameters, ", "),
                     shown ? " -> " : "", shown ? result : "");
}

bool IsOfLibrary(const ElaborationContext& elaboration, Range range) {
  if (!range.valid()) return false;
  return elaboration.diagnostics.sources()[range.source].kind == SourceKind::kLibrary;
}

// Returns the program's own line that leads to a fault in a declaration of the library, since that
// line is to blame.
Range OwnLine(const ElaborationContext& elaboration, Range range) {
  if (!IsOfLibrary(elaboration, range)) return range;
  for (size_t i = elaboration.backtrace.calls.size(); i > 0; --i) {
    const Range site = elaboration.backtrace.calls[i - 1].site;
    if (site.valid() && !IsOfLibrary(elaboration, site)) return site;
  }
  return range;
}

}  // namespace

Diagnostic& Report(ElaborationContext& elaboration, Code code, Range at, std::string message) {
  const Range range = OwnLine(elaboration, at);
  Diagnostic& diagnostic = elaboration.diagnostics.Report(code, range, std::move(message));
  if (range != at) {
    const program::Op* op = elaboration.backtrace.calls.back().op;
    diagnostic.AddNote(at,
                       op != nullptr ? OpText(elaboration.program, *op) : "it is computed here");
  }
  // A loop whose every turn has the same fault shows it once, and need not end.
  if (elaboration.diagnostics.has_errors() && ++elaboration.budget.reports > kMaxReports) {
    elaboration.budget.stopped = true;
  }
  for (size_t i = 0; i < elaboration.backtrace.loops.size() && i < kNotedLoops; ++i) {
    const Backtrace::Loop& loop =
        elaboration.backtrace.loops[elaboration.backtrace.loops.size() - 1 - i];
    const std::optional<Value>& value = loop.frame->locals[loop.local.index];
    if (!value) continue;
    const graph::InstanceId* place = value->As<graph::InstanceId>();
    std::string text = place ? elaboration.module.instances[*place].name : ScalarText(*value);
    diagnostic.AddNote(Range(), fmt::format("in iteration {} = {}", *loop.name, text));
  }
  for (size_t i = 0; i < elaboration.backtrace.calls.size() && i < kNotedCalls; ++i) {
    const Backtrace::Call& call =
        elaboration.backtrace.calls[elaboration.backtrace.calls.size() - 1 - i];
    // A graph that is run has no caller to show.
    bool is_root = elaboration.builder && call.site == elaboration.builder->graph().range;
    if (call.site == range || is_root) continue;
    if (call.op != nullptr) {
      diagnostic.AddNote(call.site, OpText(elaboration.program, *call.op));
      continue;
    }
    const char* what = call.frame->signature ? "in `{}`{}, called here" : "of `{}`{}, made here";
    const std::string& update = call.frame->update;
    diagnostic.AddNote(call.site, fmt::format(fmt::runtime(what), call.frame->subject,
                                              update.empty() ? "" : ", by which " + update));
  }
  size_t bytes = diagnostic.message.size();
  for (const auto& note : diagnostic.notes) bytes += note.message.size();
  elaboration.budget.Charge(StepsOfBytes(bytes));
  return diagnostic;
}

Range SiteOr(const ElaborationContext& elaboration, Range range) {
  return elaboration.backtrace.calls.empty() ? range : elaboration.backtrace.calls.back().site;
}

std::string Text(const ElaborationContext& elaboration, const graph::Type& type) {
  if (elaboration.speculative && !type.dims.empty()) {  // what is unknown has no bound
    std::vector<std::string> dims;
    for (const graph::Dim& dim : type.dims) {
      dims.push_back(dim.symbol.valid() ? elaboration.builder->graph().symbols[dim.symbol].name
                                        : std::to_string(dim.extent));
    }
    return fmt::format("{}[{}]", DTypeName(type.dtype), fmt::join(dims, ", "));
  }
  static const graph::Graph none;
  return TypeText(elaboration.builder ? elaboration.builder->graph() : none, type);
}

std::string LateText(const ElaborationContext& elaboration, const Value& value) {
  const std::optional<graph::Dim> dim = DimOfExtent(elaboration, value);
  if (!dim) return "";
  return fmt::format("`{}` is known only while running (at most {})",
                     elaboration.builder->graph().symbols[dim->symbol].name, dim->extent);
}

std::string LateText(const ElaborationContext& elaboration, llvm::ArrayRef<graph::Dim> dims) {
  for (const graph::Dim& dim : dims) {
    if (!dim.symbol.valid()) continue;
    return fmt::format("dimension `{}` is known only while running (at most {})",
                       elaboration.builder->graph().symbols[dim.symbol].name, dim.extent);
  }
  return "";
}

std::string Describe(const ElaborationContext& elaboration, const Value& value) {
  if (const Tensor* tensor = value.As<Tensor>())
    return Text(elaboration, elaboration.builder->type(tensor->value));
  return IsNumber(value) ? fmt::format("{} ({})", KindText(value), ScalarText(value))
                         : KindText(value);
}

std::string Declared(const ElaborationContext& elaboration, program::TypeId type,
                     const Frame& frame) {
  return program::TextPrinter(elaboration.program, frame.signature, frame.names).Meaning(type);
}

std::string Declared(const ElaborationContext& elaboration, program::ExprId dim,
                     const Frame& frame) {
  return program::TextPrinter(elaboration.program, frame.signature, frame.names).Text(dim);
}

std::string Describe(const ElaborationContext& elaboration, const Subject& subject,
                     const Frame& frame) {
  std::string text = subject.role;
  if (subject.name) text += fmt::format(" `{}`", *subject.name);
  if (!frame.subject.empty()) text += fmt::format(" of `{}`", frame.subject);
  if (!frame.update.empty()) text += fmt::format(", by which {},", frame.update);
  if (subject.whole.valid()) {
    const auto& type = std::get<program::TupleType>(elaboration.program.types[subject.whole].node);
    const std::string& name = type.fields[subject.field].name;
    text += fmt::format(", field {} of {},",
                        name.empty() ? std::to_string(subject.field) : "`" + name + "`",
                        Declared(elaboration, subject.whole, frame));
  }
  return text;
}

}  // namespace cgraph::elaborate
