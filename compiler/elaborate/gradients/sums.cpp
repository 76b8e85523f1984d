#include "compiler/elaborate/gradients/sums.h"

#include <algorithm>

namespace cgraph::elaborate {
namespace {

// Rows: a view as a part of its base that is contiguous: from `at` on, of the shape `type`.
struct Rows {
  graph::Type type;
  std::vector<int64_t> at;
};

// Returns a view as rows of its base. It begins at an element of dimension `j` and takes whole
// elements of it; before dimension `j` it has one element of each.
Rows RowsOf(const graph::Value& base, const graph::Value& view) {
  Rows rows;
  rows.type = base.type;
  int64_t offset = view.offset, length = view.type.bytes();
  int64_t stride = base.type.bytes();
  bool whole = false;  // from here on all of each dimension
  for (graph::Dim& dim : rows.type.dims) {
    if (whole || dim.extent == 0) {
      rows.at.push_back(0);
      continue;
    }
    stride /= dim.extent;
    rows.at.push_back(offset / stride);
    offset %= stride;
    const int64_t count = std::max<int64_t>(length / stride, 1);
    whole = length >= stride;
    dim.extent = whole ? count : 1;
  }
  return rows;
}

bool IsBounded(const graph::Type& type) {
  return std::any_of(type.dims.begin(), type.dims.end(),
                     [](const graph::Dim& dim) { return dim.symbol.valid(); });
}

// Returns whether a view is all of its base in another shape, and not rows of it: collectives over
// another dimension than the first look at values so. Such a gradient is reshaped, and not written
// into zeros.
bool IsReshaped(const graph::Value& base, const graph::Value& view) {
  const auto& of_base = base.type.dims;
  const auto& of_view = view.type.dims;
  if (view.type.bytes() != base.type.bytes()) return false;
  if (IsBounded(base.type)) return true;  // rows of it could not be counted
  return of_view.size() > of_base.size() ||
         !std::equal(of_view.begin(), of_view.end(), of_base.end() - of_view.size());
}

}  // namespace

bool Sum::Add(OpMaker& maker, graph::ValueId of, Tensor part) {
  GraphBuilder& builder = *maker.elaboration().builder;
  if (!part.value.valid()) return false;
  const graph::Value view = builder.value(of);
  if (!view.base.valid()) {
    value = value ? maker.Add(*value, part) : part;
    filled.clear();
    return value->value.valid();
  }
  const graph::Value base = builder.value(view.base);
  if (view.type.bytes() == 0) {  // no rows, perhaps of nothing
    if (!value) value = maker.Zeros(base.type);
    return value->value.valid();
  }
  graph::Type base_type = base.type;
  if (IsReshaped(base, view) && (!value || filled.empty())) {
    base_type.dtype = maker.type(part).dtype;
    // `shaped` counts elements while compiling. The view has the elements of its base in their
    // order, bounded dimensions too, so a view of the gradient goes back.
    if (IsBounded(base_type)) part.value = builder.AddView(part.value, 0, base_type, maker.range());
    else part = maker.Shaped(part, base_type);
    value = value ? maker.Add(*value, part) : part;
    return value->value.valid();
  }
  Rows rows = RowsOf(base, view);
  const int64_t width = DTypeBytes(base_type.dtype);
  base_type.dtype = rows.type.dtype = maker.type(part).dtype;  // f32 of an f16 param
  const std::pair<int64_t, int64_t> bytes{view.offset, view.offset + view.type.bytes()};
  const bool is_whole = value && filled.empty();
  const bool overlaps =
      is_whole || std::any_of(filled.begin(), filled.end(), [&](const auto& other) {
        return bytes.first < other.second && other.first < bytes.second;
      });
  if (!value) value = maker.Zeros(base_type);
  if (!value->value.valid()) return false;
  if (maker.type(part) != rows.type) part = maker.Shaped(part, rows.type);
  if (overlaps) {
    const int64_t offset = view.offset / width * DTypeBytes(base_type.dtype);
    const Tensor there{builder.AddView(value->value, offset, rows.type, maker.range())};
    part = maker.Add(there, part);
  }
  value = maker.Update(*value, part, rows.at);
  if (!is_whole) filled.push_back(bytes);
  return value->value.valid();
}

std::optional<Tensor> Total(OpMaker& maker, const Sums& sums) {
  std::optional<Tensor> total;
  for (const auto& [device, sum] : sums) {
    if (!sum.value) continue;
    total = total ? maker.Add(*total, *sum.value) : *sum.value;
  }
  return total;
}

}  // namespace cgraph::elaborate
