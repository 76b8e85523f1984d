#include "compiler/base/source.h"

#include <algorithm>

#include "compiler/base/check.h"

namespace cgraph {

SourceId Sources::Add(std::string path, std::string text, SourceKind kind) {
  // Offsets are 32 bits wide; the parser refuses texts far smaller than that.
  CGRAPH_CHECK(text.size() < 0xffffffffu, "source", "a text of 4 GiB or more");
  std::vector<uint32_t> starts = {0};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(static_cast<uint32_t>(i + 1));
  }
  line_starts_.Add(std::move(starts));
  return sources_.Add(std::make_unique<Source>(Source{std::move(path), std::move(text), kind}));
}

LineColumn Sources::Locate(SourceId id, uint32_t offset) const {
  const std::vector<uint32_t>& starts = line_starts_[id];
  const auto after = std::upper_bound(starts.begin(), starts.end(), offset);
  const size_t line = static_cast<size_t>(after - starts.begin());
  return {static_cast<uint32_t>(line), offset - starts[line - 1] + 1};
}

Range Sources::LineAt(SourceId id, uint32_t offset) const {
  const std::vector<uint32_t>& starts = line_starts_[id];
  const std::string& text = sources_[id]->text;
  const auto next = std::upper_bound(starts.begin(), starts.end(), offset);
  uint32_t end = next == starts.end() ? static_cast<uint32_t>(text.size()) : *next - 1;
  if (end > next[-1] && text[end - 1] == '\r') --end;
  return {id, next[-1], end};
}

std::string Sources::Text(const Range& range) const {
  if (!range.valid()) return "";
  const std::string& text = sources_[range.source]->text;
  const size_t begin = std::min<size_t>(range.begin, text.size());
  const size_t end = std::clamp<size_t>(range.end, begin, text.size());
  return text.substr(begin, end - begin);
}

}  // namespace cgraph
