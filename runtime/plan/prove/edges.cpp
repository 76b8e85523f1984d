#include "runtime/plan/prove/edges.h"

#include <algorithm>

#include "runtime/plan/kinds.h"

namespace cgraph::plan::prove {

ConstraintGraph::ConstraintGraph(const GraphIndex& index, std::optional<uint32_t> capacity)
    : index_(index), graph_(index.graph()), capacity_(capacity) {
  const uint32_t count = static_cast<uint32_t>(graph_.instructions.size());
  start_.resize(count);
  instruction_.reserve(count + graph_.parts.size() + 2);
  edges_.reserve(2 * count + graph_.waits.size() + 3 * graph_.parts.size());
  for (uint32_t i = 0; i < count; ++i) instruction_.push_back(i);
  for (uint32_t i = 0; i < count; ++i) {
    const bool comm = graph_.instructions[i].kind() == Kind::comm;
    start_[i] = comm ? AddNode(i) : i;
    if (comm) Add(start_[i], i, 0, Why::kRuns);
  }
  FindCaptures();
  AddLanes();
  AddEvents();
  for (uint32_t i = 0; i < graph_.channels.size(); ++i) AddChannel(i);
  AddCollectives();
}

uint32_t ConstraintGraph::Capacity(uint32_t channel) const {
  return capacity_.value_or(graph_.channels[channel].capacity());
}

const ConstraintGraph::Capture* ConstraintGraph::CaptureOf(uint32_t instruction) const {
  const uint32_t number = graph_.instructions[instruction].capture_id();
  if (number == 0) return nullptr;
  return &*std::lower_bound(captures_.begin(), captures_.end(), number,
                            [](const Capture& a, uint32_t n) { return a.number < n; });
}

void ConstraintGraph::FindCaptures() {
  std::vector<uint32_t> numbers;
  for (const Instruction& instruction : graph_.instructions) {
    if (instruction.capture_id() != 0) numbers.push_back(instruction.capture_id());
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (uint32_t number : numbers) {
    const uint32_t launch = AddNode(kNone);
    captures_.push_back({number, launch, AddNode(kNone)});
  }
  if (captures_.empty()) return;
  for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
    const Capture* capture = CaptureOf(i);
    if (capture == nullptr) continue;
    Add(capture->launch, start(i), 0, Why::kRuns);
    Add(done(i), capture->end, 0, Why::kRuns);
  }
}

// Adds edges from each instruction to the next of its lane, and from the last of a round to the
// first of the next round. Where the border of a capture lies between two instructions, the whole
// capture stands for its instruction.
void ConstraintGraph::AddLanes() {
  for (const Range& program : graph_.programs) {
    for (uint32_t k = 0; k < program.count(); ++k) {
      const bool wraps = k + 1 == program.count();
      const uint32_t before = program.first() + k;
      const uint32_t next = wraps ? program.first() : before + 1;
      const Capture* left = CaptureOf(before);
      const Capture* right = CaptureOf(next);
      if (left == right && !wraps) left = right = nullptr;
      const bool border = left != nullptr || right != nullptr;
      Add(left == nullptr ? done(before) : left->end,
          right == nullptr ? start(next) : right->launch, wraps ? 1 : 0,
          border ? Why::kCapture : Why::kLane);
    }
  }
}

void ConstraintGraph::AddEvents() {
  std::vector<uint32_t> signal(graph_.events, kNone);
  for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
    const Instruction& instruction = graph_.instructions[i];
    if (instruction.kind() == Kind::signal) signal[instruction.subject()] = i;
  }
  for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
    const Instruction& instruction = graph_.instructions[i];
    if (instruction.kind() != Kind::wait) continue;
    for (uint32_t w = instruction.first(); w < instruction.first() + instruction.inputs(); ++w) {
      const Wait& wait = graph_.waits[w];
      const uint32_t from = signal[wait.event()];
      Add(done(from), done(i), wait.lag(), Why::kEvent);
      const Capture* capture = CaptureOf(i);
      if (capture != nullptr && capture != CaptureOf(from)) {
        Add(done(from), capture->launch, wait.lag(), Why::kCapture);
      }
    }
  }
}

// With m messages a round, the j-th send finds room once receive j - k is in progress; for j < k
// that is a receive of an earlier round.
void ConstraintGraph::AddChannel(uint32_t channel) {
  const auto sends = index_.sends(channel);
  const auto receives = index_.receives(channel);
  const int64_t messages = static_cast<int64_t>(sends.size());
  const int64_t capacity = Capacity(channel);
  for (int64_t j = 0; j < messages; ++j) {
    const uint32_t send = sends[j].instruction;
    const uint32_t receive = receives[j].instruction;
    if (send != receive) {
      Add(start(send), done(receive), 0, capacity == 0 ? Why::kRendezvous : Why::kTransfer);
    }
    const int64_t rounds = j >= capacity ? 0 : (capacity - j + messages - 1) / messages;
    const uint32_t room = receives[j - capacity + rounds * messages].instruction;
    if (room != send) {
      Add(start(room), done(send), static_cast<uint32_t>(rounds),
          capacity == 0 ? Why::kRendezvous : Why::kCapacity, true);
    }
  }
}

void ConstraintGraph::AddCollectives() {
  const auto parts = index_.collective_parts();
  for (size_t first = 0; first < parts.size();) {
    const size_t members = index_.plan().communicators[parts[first].communicator].members();
    AddCollective(parts.subspan(first, members));
    first += members;
  }
}

// Every member waits for every member to start. Where only the root sends or receives, the other
// edges are credit.
void ConstraintGraph::AddCollective(std::span<const CollectivePart> parts) {
  if (parts.size() < 2) return;
  const Collective& collective = *graph_.collectives[graph_.parts[parts[0].part].subject()];
  const CollectiveTraits& kind = *FindTraits(collective);
  const bool from_root = kind.from == CollectiveTraits::kRoot;
  const bool to_root = kind.to == CollectiveTraits::kRoot;
  const bool rooted = from_root || to_root;
  const uint32_t hub = AddNode(kNone);
  for (const CollectivePart& part : parts) {
    Add(start(part.instruction), hub, 0, Why::kCollective, rooted);
    Add(hub, done(part.instruction), 0, Why::kCollective, rooted);
    const uint32_t root = rooted ? parts[collective.root].instruction : part.instruction;
    if (root == part.instruction) continue;
    Add(start(from_root ? root : part.instruction), done(from_root ? part.instruction : root), 0,
        Why::kCollective);
  }
}

Lists<uint32_t> EdgesBy(uint32_t Edge::*end, uint32_t nodes, const std::vector<Edge>& edges) {
  return Lists<uint32_t>(nodes, [&](auto add) {
    for (uint32_t i = 0; i < edges.size(); ++i) add(edges[i].*end, i);
  });
}

}  // namespace cgraph::plan::prove
