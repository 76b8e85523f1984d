#include "tests/mutants/trial.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "runtime/plan/graph_index.h"
#include "tests/interpreter/in_sequence.h"
#include "tests/mutants/certify.h"

namespace cgraph::mutants {
namespace {

constexpr uint32_t kHoldAll = 48;   // up to so many instructions, each is held back in turn
constexpr uint32_t kHoldSome = 24;  // else the suspects and so many others
constexpr uint32_t kHoldMost = 500;  // where the two judges differ: not for ever

// Returns enough rounds for every copy to be used again, and for executions before and behind.
uint32_t RoundsFor(const plan::Graph& graph) {
  uint32_t copies = 1;
  for (const plan::Arena& arena : graph.arenas) {
    copies = std::max<uint32_t>(copies, arena.copies());
  }
  return std::clamp(copies + 3, 5u, 10u);
}

std::vector<uint32_t> ChooseSuspects(const plan::Graph& graph,
                                     const std::vector<uint32_t>& suspects, Random& random) {
  std::set<uint32_t> chosen;
  for (uint32_t suspect : suspects) {
    // The neighbours matter as much: what was damaged may be why they are ordered.
    for (uint32_t i = suspect > 0 ? suspect - 1 : 0; i <= suspect + 1; ++i) {
      if (i < graph.instructions.size() && chosen.size() < 2 * kHoldAll) {
        chosen.insert(i);
      }
    }
  }
  for (uint32_t i = 0; i < kHoldSome; ++i) {
    chosen.insert(random.Below(graph.instructions.size()));
  }
  return {chosen.begin(), chosen.end()};
}

// Holds each of some instructions back in each round, with all sorts of gaps between executions.
interpreter::Finding HoldInEveryRound(const plan::Plan& plan, uint32_t graph_index,
                                      const std::vector<uint32_t>& held, uint32_t tries,
                                      Random& random) {
  const plan::Graph& graph = plan::GraphAt(plan, graph_index);
  interpreter::Finding finding;
  for (; tries > 0; --tries) {
    const interpreter::Interpreter again(plan, graph_index, RoundsFor(graph) + 4, random.Next());
    for (uint32_t instruction : held) {
      for (uint32_t round = 0; round < again.rounds(); ++round) {
        finding = again.Run({.seed = random.Next(),
                             .policy = interpreter::SchedulingPolicy::kHoldFinish,
                             .held = instruction,
                             .held_round = round,
                             .loose = true});
        if (finding.outcome != interpreter::Outcome::kOk) return finding;
      }
    }
  }
  return finding;
}

std::vector<uint32_t> EveryInstruction(const plan::Graph& graph) {
  std::vector<uint32_t> all(std::min<size_t>(graph.instructions.size(), kHoldMost));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Follows up the instructions that the prover points to; and then all of them, since a judge of the
// prover need not believe that it points to the right ones.
interpreter::Finding FollowUp(const plan::Plan& plan, uint32_t graph_index,
                              const plan::Verdict& verdict, Random& random) {
  std::vector<uint32_t> held;
  for (const plan::RefusalStep& step : verdict.steps) held.push_back(step.instruction);
  interpreter::Finding finding = HoldInEveryRound(plan, graph_index, held, 8, random);
  if (finding.outcome != interpreter::Outcome::kOk) return finding;
  return HoldInEveryRound(plan, graph_index,
                          EveryInstruction(plan::GraphAt(plan, graph_index)), 2, random);
}

// Returns whether some access to state has a lag: then lanes alone do not order several graphs.
bool StateHasLags(const plan::Plan& plan) {
  for (const auto& graph : plan.graphs) {
    const plan::GraphIndex index(plan, *graph);
    for (uint32_t i = 0; i < graph->instructions.size(); ++i) {
      bool state = false;
      index.ForEachOperand(i, [&](uint32_t value, bool, uint32_t) {
        const plan::Buffer& buffer = graph->buffers[graph->values[value].buffer()];
        state |= graph->arenas[buffer.arena()].space() == plan::Space::state;
      });
      if (state && graph->instructions[i].lag() != 0) return true;
    }
  }
  return false;
}

// Judges all graphs of a proved plan, one after the other (rule 14).
interpreter::Finding JudgeTogether(const plan::Plan& plan, Random& random) {
  if (plan.graphs.size() < 2 || StateHasLags(plan)) return {};
  std::vector<uint32_t> graphs(plan.graphs.size());
  std::iota(graphs.begin(), graphs.end(), 0);
  const auto one = interpreter::InSequence(plan, graphs);
  const std::vector<uint32_t> chosen = ChooseSuspects(*one->graphs[0], {}, random);
  return interpreter::Interpreter(*one, 0, 5, random.Next()).Search(1, &chosen);
}

}  // namespace

Mutant Mutate(const plan::Plan& plan, uint32_t graph, Random& random) {
  const std::vector<MutationKind>& kinds = MutationKinds();
  for (;;) {
    Mutant mutant{std::make_unique<plan::Plan>(plan), nullptr, {}};
    Damage damage{*mutant.plan, plan::GraphAt(*mutant.plan, graph), random, {}};
    const uint32_t wanted = random.OneIn(4) ? 2 : 1;
    uint32_t applied = 0;
    bool certify = !random.OneIn(5);
    for (uint32_t tries = 0; applied < wanted && tries < 20; ++tries) {
      const MutationKind& kind = kinds[random.Below(kinds.size())];
      if (!damage.graph.instructions.empty() && kind.apply(damage)) {
        mutant.kind = ++applied == 1 ? &kind : mutant.kind;
        certify = certify && std::string(kind.name) != "order";
      }
    }
    if (applied > 0) {
      if (certify) {
        Certify(damage.graph);
      }
      mutant.suspects.assign(damage.suspects.begin(), damage.suspects.end());
      return mutant;
    }
  }
}

Mutant Unchanged(const Original& original) {
  static constexpr MutationKind kAsMade = {Fault::kNone, "as made", nullptr};
  return {std::make_unique<plan::Plan>(*original.plan), &kAsMade, {}};
}

Mutant MakeMutant(const Original& original, Random& random) {
  const plan::Plan* from = original.plan.get();
  std::unique_ptr<plan::Plan> walked;
  for (uint32_t steps = random.Below(6); steps > 0; --steps) {
    Mutant next = Mutate(*from, original.graph, random);
    const plan::Graph& graph = plan::GraphAt(*next.plan, original.graph);
    if (graph.instructions.empty() || !plan::Prove(*next.plan).proved()) continue;
    walked = std::move(next.plan);
    from = walked.get();
  }
  return Mutate(*from, original.graph, random);
}

Trial Judge(const plan::Plan& plan, uint32_t graph_index, const std::vector<uint32_t>& suspects,
            const Prover& prover, Random& random) {
  Trial trial{prover(plan), {}};
  const plan::Graph& graph = plan::GraphAt(plan, graph_index);
  const interpreter::Interpreter interpreter(plan, graph_index, RoundsFor(graph), random.Next());
  const auto look_hard = [&] {
    const std::vector<uint32_t> chosen = ChooseSuspects(graph, suspects, random);
    return interpreter.Search(3, graph.instructions.size() <= kHoldAll ? nullptr : &chosen);
  };
  if (trial.verdict.proved()) {
    trial.finding = look_hard();
    const bool small = graph.instructions.size() <= kHoldAll;
    if (trial.finding.outcome == interpreter::Outcome::kOk && small && random.OneIn(10)) {
      trial.finding = HoldInEveryRound(plan, graph_index, EveryInstruction(graph), 1, random);
    }
    if (trial.finding.outcome == interpreter::Outcome::kOk && graph_index != plan::kNone) {
      trial.finding = JudgeTogether(plan, random);
    }
    return trial;
  }
  const std::vector<uint32_t> few(suspects.begin(),
                                  suspects.begin() + std::min<size_t>(suspects.size(), 4));
  trial.finding = interpreter.Search(1, &few);
  if (trial.false_reject()) trial.finding = look_hard();
  if (trial.false_reject()) trial.finding = FollowUp(plan, graph_index, trial.verdict, random);
  return trial;
}

}  // namespace cgraph::mutants
