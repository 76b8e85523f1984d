// Diagnostics with what surrounds them (iterations, calls), and the limit on steps.
#include "compiler/base/limits.h"
#include "compiler/elaborate/elaborator.h"
#include "compiler/graph/print.h"
#include "compiler/program/text.h"
#include "fmt/format.h"

namespace cgraph::elaboration {
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

}  // namespace

Diagnostic& Elaborator::Report(Code code, Range range, std::string message) {
  Diagnostic& diagnostic = diagnostics_.Report(code, range, std::move(message));
  for (size_t i = 0; i < loops_.size() && i < kNotedLoops; ++i) {
    const Loop& loop = loops_[loops_.size() - 1 - i];
    const std::optional<Value>& value = loop.frame->locals[loop.local.index];
    if (!value) continue;
    const graph::InstanceId* place = value->As<graph::InstanceId>();
    std::string text = place ? module_.instances[*place].name : ScalarText(*value);
    diagnostic.AddNote(Range(), fmt::format("in iteration {} = {}", *loop.name, text));
  }
  for (size_t i = 0; i < inlined_.size() && i < kNotedCalls; ++i) {
    const Inlined& call = inlined_[inlined_.size() - 1 - i];
    // A graph that is run is called by nobody.
    bool is_root = builder_ && call.site == builder_->graph().range;
    if (call.site == range || is_root) continue;
    if (call.op != nullptr) {
      diagnostic.AddNote(call.site, OpText(program_, *call.op));
      continue;
    }
    const char* what = call.frame->signature ? "in `{}`, called here" : "of `{}`, made here";
    diagnostic.AddNote(call.site, fmt::format(fmt::runtime(what), call.frame->subject));
  }
  return diagnostic;
}

bool Elaborator::Step(Range range, int64_t count) {
  if (stopped_) return false;
  steps_ += count;
  if (steps_ <= kMaxElaborationSteps) return true;
  stopped_ = true;
  Report(Code::kE0520, range,
         fmt::format("elaboration takes more than {} steps: loops, lists and calls all run at "
                     "compile time; make them shorter",
                     kMaxElaborationSteps));
  return false;
}

// What to blame for a fault in an op's declaration: the call of the op.
Range Elaborator::SiteOr(Range range) const {
  return inlined_.empty() ? range : inlined_.back().site;
}

std::string Elaborator::Text(const graph::Type& type) const {
  return TypeText(builder_ ? builder_->graph() : graph::Graph(), type);
}

std::string Elaborator::Describe(const Value& value) const {
  if (const Tensor* tensor = value.As<Tensor>()) return Text(builder_->type(tensor->value));
  return IsNumber(value) ? fmt::format("{} ({})", KindText(value), ScalarText(value))
                         : KindText(value);
}

std::string Elaborator::Declared(program::TypeId type, const Frame& frame) const {
  return program::TextPrinter(program_, frame.signature, frame.names).Text(type);
}

std::string Elaborator::Declared(program::ExprId dim, const Frame& frame) const {
  return program::TextPrinter(program_, frame.signature, frame.names).Text(dim);
}

std::string Elaborator::Describe(const Subject& subject, const Frame& frame) const {
  std::string text = subject.role;
  if (subject.name) text += fmt::format(" `{}`", *subject.name);
  if (!frame.subject.empty()) text += fmt::format(" of `{}`", frame.subject);
  return text;
}

}  // namespace cgraph::elaboration
