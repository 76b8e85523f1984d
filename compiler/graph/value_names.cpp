#include "compiler/graph/value_names.h"

#include <fmt/format.h>

namespace cgraph::graph {
namespace {

int64_t RowBytes(const Type& type, size_t dim) {
  const Type row{type.dtype, {type.dims.begin() + dim + 1, type.dims.end()}};
  return row.bytes();
}

// "[1][2..4]": an index for each dimension that the part lacks, then where it lies in the next one.
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
  // A line of the library says nothing to who called it.
  const Range site = graph.calls[op.call].site;
  const bool of_call = op.range.source != site.source && site.valid();
  const Range range = of_call ? site : op.range;
  if (sources == nullptr || !range.valid()) return op.name;
  return fmt::format("{}:{}", op.name, sources->Locate(range.source, range.begin).line);
}

}  // namespace cgraph::graph
