// Writes an order as a schedule of the language: for every kind of calls a table of positions in
// the order, and one rule over all kinds. Calls that run as one have one position.
#include <fmt/format.h>

#include <set>

#include "compiler/pipeline/order.h"

namespace cgraph::pipeline {
namespace {

using Kind = ActionKind;
constexpr size_t kNamedRanks = 16;

// Positions by stage and micro-batch.
using Places = std::vector<std::vector<uint32_t>>;

struct Method {
  const char* name;
  Places places;
};

std::vector<Method> MethodsOf(const Order& order) {
  const Places none(order.stages, std::vector<uint32_t>(order.microbatches));
  std::vector<Method> methods = {{"forward", none}};
  if (order.split) {
    methods.push_back({"backward_input", none});
    methods.push_back({"backward_weight", none});
  } else {
    methods.push_back({"backward", none});
  }
  for (const std::vector<Cell>& rank : order.ranks) {
    for (const Cell& cell : rank) {
      for (const auto& [stage, kind, microbatch] : cell.actions) {
        const auto put = [&, stage = stage, microbatch = microbatch](size_t method) {
          methods[method].places[stage][microbatch] = cell.step;
        };
        if (kind == Kind::kForward) put(0);
        if (kind == Kind::kBackward || kind == Kind::kBackwardInput) put(1);
        if (kind == Kind::kBackwardWeight || (kind == Kind::kBackward && order.split)) put(2);
      }
    }
  }
  return methods;
}

std::string RankText(const Order& order) {
  std::string text;
  for (size_t rank = 0; rank < order.ranks.size() && rank < kNamedRanks; ++rank) {
    std::set<uint32_t> stages;
    for (const Cell& cell : order.ranks[rank]) {
      for (const Action& action : cell.actions) stages.insert(action.stage);
    }
    text += fmt::format("// Rank {} has stage{} {}.\n", rank, stages.size() == 1 ? "" : "s",
                        fmt::join(stages, ", "));
  }
  return order.ranks.size() > kNamedRanks ? text + "// And so on.\n" : text;
}

}  // namespace

std::string WriteSchedule(const std::string& name, const Order& order) {
  std::string text = fmt::format(
      "// The order of a pipeline: {} ranks, {} stages, {} micro-batches. `s` is the stage of a "
      "call,\n// `mb` the micro-batch; a table has a row for each stage, and says where in the "
      "order of its\n// rank each micro-batch comes. What has one place runs as one.\n{}",
      order.ranks.size(), order.stages, order.microbatches, RankText(order));
  std::string rule;
  for (const Method& method : MethodsOf(order)) {
    const std::string table = fmt::format("{}_{}", name, method.name);
    std::string rows;
    for (const std::vector<uint32_t>& row : method.places) {
      rows += fmt::format("{}[{}]", rows.empty() ? "" : ", ", fmt::join(row, ", "));
    }
    text += fmt::format("const {} = [{}]\n", table, rows);
    rule += fmt::format("{}{} by {}[s][mb]", rule.empty() ? "order " : ", ", method.name, table);
  }
  return text + fmt::format("schedule {}() {{ {} }}\n", name, rule);
}

}  // namespace cgraph::pipeline
