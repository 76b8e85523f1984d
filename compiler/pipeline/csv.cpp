// Parser of a pipeline's CSV, cell by cell. Everything that is not exactly a cell is refused: a
// schedule that was misread would train something else.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "compiler/base/limits.h"
#include "compiler/pipeline/order.h"

namespace cgraph::pipeline {
namespace {

constexpr uint32_t kMaxNumber = 65'535;     // of stages and of micro-batches
constexpr size_t kMaxActions = kMaxOps;     // each is an op of a graph at least
constexpr size_t kShownCharacters = 40;     // of a cell
constexpr const char* kOverlap = "OVERLAP_F_B";

struct Spelling {
  ActionKind kind;
  std::string_view text;
};
constexpr Spelling kSpellings[] = {
#define X(id, text) {ActionKind::id, text},
#include "compiler/pipeline/actions.def"
#undef X
};
constexpr std::string_view kLeftOut[] = {
#define X(id, text)
#define LEFT_OUT(text) text,
#include "compiler/pipeline/actions.def"
#undef X
};

std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShownCharacters)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "`" + shown + (text.size() > kShownCharacters ? "...`" : "`");
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// Takes the part of `text` up to `separator` off.
std::string_view TakeUpTo(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == text.npos ? std::string_view() : text.substr(end + 1);
  return part;
}

std::string ActionNames() {
  std::string names;
  for (const Spelling& spelling : kSpellings) names += fmt::format("{}, ", spelling.text);
  return names;
}

Status Wrong(std::string message) { return {StatusCode::kInvalid, std::move(message)}; }

// Takes a number off the beginning of `text`; nothing when there is none.
Result<std::optional<uint32_t>> TakeNumber(std::string_view& text, const char* what) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0) return std::optional<uint32_t>();
  uint32_t number = 0;
  const std::from_chars_result read = std::from_chars(text.data(), text.data() + digits, number);
  if (read.ec != std::errc() || number > kMaxNumber) {
    return Wrong(fmt::format("{} {} is above {}, the largest", what, Shown(text.substr(0, digits)),
                             kMaxNumber));
  }
  text.remove_prefix(digits);
  return std::optional<uint32_t>(number);
}

// Reads an action: "2F0".
Result<Action> ReadAction(std::string_view text) {
  const std::string shown = Shown(text);
  Action action;
  Result<std::optional<uint32_t>> stage = TakeNumber(text, "stage");
  if (!stage.ok()) return stage.status();
  const size_t letters =
      std::min(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), text.size());
  const std::string_view word = text.substr(0, letters);
  text.remove_prefix(letters);
  if (!*stage || word.empty()) {
    return Wrong(fmt::format("{} is no action: one is a stage, what it does and with which "
                             "micro-batch, such as 2F0 or 1SEND_F3",
                             shown));
  }
  const auto* spelling = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                      [&](const Spelling& one) { return one.text == word; });
  if (spelling == std::end(kSpellings)) {
    return Wrong(fmt::format("{}: there is no action {}; there are {}and {} of two in parentheses",
                             shown, Shown(word), ActionNames(), kOverlap));
  }
  Result<std::optional<uint32_t>> microbatch = TakeNumber(text, "micro-batch");
  if (!microbatch.ok()) return microbatch.status();
  if (!*microbatch) {
    return Wrong(fmt::format("{}: which micro-batch? Write {}0", shown,
                             shown.substr(1, shown.size() - 2)));
  }
  if (!text.empty()) {
    return Wrong(fmt::format("{}: {} stands after the micro-batch; a comma ends a cell", shown,
                             Shown(text)));
  }
  return Action{**stage, spelling->kind, **microbatch};
}

