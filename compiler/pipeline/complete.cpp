// Complete: checks that an order is one of a pipeline, and finds when each action can be.
//
// The needs of an action follow from its stage and micro-batch alone: a forward needs the result of
// the stage before for the micro-batch, a backward that of the stage behind. The ranks are walked
// through together, each in its order; where none can go on, the order is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/pipeline/order.h"

namespace cgraph::pipeline {
namespace {

using Kind = ActionKind;
constexpr size_t kShownRanks = 4;  // of those that wait for each other

class Checker {
 public:
  Checker(const std::string& name, Order& order) : name_(name), order_(order) {}

  Status Complete() {
    CGRAPH_RETURN_IF_ERROR(Place());
    NameHalves();
    CGRAPH_RETURN_IF_ERROR(Count());
    if (order_.transfers) CGRAPH_RETURN_IF_ERROR(MatchTransfers());
    return Walk(/*align=*/false);
  }

  void Align() {
    (void)Place();
    (void)Walk(/*align=*/true);
  }

 private:
  struct Where {
    uint32_t rank, cell;
  };

  Status Wrong(std::string message) const {
    return {StatusCode::kInvalid, fmt::format("{}: {}", name_, message)};
  }
  Status WrongAt(const Where& at, std::string message) const {
    return {StatusCode::kInvalid,
            fmt::format("{}:{}: cell {}: {}", name_, at.rank + 1, CellOf(at).step + 1, message)};
  }
  const Cell& CellOf(const Where& at) const { return order_.ranks[at.rank][at.cell]; }
  std::string PlaceText(const Where& at) const {
    return fmt::format("line {}, cell {}", at.rank + 1, CellOf(at).step + 1);
  }
  static std::string Text(const Action& action) { return "`" + ActionText(action) + "`"; }
  bool Has(const Action& action) const { return where_.count(action) > 0; }

  // Finds where every action stands, and how many stages and micro-batches there are.
  Status Place() {
    order_.stages = order_.microbatches = 0;
    order_.split = order_.transfers = false;
    for (uint32_t rank = 0; rank < order_.ranks.size(); ++rank) {
      for (uint32_t cell = 0; cell < order_.ranks[rank].size(); ++cell) {
        for (const Action& action : order_.ranks[rank][cell].actions) {
          CGRAPH_RETURN_IF_ERROR(PlaceOne(action, {rank, cell}));
        }
      }
    }
    return Status::Ok();
  }
  Status PlaceOne(const Action& action, const Where& at) {
    const auto [first, added] = where_.emplace(action, at);
    if (!added) {
      return WrongAt(at, fmt::format("{} stands here and at {}; a stage does everything once for "
                                     "each micro-batch",
                                     Text(action), PlaceText(first->second)));
    }
    const auto [home, is_new] = home_.emplace(action.stage, at);
    if (!is_new && home->second.rank != at.rank) {
      return WrongAt(at, fmt::format("stage {} is on this rank and on that of {}; a stage is on "
                                     "one rank",
                                     action.stage, PlaceText(home->second)));
    }
    order_.stages = std::max(order_.stages, action.stage + 1);
    order_.microbatches = std::max(order_.microbatches, action.microbatch + 1);
    order_.split |= action.kind == Kind::kBackwardInput || action.kind == Kind::kBackwardWeight;
    order_.transfers |= IsTransfer(action.kind);
    return Status::Ok();
  }

  // Names halves of backwards: in older files B stands for the first half where there is a W for
  // the second.
  void NameHalves() {
    for (uint32_t rank = 0; rank < order_.ranks.size(); ++rank) {
      for (uint32_t cell = 0; cell < order_.ranks[rank].size(); ++cell) {
        std::vector<Action>& actions = order_.ranks[rank][cell].actions;
        Action half = actions[0];
        if (actions.size() > 1 || half.kind != Kind::kBackward) continue;
        half.kind = Kind::kBackwardWeight;
        if (!Has(half)) continue;
        half.kind = Kind::kBackwardInput;
        if (Has(half)) continue;
        where_.erase(actions[0]);
        where_[half] = {rank, cell};
        actions[0] = half;
      }
    }
  }

