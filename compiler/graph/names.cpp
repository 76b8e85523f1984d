#include "compiler/graph/names.h"

#include <fmt/format.h>

namespace cgraph {

std::string TypeText(const graph::Graph& graph, const graph::Type& type) {
  std::string text(DTypeName(type.dtype));
  if (type.dims.empty()) return text;
  const char* separator = "[";
  for (const graph::Dim& dim : type.dims) {
    text += separator;
    if (dim.symbol.valid()) text += graph.symbols[dim.symbol].name + " <= ";
    text += std::to_string(dim.extent);
    separator = ", ";
  }
  return text + "]";
}

std::string CallName(const graph::Module& module, const graph::Call& call) {
  std::string text = call.method;
  if (call.instance.valid()) text = module.instances[call.instance].name + "." + text;
  for (size_t i = 0; i < call.indices.size(); ++i) {
    text += fmt::format("{}{} = {}", i == 0 ? " (" : ", ", call.index_names[i], call.indices[i]);
  }
  return call.indices.empty() ? text : text + ")";
}

std::string CallText(const graph::Module& module, const graph::Call& call) {
  return "`" + CallName(module, call) + "`";
}

}  // namespace cgraph

namespace cgraph::graph {
namespace {

int64_t RowBytes(const Type& type, size_t dim) {
  const Type row{type.dtype, {type.dims.begin() + dim + 1, type.dims.end()}};
  return row.bytes();
}

// Names a part: "[1][2..4]" has an index for each dimension that the part lacks, then where it lies
// in the next one.
std::string PartText(const Type& whole, const Type& part, int64_t offset) {
  std::string text;
  const size_t indexed = whole.dims.size() - part.dims.size();
  for (size_t dim = 0; dim <= indexed && dim < whole.dims.size(); ++dim) {
    const int64_t row = RowBytes(whole, dim);
    if (row == 0) return text;
    const int64_t at = offset / row;
    offset %= row;
    if (dim < indexed) {
      text += fmt::format("[{}]", at);
    } else if (part.dims[0] != whole.dims[dim]) {
      text += fmt::format("[{}..{}]", at, at + part.dims[0].extent);
    }
  }
  return text;
}

}  // namespace

std::string ValueName(const Graph& graph, const Value& value, const Sources* sources) {
  if (!value.name.empty()) return value.name;
  if (value.base.valid()) {
    const Value& base = graph.values[value.base];
    const std::string name = ValueName(graph, base, sources);
    return base.type.dims.size() < value.type.dims.size() || name.empty()
               ? name
               : name + PartText(base.type, value.type, value.offset);
  }
  if (!value.producer.valid()) return "";
  const Op& op = graph.ops[value.producer];
  // A line of the library means nothing to the caller, whose own line is used.
  const Range site = graph.calls[op.call].site;
  const bool of_call = op.range.source != site.source && site.valid();
  const Range range = of_call ? site : op.range;
  if (sources == nullptr || !range.valid()) return op.name;
  return fmt::format("{}:{}", op.name, sources->Locate(range.source, range.begin).line);
}

cost::CallName NameOf(const Module& module, const Call& call) {
  if (!call.instance.valid()) return {{}, {}, call.method};
  const Instance& on = module.instances[call.instance];
  return {on.name, on.actor, call.method};
}

}  // namespace cgraph::graph
