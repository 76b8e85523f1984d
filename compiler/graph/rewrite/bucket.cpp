// Buckets: small values that go from one device to another, each costing little more than the
// latency, become one message. Values are joined in two cases: one call makes them, or one call
// alone reads them and the last is made before the others would have arrived one after another.
//
// Neither can hold up anything for ever: the first are ready at one moment, and the reader of the
// second needs the last of them anyway. A message has at most the bytes that its link moves in its
// latency, so a reader that waits for bytes of others waits at most as long as for one message
// more.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/cost/formulas.h"
#include "compiler/graph/names.h"
#include "compiler/graph/rewrite/passes.h"
#include "compiler/graph/rewrite/timing.h"

namespace cgraph::graph {
namespace {

class Bucketer {
 public:
  Bucketer(const Module& module, const RewriteOptions& options, Graph& graph)
      : module_(module), options_(options), costs_(options.topology), graph_(graph) {}

  void Run(std::vector<Rewritten>& done) {
    FindEdges();
    if (edges_.size() < 2) return;
    JoinByMaker();
    // The order that a schedule's rules ask for is not known here. `auto` is compared with program
    // order, so it starts from the same messages.
    if (!graph_.rules || graph_.rules->automatic) JoinByReader();
    for (const Message& message : messages_) {
      if (message.values.size() >= 2) AddBucket(message, done);
    }
  }

 private:
  struct Way {
    DeviceId from, to;
    TransportKind transport;
    uint32_t capacity;
    auto operator<=>(const Way&) const = default;
  };
  // Edge: a value that goes one way, to one reader or several.
  struct Edge {
    ValueId value;
    Way way;
    CallId maker;
    CallId reader;  // of all that read it there; invalid where several do, or the caller
    Range range;    // of the first use
    uint64_t bytes = 0;
  };
  struct Message {
    Way way;
    CallId reader;  // as above, of all values
    std::vector<ValueId> values;
    std::vector<Range> ranges;
    uint64_t bytes = 0, ready = 0;
  };

  void FindEdges() {
    for (const Symbol& symbol : graph_.symbols) extents_.insert(RootOf(graph_, symbol.extent));
    for (const Op& op : graph_.ops) {
      for (size_t at = 0; at < op.operands.size(); ++at) {
        AddRead(op.operands[at], ReaderOf(op, at), op.call);
      }
    }
    for (const Port& port : graph_.outputs) AddRead(port.use, DeviceId(0), CallId());
  }

  void AddRead(const Use& use, DeviceId to, CallId reader) {
    const ValueId root = RootOf(graph_, use.value);
    const Value& owner = graph_.values[root];
    if (!owner.home.valid() || owner.storage == Value::kState || extents_.count(root) > 0) return;
    const auto message = MessageOf(module_, owner.home, to, use.via.transport);
    if (!message) return;
    const Type& type = graph_.values[use.value].type;
    for (const Dim& dim : type.dims) {
      if (dim.symbol.valid()) return;
    }
    const auto bytes = static_cast<uint64_t>(type.bytes());
    const Way way{owner.home, to, *message, use.via.capacity};
    if (bytes > cost::BytesPerLatency(LinkOf(way)) || !Reaches(way)) return;
    const auto [it, is_new] = found_.try_emplace({use.value, way}, edges_.size());
    if (is_new) {
      edges_.push_back({use.value, way, MakerOf(graph_, root), reader, use.range, bytes});
    } else if (edges_[it->second].reader != reader) {
      edges_[it->second].reader = CallId();
    }
  }

  cost::LinkRates LinkOf(const Way& way) const {
    return graph::LinkOf(module_, costs_, way.from, way.to, way.transport);
  }
  // Returns whether there is a direct way; a value without one may still go through a third device.
  bool Reaches(const Way& way) const {
    return costs_.Reaches(module_.devices[way.from], module_.devices[way.to]);
  }
  uint64_t Latency(const Way& way) const { return LinkOf(way).latency_ps; }
  uint64_t Time(const Way& way, uint64_t bytes) const {
    return cost::TransferPicoseconds(LinkOf(way), bytes);
  }
  // Returns whether values fit into one message that is small too.
  bool Fits(const Message& a, uint64_t bytes, size_t values) const {
    return a.bytes + bytes <= cost::BytesPerLatency(LinkOf(a.way)) &&
           a.values.size() + values <= kMaxOperands;
  }

