#include "runtime/command/run/position.h"

#include <charconv>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::command {
namespace {

// The names of metadata, which docs/language.md lists.
constexpr const char* kExecutions = "cgraph.executions";
constexpr const char* kGraph = "cgraph.graph";
constexpr const char* kOfEpoch = "cgraph.executions_of_epoch";
constexpr const char* kRows = "cgraph.rows";
constexpr const char* kPerSlice = "cgraph.rows_of_execution";
constexpr const char* kShuffle = "cgraph.shuffle";

constexpr size_t kShown = 80;  // characters of a text of a file's

// Reads the number of that name; an absent one stays as it is.
template <typename Number>
Status Read(const StatesMetadata& metadata, const char* name, Number least, Number& number) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) return Status::Ok();
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least) {
    return Status::Ok();
  }
  return {StatusCode::kInvalid, fmt::format("its metadata says `{}` of {}, which is no number from "
                                            "{} on", text.substr(0, kShown), name, least)};
}

}  // namespace

StatesMetadata Position::ToMetadata() const {
  StatesMetadata metadata = {{kExecutions, std::to_string(executions)},
                             {kGraph, graph},
                             {kOfEpoch, std::to_string(of_epoch)}};
  if (rows > 0) {
    metadata[kRows] = std::to_string(rows);
    metadata[kPerSlice] = std::to_string(per_slice);
  }
  if (shuffle) metadata[kShuffle] = std::to_string(*shuffle);
  return metadata;
}

Result<std::optional<Position>> Position::Of(const StatesMetadata& metadata) {
  if (metadata.count(kExecutions) == 0) return std::optional<Position>();
  Position position;
  CGRAPH_RETURN_IF_ERROR(Read<uint64_t>(metadata, kExecutions, 0, position.executions));
  CGRAPH_RETURN_IF_ERROR(Read<uint64_t>(metadata, kOfEpoch, 1, position.of_epoch));
  CGRAPH_RETURN_IF_ERROR(Read<int64_t>(metadata, kRows, 0, position.rows));
  CGRAPH_RETURN_IF_ERROR(Read<int64_t>(metadata, kPerSlice, 0, position.per_slice));
  if (metadata.count(kShuffle) > 0) {
    CGRAPH_RETURN_IF_ERROR(Read<uint64_t>(metadata, kShuffle, 0, position.shuffle.emplace()));
  }
  if (const auto graph = metadata.find(kGraph); graph != metadata.end()) {
    position.graph = graph->second;
  }
  return std::optional<Position>(std::move(position));
}

std::string DataText(const Position& position) {
  std::string text = fmt::format("graph {}", position.graph.substr(0, kShown));
  if (position.rows > 0) {
    text += fmt::format(" over {}, {} at a time", Counted(position.rows, "row"),
                        position.per_slice);
  }
  if (position.of_epoch > 1) {
    text += fmt::format(", {} an epoch", Counted(position.of_epoch, "execution"));
  }
  if (position.shuffle) text += fmt::format(", with --shuffle {}", *position.shuffle);
  return text;
}

}  // namespace cgraph::command
