#include "bench/schedule_harness/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/base/files.h"

namespace cgraph::bench {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == text.npos ? end : end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == text.npos ? "" : text.substr(begin, end - begin + 1);
}

}  // namespace

std::optional<size_t> Csv::Column(const std::string& name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) return std::nullopt;
  return found - columns.begin();
}

Result<int64_t> Csv::Whole(size_t row, size_t column, int64_t most) const {
  const std::string& field = rows[row][column];
  const char* end = field.data() + field.size();
  int64_t value = 0;
  const auto [stopped, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || stopped != end || value < 0 || value > most) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{}:{}: `{}` is no {}: a whole number from 0 to {} belongs there",
                              path, lines[row], field, columns[column], most));
  }
  return value;
}

Result<double> Csv::Number(size_t row, size_t column, double most) const {
  const std::string& field = rows[row][column];
  const char* end = field.data() + field.size();
  double value = 0;
  const auto [stopped, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || stopped != end || !(value >= 0 && value <= most)) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{}:{}: `{}` is no {}: a number from 0 to {:g} belongs there", path,
                              lines[row], field, columns[column], most));
  }
  return value;
}

Result<Csv> ReadCsv(const std::string& path) {
  const Result<std::string> text = ReadText(path, kMostBytes);
  if (!text.ok()) return text.status();
  Csv csv{path, {}, {}, {}};
  int number = 0;
  for (const std::string& line : Split(*text, '\n')) {
    ++number;
    if (Trim(line).empty()) continue;
    std::vector<std::string> fields = Split(line, ',');
    std::transform(fields.begin(), fields.end(), fields.begin(), Trim);
    if (csv.columns.empty()) {
      csv.columns = std::move(fields);
      continue;
    }
    if (fields.size() != csv.columns.size()) {
      return Status(StatusCode::kInvalid,
                    fmt::format("{}:{}: {} fields where the first line names {} columns", path,
                                number, fields.size(), csv.columns.size()));
    }
    csv.rows.push_back(std::move(fields));
    csv.lines.push_back(number);
  }
  return csv;
}

}  // namespace cgraph::bench