  // Joins values by their maker, in the order of the first readers, which is the order of sending.
  void JoinByMaker() {
    std::map<std::tuple<CallId, Way>, size_t> open;
    for (const Edge& edge : edges_) {
      const auto [it, is_new] = open.try_emplace({edge.maker, edge.way}, messages_.size());
      if (is_new || Latency(edge.way) == 0 || !Fits(messages_[it->second], edge.bytes, 1)) {
        it->second = messages_.size();
        messages_.push_back({.way = edge.way, .reader = edge.reader});
      }
      Message& message = messages_[it->second];
      if (message.reader != edge.reader) message.reader = CallId();
      message.values.push_back(edge.value);
      message.ranges.push_back(edge.range);
      message.bytes += edge.bytes;
    }
  }

  void JoinByReader() {
    std::map<std::tuple<CallId, Way>, std::vector<size_t>> groups;
    for (size_t i = 0; i < messages_.size(); ++i) {
      if (!messages_[i].reader.valid() || Latency(messages_[i].way) == 0) continue;
      groups[{messages_[i].reader, messages_[i].way}].push_back(i);
    }
    std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
    if (groups.empty()) return;
    const Timing timing(module_, options_, graph_);
    for (Message& message : messages_) {
      const CallId maker = MakerOf(graph_, message.values[0]);
      message.ready = maker.valid() ? timing.End(maker) : 0;
    }
    for (auto& [key, group] : groups) JoinReady(group);
  }

  // Joins runs of values that would have to wait for each other's way. `apart`: when the last of a
  // run would arrive.
  void JoinReady(std::vector<size_t>& group) {
    std::stable_sort(group.begin(), group.end(), [&](size_t a, size_t b) {
      return messages_[a].ready < messages_[b].ready;
    });
    Message* run = nullptr;
    uint64_t apart = 0;
    for (size_t index : group) {
      Message& next = messages_[index];
      if (run != nullptr && Fits(*run, next.bytes, next.values.size())) {
        const uint64_t then = std::max(apart, next.ready) + Time(next.way, next.bytes);
        if (next.ready + Time(next.way, run->bytes + next.bytes) < then) {
          apart = then;
          Absorb(*run, next);
          continue;
        }
      }
      run = &next;
      apart = next.ready + Time(next.way, next.bytes);
    }
  }

  static void Absorb(Message& run, Message& next) {
    run.values.insert(run.values.end(), next.values.begin(), next.values.end());
    run.ranges.insert(run.ranges.end(), next.ranges.begin(), next.ranges.end());
    run.bytes += next.bytes;
    run.ready = next.ready;
    next.values.clear();
  }

  void AddBucket(const Message& message, std::vector<Rewritten>& done) {
    const Way& way = message.way;
    const TransportRequest via{.transport = way.transport, .capacity = way.capacity};
    graph_.buckets.push_back({way.to, via, message.values});
    done.push_back({.places = message.ranges,
                    .way = fmt::format("{} to {}", DeviceName(module_.devices[way.from]),
                                       DeviceName(module_.devices[way.to]))});
  }

  const Module& module_;
  const RewriteOptions& options_;
  const cost::Costs costs_;
  Graph& graph_;
  std::set<ValueId> extents_;  // travel ahead of what they are extents of
  std::map<std::tuple<ValueId, Way>, size_t> found_;
  std::vector<Edge> edges_;  // in the order of their first readers
  std::vector<Message> messages_;
};

}  // namespace

void RewriteBucket(const Module& module, const RewriteOptions& options, Graph& graph,
                   std::vector<Rewritten>& done) {
  if (!options.memory_is_limited) Bucketer(module, options, graph).Run(done);
}

}  // namespace cgraph::graph
