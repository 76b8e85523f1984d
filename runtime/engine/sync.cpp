#include "runtime/engine/sync.h"

#include <algorithm>

namespace cgraph::engine {
namespace {

constexpr uint32_t kNever = 0xffffffff;

class Reducer {
 public:
  explicit Reducer(const SyncQuery& query)
      : query_(query),
        graph_(*query.graph),
        signal_at_(graph_.events, kNever),
        needs_{std::vector<bool>(graph_.events, false),
               std::vector<bool>(graph_.waits.size(), false)} {
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      if (graph_.instructions[i].kind() == plan::Kind::signal) {
        signal_at_[graph_.instructions[i].subject()] = i;
      }
    }
  }

  SyncNeeds Reduce() {
    for (const std::vector<uint32_t>& strand : *query_.strands) KeepAcross(strand);
    FindSignals();
    if (query_.depth == 1) {
      DropImplied();
      // A wait at a strand's end may have been all that kept a signal, and so another wait.
      while (DropTrailing()) FindSignals();
    }
    return std::move(needs_);
  }

 private:
  template <typename Visit>
  void ForWaits(uint32_t instruction, Visit&& visit) {
    const plan::Instruction& wait = graph_.instructions[instruction];
    if (wait.kind() != plan::Kind::wait) return;
    for (uint32_t w = wait.first(); w < wait.first() + wait.inputs(); ++w) visit(w);
  }

  // Waits for other strands, unless the same strand has waited for the same or more already.
  void KeepAcross(const std::vector<uint32_t>& strand) {
    std::vector<uint32_t> waited(graph_.events, kNever);  // least lag so far
    for (uint32_t instruction : strand) {
      ForWaits(instruction, [&](uint32_t w) {
        const plan::Wait& wait = graph_.waits[w];
        const uint32_t signal = signal_at_[wait.event()];
        const bool same = (*query_.strand_of)[signal] == (*query_.strand_of)[instruction];
        if (same || wait.lag() >= query_.depth || waited[wait.event()] <= wait.lag()) return;
        waited[wait.event()] = wait.lag();
        needs_.wait[w] = true;
      });
    }
  }

  void FindSignals() {
    std::fill(needs_.signal.begin(), needs_.signal.end(), false);
    for (uint32_t w = 0; w < graph_.waits.size(); ++w) {
      if (needs_.wait[w]) needs_.signal[graph_.waits[w].event()] = true;
    }
  }

  // Signals before which their lane does nothing and waits for nothing: the submission says as much.
  void DropImplied() {
    std::vector<bool> implied(graph_.events, false);
    for (const plan::Range& lane : graph_.programs) {
      for (uint32_t i = lane.first(); i < lane.first() + lane.count(); ++i) {
        const plan::Instruction& instruction = graph_.instructions[i];
        bool waits = false;
        ForWaits(i, [&](uint32_t w) { waits |= graph_.waits[w].lag() == 0; });
        if (waits || (*query_.works)[i]) break;
        if (instruction.kind() == plan::Kind::signal) implied[instruction.subject()] = true;
      }
    }
    for (uint32_t w = 0; w < graph_.waits.size(); ++w) {
      if (implied[graph_.waits[w].event()]) needs_.wait[w] = false;
    }
    FindSignals();
  }

  // Waits that nothing follows: the round is finished only when every strand has finished it.
  bool DropTrailing() {
    bool dropped = false;
    for (const std::vector<uint32_t>& strand : *query_.strands) {
      for (size_t i = strand.size(); i-- > 0;) {
        const plan::Instruction& instruction = graph_.instructions[strand[i]];
        if ((*query_.works)[strand[i]]) break;
        if (instruction.kind() == plan::Kind::signal && needs_.signal[instruction.subject()]) break;
        ForWaits(strand[i], [&](uint32_t w) {
          dropped |= needs_.wait[w];
          needs_.wait[w] = false;
        });
      }
    }
    return dropped;
  }

  const SyncQuery& query_;
  const plan::Graph& graph_;
  std::vector<uint32_t> signal_at_;  // per event: its signal instruction
  SyncNeeds needs_;
};

}  // namespace

SyncNeeds FindSyncNeeds(const SyncQuery& query) { return Reducer(query).Reduce(); }

SyncNeeds KeepAllSync(const plan::Graph& graph) {
  return {std::vector<bool>(graph.events, true), std::vector<bool>(graph.waits.size(), true)};
}

}  // namespace cgraph::engine
