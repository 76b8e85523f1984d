#include "tests/support/random_rules.h"

#include <random>

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
    for (uint32_t kind = 0; kind < rules_.kinds.size(); ++kind) Sort(kind);
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

  // Keys that now and then ask for another order than the program's, which may block.
  void Sort(uint32_t kind) {
    const uint32_t keys = Below(3);
    const bool ordered = Below(4) == 0;
    if (ordered) {
      rules_.kinds[kind].order = static_cast<uint32_t>(rules_.orders.size());
      rules_.orders.emplace_back();
    }
    const bool backwards = Below(3) == 0;
    for (CallId call : graph_.calls.Ids()) {
      CallRule& rule = rules_.calls[call.index];
      if (rule.kind != kind) continue;
      for (uint32_t key = 0; key < keys; ++key) rule.ranking.push_back(int64_t{Below(4)} - 2);
      const int64_t place = call.index;
      if (ordered) rule.sequence = {backwards ? -place : place};
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

  // Each call of one kind with a later one of another at the same place.
  void Fuse() {
    std::vector<bool> taken(rules_.calls.size(), false);
    for (CallId first : graph_.calls.Ids()) {
      if (rules_.calls[first.index].kind != 0) continue;
      for (uint32_t second = first.index + 1; second < rules_.calls.size(); ++second) {
        const bool fits = rules_.calls[second].kind == 1 && !taken[second] &&
                          graph_.calls[CallId(second)].instance == graph_.calls[first].instance;
        if (!fits) continue;
        taken[second] = true;
        rules_.calls[first.index].fused = second;
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
};

}  // namespace

Rules RandomRules(const Module& module, const Graph& graph, uint32_t seed) {
  return RandomRulesMaker(module, graph, seed).Make();
}

}  // namespace cgraph::graph::testing