// Reads a pair: "(0F7;7B3)OVERLAP_F_B", a forward and a backward.
Result<std::vector<Action>> ReadPair(std::string_view text) {
  const std::string shown = Shown(text);
  const Status wrong = Wrong(fmt::format(
      "{} is no pair: one is a forward and a backward, such as (0F7;7B3){}", shown, kOverlap));
  const size_t close = text.find(')');
  if (close == text.npos || text.substr(close + 1) != kOverlap) return wrong;
  std::string_view rest = text.substr(1, close - 1);
  std::vector<Action> actions;
  while (actions.size() < 3 && !(rest.empty() && !actions.empty())) {
    Result<Action> action = ReadAction(Trim(TakeUpTo(rest, ';')));
    if (!action.ok()) return action.status();
    actions.push_back(*action);
  }
  // The forward comes first, whatever the text says: the two run as one.
  std::sort(actions.begin(), actions.end(),
            [](const Action& a, const Action& b) { return a.kind < b.kind; });
  const bool right = actions.size() == 2 && actions[0].kind == ActionKind::kForward &&
                     actions[1].kind == ActionKind::kBackward;
  if (!right) return wrong;
  return actions;
}

// Returns what a cell says of a stage's parameters, such as 0UNSHARD, as it is spelt: it is left
// out. Null where the cell is no such.
const std::string_view* FindLeftOut(std::string_view text) {
  const size_t stage = text.find_first_not_of("0123456789");
  if (stage == 0 || stage == text.npos) return nullptr;
  const auto* found = std::find(std::begin(kLeftOut), std::end(kLeftOut), text.substr(stage));
  return found == std::end(kLeftOut) ? nullptr : found;
}

Result<std::vector<Action>> ReadCell(std::string_view text, std::set<std::string>& left_out) {
  if (text.empty()) return std::vector<Action>();
  if (const std::string_view* word = FindLeftOut(text)) {
    left_out.emplace(*word);
    return std::vector<Action>();
  }
  if (text[0] == '(') return ReadPair(text);
  Result<Action> action = ReadAction(text);
  if (!action.ok()) return action.status();
  return std::vector<Action>{*action};
}

}  // namespace

std::string ActionText(const Action& action) {
  return fmt::format("{}{}{}", action.stage, kSpellings[static_cast<size_t>(action.kind)].text,
                     action.microbatch);
}

bool IsTransfer(ActionKind kind) { return kind >= ActionKind::kSendForward; }

Result<Order> ReadOrder(const std::string& name, const std::string& text) {
  Order order;
  size_t actions = 0;
  std::string_view rest = text;
  rest = rest.substr(0, rest.find_last_not_of(" \t\r\n") + 1);
  while (!rest.empty()) {
    std::string_view line = TakeUpTo(rest, '\n');
    order.ranks.emplace_back();
    if (order.ranks.size() >= kMaxDevices) {
      return Wrong(fmt::format("{} has more than {} lines: one is a rank, and a program has fewer "
                               "devices",
                               name, kMaxDevices - 1));
    }
    for (uint32_t step = 0; !line.empty(); ++step) {
      Result<std::vector<Action>> cell = ReadCell(Trim(TakeUpTo(line, ',')), order.left_out);
      if (!cell.ok()) {
        return Wrong(fmt::format("{}:{}: cell {}: {}", name, order.ranks.size(), step + 1,
                                 cell.status().message()));
      }
      if (cell->empty()) continue;
      actions += cell->size();
      if (actions > kMaxActions) {
        return Wrong(fmt::format("{} has more than {} actions", name, kMaxActions));
      }
      order.ranks.back().push_back({std::move(*cell), step});
    }
  }
  if (order.ranks.empty()) return Wrong(name + " is empty: a line for each rank belongs there");
  CGRAPH_RETURN_IF_ERROR(Complete(name, order));
  return order;
}

std::string WriteOrder(const Order& order) {
  std::string text;
  for (const std::vector<Cell>& rank : order.ranks) {
    uint32_t step = 0;
    for (const Cell& cell : rank) {
      for (; step < cell.step; ++step) text += ",";
      if (cell.actions.size() == 1) {
        text += ActionText(cell.actions[0]);
      } else {
        text += fmt::format("({};{}){}", ActionText(cell.actions[0]), ActionText(cell.actions[1]),
                            kOverlap);
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace cgraph::pipeline
