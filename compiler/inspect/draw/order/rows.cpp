#include "compiler/inspect/draw/order/order.h"

#include <algorithm>

#include "compiler/inspect/graph_messages.h"

namespace cgraph {
namespace {

// Places operations in rows. It goes down all lanes at once: of the next operations of each it
// places those that wait for nothing that is not placed yet, together with all that happen at the
// same moment.
class Placer {
 public:
  Placer(const plan::GraphIndex& index, const Operations& operations,
         const std::vector<std::set<uint32_t>>& awaited)
      : graph_(index.graph()), operations_(operations), awaited_(awaited),
        met_(operations.all.size()), next_(operations.lanes.size(), 0),
        rows_(operations.all.size(), plan::kNone) {
    for (uint32_t c = 0; c < graph_.channels.size(); ++c) {
      const auto sends = index.sends(c), receives = index.receives(c);
      const bool together = graph_.channels[c].protocol() == plan::Protocol::rendezvous;
      for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
        const uint32_t send = operations.of[sends[j].instruction];
        const uint32_t receive = operations.of[receives[j].instruction];
        if (together) {
          Meet(send, receive);
        } else {
          awaited_[receive].insert(send);
        }
      }
    }
    for (const CollectiveParts parts : CollectivesOf(index)) {
      for (const plan::CollectivePart& part : parts) {
        Meet(operations.of[parts.front().instruction], operations.of[part.instruction]);
      }
    }
  }

  std::vector<uint32_t> Place() {
    for (size_t placed = 0; placed < rows_.size();) {
      size_t more = 0;
      for (uint32_t lane = 0; lane < next_.size(); ++lane) {
        more += PlaceFrom(lane);
      }
      placed += more > 0 ? more : ForceOne();
    }
    return std::move(rows_);
  }

 private:
  void Meet(uint32_t a, uint32_t b) {
    if (a != b) {
      met_[a].insert(b);
      met_[b].insert(a);
    }
  }

  bool IsNext(uint32_t id) const {
    const uint32_t lane = operations_.all[id].lane;
    return next_[lane] < operations_.lanes[lane].size() &&
           operations_.lanes[lane][next_[lane]] == id;
  }

  // Returns the operations that happen together with `id`, directly or through others.
  std::set<uint32_t> GroupOf(uint32_t id) const {
    std::set<uint32_t> group = {id};
    std::vector<uint32_t> open = {id};
    while (!open.empty()) {
      const uint32_t member = open.back();
      open.pop_back();
      for (uint32_t other : met_[member]) {
        if (group.insert(other).second) {
          open.push_back(other);
        }
      }
    }
    return group;
  }

  bool IsReady(uint32_t id) const {
    return IsNext(id) && std::all_of(awaited_[id].begin(), awaited_[id].end(), [&](uint32_t other) {
             return rows_[other] != plan::kNone;
           });
  }

  size_t PlaceFrom(uint32_t lane) {
    size_t placed = 0;
    while (next_[lane] < operations_.lanes[lane].size()) {
      const std::set<uint32_t> group = GroupOf(operations_.lanes[lane][next_[lane]]);
      if (!std::all_of(group.begin(), group.end(), [&](uint32_t id) { return IsReady(id); })) {
        break;
      }
      PlaceGroup(group);
      placed += group.size();
    }
    return placed;
  }

  void PlaceGroup(const std::set<uint32_t>& group) {
    uint32_t row = 0;
    for (uint32_t id : group) {
      const uint32_t lane = operations_.all[id].lane;
      if (next_[lane] > 0) {
        row = std::max(row, rows_[operations_.lanes[lane][next_[lane] - 1]] + 1);
      }
      for (uint32_t other : awaited_[id]) {
        row = std::max(row, rows_[other] == plan::kNone ? 0 : rows_[other] + 1);
      }
    }
    for (uint32_t id : group) {
      rows_[id] = row;
      ++next_[operations_.all[id].lane];
    }
  }

  // Called where nothing can go on: places the next operation that is first in the certificate all
  // the same.
  size_t ForceOne() {
    uint32_t first = plan::kNone;
    uint32_t first_order = plan::kNone;
    for (uint32_t lane = 0; lane < next_.size(); ++lane) {
      if (next_[lane] < operations_.lanes[lane].size()) {
        const uint32_t id = operations_.lanes[lane][next_[lane]];
        const uint32_t order =
            graph_.instructions[operations_.all[id].instructions.front()].certificate_position();
        if (first == plan::kNone || order < first_order) {
          first = id;
          first_order = order;
        }
      }
    }
    PlaceGroup({first});
    for (uint32_t other : met_[first]) {
      met_[other].erase(first);
    }
    met_[first].clear();
    return 1;
  }

  const plan::Graph& graph_;
  const Operations& operations_;
  std::vector<std::set<uint32_t>> awaited_;
  std::vector<std::set<uint32_t>> met_;  // by operation: those that it meets in one moment
  std::vector<size_t> next_;             // by lane: its first operation that is not placed
  std::vector<uint32_t> rows_;
};

}  // namespace

std::vector<std::set<uint32_t>> FindAwaited(const plan::Graph& graph,
                                            const Operations& operations) {
  std::vector<uint32_t> ended(graph.events, plan::kNone);  // by event: what its signal comes after
  for (const plan::Range& program : graph.programs) {
    uint32_t last = plan::kNone;
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      if (graph.instructions[i].kind() == plan::Kind::signal) {
        ended[graph.instructions[i].subject()] = last;
      } else if (operations.of[i] != plan::kNone) {
        last = operations.of[i];
      }
    }
  }
  std::vector<std::set<uint32_t>> awaited(operations.all.size());
  for (const plan::Range& program : graph.programs) {
    std::set<uint32_t> since;  // awaited since the last operation, by the next one
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& instruction = graph.instructions[i];
      for (uint32_t w = 0; instruction.kind() == plan::Kind::wait && w < instruction.inputs();
           ++w) {
        const plan::Wait& wait = graph.waits[instruction.first() + w];
        if (wait.lag() == 0 && ended[wait.event()] != plan::kNone) {
          since.insert(ended[wait.event()]);
        }
      }
      if (operations.of[i] != plan::kNone) {
        awaited[operations.of[i]].merge(since);
        since.clear();
      }
    }
  }
  return awaited;
}

std::vector<uint32_t> FindRows(const plan::GraphIndex& index, const Operations& operations,
                               const std::vector<std::set<uint32_t>>& awaited) {
  return Placer(index, operations, awaited).Place();
}

}  // namespace cgraph
