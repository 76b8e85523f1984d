#include "tests/support/modules/random_rules.h"

#include <map>
#include <random>
#include <set>

namespace cgraph::graph::testing {
namespace {

class RandomRulesMaker {
 public:
  RandomRulesMaker(const Module& module, const Graph& graph, uint32_t seed)
      : module_(module), graph_(graph), random_(seed) {}

  Rules Make() {
    rules_.name = "random";
    rules_.automatic = Below(4) == 0;
    NameKinds();
    if (rules_.automatic) return rules_;
    for (uint32_t kind = 0; kind < rules_.kinds.size(); ++kind) Rank(kind);
    AddOrders();
    if (Below(3) == 0) FuseOrdered();
    if (rules_.kinds.size() > 1) {
      for (uint32_t limits = Below(3); limits > 0; --limits) AddLimit();
      if (Below(4) == 0) Fuse();
    }
    if (Below(6) == 0) AddMemory();
    return rules_;
  }

 private:
  uint32_t Below(uint32_t n) { return random_() % n; }

  // Rules speak of calls of methods, never of ops that stand alone.
  void NameKinds() {
    const uint32_t kinds = 1 + Below(4);
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      rules_.kinds.push_back({.name = "k" + std::to_string(kind), .rank = Below(3)});
    }
    rules_.calls.resize(graph_.calls.size());
    for (CallId call : graph_.calls.Ids()) {
      const bool named = graph_.calls[call].instance.valid() && Below(5) > 0;
      if (named) rules_.calls[call.index].kind = Below(kinds);
    }
  }

  void Rank(uint32_t kind) {
    const uint32_t keys = Below(3);
    for (CallId call : graph_.calls.Ids()) {
      CallRule& rule = rules_.calls[call.index];
      if (rule.kind != kind) continue;
      for (uint32_t key = 0; key < keys; ++key) rule.ranking.push_back(int64_t{Below(4)} - 2);
    }
  }

  uint32_t OrderOf(CallId call) const {
    const uint32_t kind = rules_.calls[call.index].kind;
    return kind == kNoKind ? kNoOrder : rules_.kinds[kind].order;
  }

  // Adds orders of one kind or of several; now and then another order than the program's, which may
  // block.
  void AddOrders() {
    const uint32_t orders = Below(3);
    rules_.orders.resize(orders);
    for (Kind& kind : rules_.kinds) {
      if (orders > 0 && Below(3) > 0) kind.order = Below(orders);
    }
    for (uint32_t order = 0; order < orders; ++order) {
      const bool backwards = Below(4) == 0;
      for (CallId call : graph_.calls.Ids()) {
        if (OrderOf(call) != order) continue;
        const int64_t place = call.index;
        rules_.calls[call.index].sequence = {backwards ? -place : place};
      }
    }
  }

  // Fuses calls of two kinds of one order, on one device, that have one place in it.
  void FuseOrdered() {
    std::map<std::pair<DeviceId, uint32_t>, CallId> last;
    for (CallId call : graph_.calls.Ids()) {
      if (OrderOf(call) == kNoOrder) continue;
      CallRule& own = rules_.calls[call.index];
      const auto [before, is_first] =
          last.try_emplace({graph_.calls[call].device, OrderOf(call)}, call);
      CallRule& other = rules_.calls[before->second.index];
      if (!is_first && other.kind != own.kind && !follows_.count(before->second.index) &&
          Below(4) == 0) {
        other.fused = call;
        own.sequence = other.sequence;
        follows_.insert(call.index);
      }
      before->second = call;
    }
  }

  void AddLimit() {
    Limit limit{.minuend = Below(static_cast<uint32_t>(rules_.kinds.size())),
                .subtrahend = Below(static_cast<uint32_t>(rules_.kinds.size())),
                .at_most = Below(3) > 0,
                .bounds = {},
                .range = {}};
    if (limit.minuend == limit.subtrahend) return;
    for (uint32_t device = 0; device < module_.devices.size(); ++device) {
      limit.bounds.push_back(Below(5) == 0 ? std::nullopt
                                           : std::optional<int64_t>(int64_t{Below(6)} - 1));
    }
    rules_.limits.push_back(std::move(limit));
  }

  // Fuses each call of one kind with a later one of another at the same place.
  void Fuse() {
    for (CallId first : graph_.calls.Ids()) {
      const CallRule& own = rules_.calls[first.index];
      if (own.kind != 0 || own.fused.valid()) continue;
      for (uint32_t second = first.index + 1; second < rules_.calls.size(); ++second) {
        const bool fits = rules_.calls[second].kind == 1 && !follows_.count(second) &&
                          graph_.calls[CallId(second)].instance == graph_.calls[first].instance;
        if (!fits) continue;
        follows_.insert(second);
        rules_.calls[first.index].fused = CallId(second);
        break;
      }
    }
  }

  void AddMemory() {
    for (uint32_t device = 0; device < module_.devices.size(); ++device) {
      rules_.memory.push_back(Below(3) == 0 ? std::nullopt
                                            : std::optional<int64_t>(64 + 64 * Below(60)));
    }
  }

  const Module& module_;
  const Graph& graph_;
  std::mt19937 random_;
  Rules rules_;
  std::set<uint32_t> follows_;  // calls that run as one with an earlier one
};

}  // namespace

Rules RandomRules(const Module& module, const Graph& graph, uint32_t seed) {
  return RandomRulesMaker(module, graph, seed).Make();
}

}  // namespace cgraph::graph::testing
