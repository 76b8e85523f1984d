#include "runtime/engine/options.h"

#include <cstring>

namespace cgraph::engine {
namespace {

// Each value is its length and its bytes.
void Append(std::string_view bytes, std::string& text) {
  const uint64_t size = bytes.size();
  text.append(reinterpret_cast<const char*>(&size), sizeof size);
  text += bytes;
}
template <typename Number>
void Append(const Number& number, std::string& text) {
  Append(std::string_view(reinterpret_cast<const char*>(&number), sizeof number), text);
}
void Append(const std::string& value, std::string& text) { Append(std::string_view(value), text); }
void Append(const std::vector<std::string>& values, std::string& text) {
  std::string all;
  for (const std::string& value : values) Append(value, all);
  Append(all, text);
}

bool Take(std::string_view& text, std::string_view& bytes) {
  uint64_t size = 0;
  if (text.size() < sizeof size) return false;
  std::memcpy(&size, text.data(), sizeof size);
  text.remove_prefix(sizeof size);
  if (text.size() < size) return false;
  bytes = text.substr(0, size);
  text.remove_prefix(size);
  return true;
}
template <typename Number>
bool Read(std::string_view bytes, Number& number) {
  if (bytes.size() != sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  return true;
}
bool Read(std::string_view bytes, std::string& value) {
  value = bytes;
  return true;
}
bool Read(std::string_view bytes, std::vector<std::string>& values) {
  values.clear();
  for (std::string_view value; !bytes.empty(); values.emplace_back(value)) {
    if (!Take(bytes, value)) return false;
  }
  return true;
}

}  // namespace

std::string TextForRanks(const EngineOptions& options) {
  std::string text;
  ForEachOption(options, [&](auto /*kind*/, const OptionRow& row, const auto& value) {
    if (row.known_by == OptionRow::kRanks) Append(value, text);
  });
  return text;
}

bool ReadTextForRanks(std::string_view text, EngineOptions& options) {
  bool right = true;
  ForEachOption(options, [&](auto /*kind*/, const OptionRow& row, auto& value) {
    if (row.known_by != OptionRow::kRanks || !right) return;
    std::string_view bytes;
    right = Take(text, bytes) && Read(bytes, value);
  });
  return right && text.empty();
}

}  // namespace cgraph::engine
