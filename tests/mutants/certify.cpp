#include "tests/mutants/certify.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace cgraph::mutants {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

// Finds a certificate. Instructions that share a position are one unit; edges go from unit to unit.
class Certifier {
 public:
  explicit Certifier(plan::Graph& graph) : graph_(graph) {
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      unit_.push_back(i);
    }
  }

  void Certify() {
    AddLanes();
    AddEvents();
    AddMeetings();
    const std::vector<uint32_t> positions = Sort();
    if (!positions.empty()) {
      for (uint32_t i = 0; i < positions.size(); ++i) {
        graph_.instructions[i].mutate_certificate_position(positions[i]);
      }
    }
  }

 private:
  uint32_t Find(uint32_t i) {
    while (unit_[i] != i) {
      i = unit_[i] = unit_[unit_[i]];
    }
    return i;
  }
  void Join(uint32_t a, uint32_t b) { unit_[Find(std::max(a, b))] = Find(std::min(a, b)); }

  void AddLanes() {
    for (const plan::Range& program : graph_.programs) {
      for (uint32_t i = program.first(); i + 1 < program.first() + program.count(); ++i) {
        edges_.push_back({i, i + 1});
      }
    }
  }

  // Adds waits. A signal from outside that a capture waits for holds up all of it.
  void AddEvents() {
    std::vector<uint32_t> signals(graph_.events, plan::kNone);
    std::map<uint32_t, std::vector<uint32_t>> captures;
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const plan::Instruction& instruction = graph_.instructions[i];
      if (instruction.kind() == plan::Kind::signal && instruction.subject() < graph_.events) {
        signals[instruction.subject()] = i;
      }
      captures[instruction.capture_id()].push_back(i);
    }
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const plan::Instruction& instruction = graph_.instructions[i];
      for (uint32_t w = 0; instruction.kind() == plan::Kind::wait && w < instruction.inputs();
           ++w) {
        const plan::Wait& wait = graph_.waits[instruction.first() + w];
        if (wait.lag() > 0 || wait.event() >= graph_.events ||
            signals[wait.event()] == plan::kNone) {
          continue;
        }
        const uint32_t signal = signals[wait.event()];
        edges_.push_back({signal, i});
        const uint32_t capture = instruction.capture_id();
        if (capture != 0 && graph_.instructions[signal].capture_id() != capture) {
          for (uint32_t inside : captures[capture]) {
            edges_.push_back({signal, inside});
          }
        }
      }
    }
    AddCaptures(captures);
  }

  void AddCaptures(const std::map<uint32_t, std::vector<uint32_t>>& captures) {
    for (const plan::Range& program : graph_.programs) {
      for (uint32_t i = program.first(); i + 1 < program.first() + program.count(); ++i) {
        const uint32_t here = graph_.instructions[i].capture_id();
        const uint32_t next = graph_.instructions[i + 1].capture_id();
        if (here == next) {
          continue;
        }
        for (uint32_t before : here == 0 ? std::vector{i} : captures.at(here)) {
          for (uint32_t after : next == 0 ? std::vector{i + 1} : captures.at(next)) {
            edges_.push_back({before, after});
          }
        }
      }
    }
  }

  void AddMeetings() {
    std::map<uint32_t, std::vector<uint32_t>> sends, receives;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> collectives;  // communicator, turn
    for (const plan::Range& program : graph_.programs) {
      std::map<uint32_t, uint32_t> turns;
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        const plan::Instruction& comm = graph_.instructions[i];
        for (uint32_t p = 0; comm.kind() == plan::Kind::comm && p < comm.inputs(); ++p) {
          const plan::CommPart& part = graph_.parts[comm.first() + p];
          if (part.part() == plan::Part::collective) {
            const uint32_t group = graph_.collectives[part.subject()]->communicator;
            Join(collectives.insert({{group, turns[group]++}, i}).first->second, i);
          } else {
            (part.part() == plan::Part::send ? sends : receives)[part.subject()].push_back(i);
          }
        }
      }
    }
    for (const auto& [channel, from] : sends) {
      AddChannel(graph_.channels[channel], from, receives[channel]);
    }
  }

  void AddChannel(const plan::Channel& channel, const std::vector<uint32_t>& sends,
                  const std::vector<uint32_t>& receives) {
    const uint64_t capacity =
        channel.protocol() == plan::Protocol::buffered ? channel.capacity() : 0;
    for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
      if (capacity == 0) {
        Join(sends[j], receives[j]);
        continue;
      }
      edges_.push_back({sends[j], receives[j]});
      if (j >= capacity) {
        edges_.push_back({receives[j - capacity], sends[j]});
      }
    }
  }

  // Returns positions by instruction, spread out where they need not touch; empty when there is a
  // cycle.
  std::vector<uint32_t> Sort() {
    std::vector<std::vector<uint32_t>> after(unit_.size());
    std::vector<uint32_t> open(unit_.size(), 0);
    for (const auto& [from, to] : edges_) {
      if (Find(from) != Find(to)) {
        after[Find(from)].push_back(Find(to));
        ++open[Find(to)];
      }
    }
    const auto later = [&](uint32_t a, uint32_t b) {
      const auto key = [&](uint32_t i) {
        return std::pair(graph_.instructions[i].certificate_position(), i);
      };
      return key(a) > key(b);
    };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> ready(later);
    uint32_t units = 0;
    for (uint32_t i = 0; i < unit_.size(); ++i) {
      units += Find(i) == i;
      if (Find(i) == i && open[i] == 0) {
        ready.push(i);
      }
    }
    std::vector<uint32_t> position(unit_.size(), 0);
    uint32_t next = 0;
    for (; !ready.empty(); ++next) {
      const uint32_t unit = ready.top();
      ready.pop();
      position[unit] = next;
      for (uint32_t to : after[unit]) {
        if (--open[to] == 0) {
          ready.push(to);
        }
      }
    }
    if (next != units) {
      return {};
    }
    for (uint32_t i = 0; i < unit_.size(); ++i) {
      position[i] = position[Find(i)];
    }
    return position;
  }

  plan::Graph& graph_;
  std::vector<uint32_t> unit_;
  Pairs edges_;
};

}  // namespace

void Certify(plan::Graph& graph) { Certifier(graph).Certify(); }

}  // namespace cgraph::mutants
