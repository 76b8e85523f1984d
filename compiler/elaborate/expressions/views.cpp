#include "compiler/elaborate/expressions/evaluate.h"

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"

namespace cgraph::elaborate {

Value IndexTensor(ElaborationContext& elaboration, const Tensor& tensor,
                  llvm::ArrayRef<Value> subscripts, Range range) {
  graph::Type type = elaboration.builder->type(tensor.value);
  int64_t offset = 0;
  std::string whole = Text(elaboration, type);
  for (size_t i = 0; i < subscripts.size(); ++i) {
    const int64_t* at = subscripts[i].As<int64_t>();
    const IntRange* part = subscripts[i].As<IntRange>();
    bool last = i + 1 == subscripts.size();
    if (type.dims.empty() || (!at && !last)) {
      Report(elaboration, Code::kE0511, range,
             type.dims.empty()
                 ? fmt::format("too many indices for {}", whole)
                 : fmt::format("a part of {} is not contiguous: only the last index may be a range",
                               whole));
      return Value();
    }
    if (!at && !part) break;  // `:`
    for (const graph::Dim& dim : type.dims) {
      if (!dim.symbol.valid()) continue;
      Report(elaboration, Code::kE0519, range,
             fmt::format("{} has a dimension known only while running, so no part of it can be "
                         "named while compiling; use slice()",
                         whole));
      return Value();
    }
    int64_t extent = type.dims[0].extent;
    int64_t begin = at ? *at : part->begin;
    int64_t end = at ? *at : part->end;
    if (begin < 0 || (at ? begin >= extent : begin > end || end > extent)) {
      std::string text = at ? std::to_string(begin) : fmt::format("{}..{}", begin, end);
      Report(elaboration, Code::kE0511, range,
             fmt::format("[{}] is outside dimension {} of {}{}", text, i, whole,
                         at ? FromTheEnd(begin, extent) : FromTheEnd(*part, extent)));
      return Value();
    }
    graph::Type element{type.dtype, {type.dims.begin() + 1, type.dims.end()}};
    offset += begin * element.bytes();
    if (part) element.dims.insert(element.dims.begin(), graph::Dim{end - begin, {}});
    type = std::move(element);
  }
  Tensor view = tensor;
  view.value = elaboration.builder->AddView(tensor.value, offset, std::move(type), range);
  return Value(view);
}

}  // namespace cgraph::elaborate