  // Checks that every stage has a forward and a backward, whole or in two halves, of every
  // micro-batch.
  Status Count() {
    for (uint32_t rank = 0; rank < order_.ranks.size(); ++rank) {
      if (!order_.ranks[rank].empty()) continue;
      return Wrong(fmt::format("line {}: rank {} does nothing; every rank has a stage", rank + 1,
                               rank));
    }
    for (uint32_t stage = 0; stage < order_.stages; ++stage) {
      if (!home_.count(stage)) {
        return Wrong(fmt::format("no rank has stage {}, and there is a stage {}; stages are "
                                 "counted from 0",
                                 stage, order_.stages - 1));
      }
      for (uint32_t microbatch = 0; microbatch < order_.microbatches; ++microbatch) {
        CGRAPH_RETURN_IF_ERROR(CountOne(stage, microbatch));
      }
    }
    return Status::Ok();
  }
  Status CountOne(uint32_t stage, uint32_t microbatch) {
    const Action forward{stage, Kind::kForward, microbatch};
    const Action whole{stage, Kind::kBackward, microbatch};
    const Action input{stage, Kind::kBackwardInput, microbatch};
    const Action weight{stage, Kind::kBackwardWeight, microbatch};
    const auto lacks = [&](const Action& missing, const Action& reason) {
      const auto at = where_.find(reason);
      const std::string text = fmt::format("{} is missing: every stage has a forward and a "
                                           "backward of every micro-batch",
                                           Text(missing));
      return at == where_.end() ? Wrong(text) : WrongAt(at->second, text + ", and here it has " +
                                                                        Text(reason));
    };
    if (!Has(forward)) return lacks(forward, Has(input) ? input : whole);
    if (Has(whole)) {
      for (const Action& half : {input, weight}) {
        if (!Has(half)) continue;
        return WrongAt(where_.at(half),
                       fmt::format("{} is a part of {}, which stands at {}; a backward is whole, "
                                   "or in two halves",
                                   Text(half), Text(whole), PlaceText(where_.at(whole))));
      }
      return Status::Ok();
    }
    if (!Has(input)) return lacks(Has(weight) ? input : whole, Has(weight) ? weight : forward);
    if (!Has(weight)) return lacks(weight, input);
    return Status::Ok();
  }

  bool Crosses(uint32_t stage, uint32_t other) const {
    return home_.at(stage).rank != home_.at(other).rank;
  }
  // Returns the other end of a transfer: 0SEND_F3 and 1RECV_F3, 1SEND_B3 and 0RECV_B3. Nothing
  // where there is no such stage.
  std::optional<Action> OtherEnd(const Action& end) const {
    const auto at = [&](bool behind, Kind kind) -> std::optional<Action> {
      if (behind ? end.stage + 1 >= order_.stages : end.stage == 0) return std::nullopt;
      return Action{behind ? end.stage + 1 : end.stage - 1, kind, end.microbatch};
    };
    switch (end.kind) {
      case Kind::kSendForward: return at(true, Kind::kReceiveForward);
      case Kind::kReceiveForward: return at(false, Kind::kSendForward);
      case Kind::kSendBackward: return at(false, Kind::kReceiveBackward);
      case Kind::kReceiveBackward: return at(true, Kind::kSendBackward);
      default: return std::nullopt;
    }
  }

  // Checks that every transfer has both ends, and that there is a transfer wherever ranks need one.
  Status MatchTransfers() {
    for (const auto& [action, at] : where_) {
      if (!IsTransfer(action.kind)) continue;
      const std::optional<Action> other = OtherEnd(action);
      if (!other || !Crosses(action.stage, other->stage)) {
        return WrongAt(at, fmt::format("{} goes to no other rank", Text(action)));
      }
      if (!Has(*other)) {
        return WrongAt(at, fmt::format("{} has no other end: {} is missing on line {}",
                                       Text(action), Text(*other),
                                       home_.at(other->stage).rank + 1));
      }
    }
    for (uint32_t stage = 0; stage + 1 < order_.stages; ++stage) {
      if (!Crosses(stage, stage + 1)) continue;
      for (uint32_t i = 0; i < order_.microbatches; ++i) {
        for (const Action& end : {Action{stage, Kind::kSendForward, i},
                                  Action{stage + 1, Kind::kSendBackward, i}}) {
          if (Has(end)) continue;
          return Wrong(fmt::format("{} is missing: other transfers are there, and stage {} is on "
                                   "another rank",
                                   Text(end), OtherEnd(end)->stage));
        }
      }
    }
    return Status::Ok();
  }

  // ---- walking ----------------------------------------------------------------------------------

  std::vector<Action> Needs(const Action& action) const {
    const auto [stage, kind, microbatch] = action;
    const auto backward_of = [&](uint32_t of) {
      const Action whole{of, Kind::kBackward, microbatch};
      return Has(whole) ? whole : Action{of, Kind::kBackwardInput, microbatch};
    };
    const auto arrives = [&](uint32_t from, Kind receive, const Action& made) {
      return order_.transfers && Crosses(stage, from) ? Action{stage, receive, microbatch} : made;
    };
    std::vector<Action> needs;
    switch (kind) {
      case Kind::kForward:
        if (stage == 0) break;
        needs.push_back(arrives(stage - 1, Kind::kReceiveForward,
                                {stage - 1, Kind::kForward, microbatch}));
        break;
      case Kind::kBackward: case Kind::kBackwardInput:
        needs.push_back({stage, Kind::kForward, microbatch});
        if (stage + 1 == order_.stages) break;
        needs.push_back(arrives(stage + 1, Kind::kReceiveBackward, backward_of(stage + 1)));
        break;
      case Kind::kBackwardWeight: return {{stage, Kind::kBackwardInput, microbatch}};
      case Kind::kSendForward: return {{stage, Kind::kForward, microbatch}};
      case Kind::kSendBackward: return {backward_of(stage)};
      case Kind::kReceiveForward: case Kind::kReceiveBackward: return {*OtherEnd(action)};
    }
    return needs;
  }

  struct Need {
    Action of, what;
  };
  // Returns the first need of the rank's next cell that is not met. `earliest`: when all are met.
  std::optional<Need> Missing(uint32_t rank, uint32_t& earliest) const {
    const Cell& cell = order_.ranks[rank][next_[rank]];
    for (const Action& action : cell.actions) {
      for (const Action& need : Needs(action)) {
        const auto met = steps_.find(need);
        if (met == steps_.end()) return Need{action, need};
        // Both ends of a transfer can be at one time step.
        const bool together = IsTransfer(action.kind) && IsTransfer(need.kind);
        earliest = std::max(earliest, met->second + (together ? 0 : 1));
      }
    }
    return std::nullopt;
  }

  Status Walk(bool align) {
    next_.assign(order_.ranks.size(), 0);
    std::vector<uint32_t> free(order_.ranks.size(), 0), ready;
    std::map<Action, std::set<uint32_t>> waiting;
    for (uint32_t rank = 0; rank < order_.ranks.size(); ++rank) ready.push_back(rank);
    while (!ready.empty()) {
      const uint32_t rank = ready.back();
      ready.pop_back();
      while (next_[rank] < order_.ranks[rank].size()) {
        uint32_t step = free[rank];
        if (const std::optional<Need> need = Missing(rank, step)) {
          waiting[need->what].insert(rank);
          break;
        }
        Cell& cell = order_.ranks[rank][next_[rank]++];
        if (align) cell.step = step;
        free[rank] = step + 1;
        for (const Action& action : cell.actions) {
          steps_[action] = step;
          const auto others = waiting.find(action);
          if (others == waiting.end()) continue;
          ready.insert(ready.end(), others->second.begin(), others->second.end());
          waiting.erase(others);
        }
      }
    }
    return ReportBlocked();
  }

  Status ReportBlocked() const {
    std::string all;
    size_t shown = 0;
    for (uint32_t rank = 0; rank < order_.ranks.size(); ++rank) {
      if (next_[rank] == order_.ranks[rank].size()) continue;
      uint32_t step = 0;
      const Where here{rank, next_[rank]};
      const auto [action, need] = *Missing(rank, step);
      const auto at = where_.find(need);
      if (at->second.rank == rank) {
        return WrongAt(here, fmt::format("{} needs {}, which stands at cell {} of the same line",
                                         Text(action), Text(need), CellOf(at->second).step + 1));
      }
      if (++shown > kShownRanks) continue;
      all += fmt::format("{}{} ({}) waits for {} ({})", shown == 1 ? "" : ", ", Text(action),
                         PlaceText(here), Text(need), PlaceText(at->second));
    }
    if (shown == 0) return Status::Ok();
    return Wrong("the ranks wait for each other for ever: " + all +
                 (shown > kShownRanks ? ", and so on" : ""));
  }

  const std::string& name_;
  Order& order_;
  std::map<Action, Where> where_;
  std::map<uint32_t, Where> home_;   // by stage: where it first stands
  std::map<Action, uint32_t> steps_;  // of what is done
  std::vector<uint32_t> next_;        // by rank: cells
};

}  // namespace

Status Complete(const std::string& name, Order& order) { return Checker(name, order).Complete(); }

void Align(Order& order) { Checker("", order).Align(); }

}  // namespace cgraph::pipeline
