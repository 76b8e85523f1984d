// Broadcast: a value that one call makes and several devices read is sent to them by one broadcast
// instead of by messages one after another.
//
// A broadcast binds the readers together: all take part when it happens. So it is made only for
// three readers or more that go by one lane of the sender, and only if the longest of all chains
// from the maker through a reader to the end becomes shorter, by the cost model. Readers that come
// late anyway, such as later stages of a pipeline, gain nothing, and keep their messages.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/base/kernels.h"
#include "compiler/base/limits.h"
#include "compiler/cost/formulas.h"
#include "compiler/graph/names.h"
#include "compiler/graph/rewrite/passes.h"
#include "compiler/graph/rewrite/timing.h"

namespace cgraph::graph {
namespace {

// The fewest readers: two messages are over before two readers could have met.
constexpr size_t kFewestReaders = 3;

class Broadcaster {
 public:
  Broadcaster(const Module& module, const RewriteOptions& options, Graph& graph)
      : module_(module), options_(options), costs_(options.topology), graph_(graph) {}

  void Run(std::vector<Rewritten>& done) {
    FindReaders();
    GroupValues();
    if (groups_.empty()) return;
    const Timing timing(module_, options_, graph_);
    std::vector<Insertion> insertions;
    for (const auto& [key, values] : groups_) {
      if (!Gains(timing, key, values)) continue;
      const Readers& readers = readers_.at({values[0], key.transport});
      Rewritten& report = done.emplace_back();
      report.places.push_back(graph_.calls[key.maker].site);
      for (const Reader& reader : readers) report.places.push_back(reader.range);
      report.way = DeviceName(module_.devices[key.from]) + " to";
      for (const Reader& reader : readers) {
        report.way += " " + DeviceName(module_.devices[reader.device]);
      }
      insertions.push_back(MakeBroadcast(key, values));
    }
    if (insertions.empty()) return;
    ReplaceUses();
    Insert(graph_, std::move(insertions));
  }

 private:
  struct Reader {
    DeviceId device;
    CallId call;  // the first one there
    Range range;
  };
  using Readers = std::vector<Reader>;  // in the order of the first calls
  struct Key {
    CallId maker;
    DeviceId from;
    TransportKind transport;
    std::vector<DeviceId> to;  // sorted
    auto operator<=>(const Key&) const = default;
  };

  // Returns the transport by which a value is read away from home, in a message whose capacity
  // nobody has asked for.
  std::optional<TransportKind> MessageTo(const Op& op, const Use& use) const {
    const Value& root = graph_.values[RootOf(graph_, use.value)];
    if (op.collective || !root.home.valid() || use.via.capacity != 0) return std::nullopt;
    return MessageOf(module_, root.home, op.device, use.via.transport);
  }

  void FindReaders() {
    std::set<ValueId> extents;  // travel ahead of what they are extents of
    for (const Symbol& symbol : graph_.symbols) extents.insert(RootOf(graph_, symbol.extent));
    std::set<std::tuple<ValueId, TransportKind, DeviceId>> seen;
    for (const Op& op : graph_.ops) {
      for (const Use& use : op.operands) {
        const auto message = MessageTo(op, use);
        const ValueId root = RootOf(graph_, use.value);
        if (!message || graph_.values[root].storage != Value::kTemporary) continue;
        if (extents.count(root) > 0 || !IsStatic(graph_.values[use.value].type)) continue;
        if (!seen.insert({use.value, *message, op.device}).second) continue;
        readers_[{use.value, *message}].push_back({op.device, op.call, use.range});
      }
    }
  }
  static bool IsStatic(const Type& type) {
    return std::none_of(type.dims.begin(), type.dims.end(),
                        [](const Dim& dim) { return dim.symbol.valid(); });
  }

  // Groups the values that one call makes for the same devices.
  void GroupValues() {
    for (const auto& [way, readers] : readers_) {
      if (readers.size() < kFewestReaders) continue;
      const auto& [value, transport] = way;
      Key key{MakerOf(graph_, value), graph_.values[value].home, transport, {}};
      for (const Reader& reader : readers) key.to.push_back(reader.device);
      std::sort(key.to.begin(), key.to.end());
      if (IsFused(key.maker)) continue;
      groups_[key].push_back(value);
    }
    std::erase_if(groups_, [](const auto& group) {
      const auto& [key, values] = group;
      return values.size() * (key.to.size() + 1) > kMaxOperands;
    });
  }
  // Returns whether a call is fused with the call that is to run right after it.
  bool IsFused(CallId call) const {
    return graph_.rules && graph_.rules->calls[call.index].fused.valid();
  }

  bool Gains(const Timing& timing, const Key& key, const std::vector<ValueId>& values) const {
    uint64_t bytes = 0;
    for (ValueId value : values) bytes += graph_.values[value].type.bytes();
    const uint64_t made = timing.End(key.maker);
    const uint64_t together = made + BroadcastTime(key, bytes);
    uint64_t arrival = made, by_messages = 0, by_broadcast = 0;
    for (const Reader& reader : readers_.at({values[0], key.transport})) {
      arrival += cost::TransferPicoseconds(
          LinkOf(module_, costs_, key.from, reader.device, key.transport), bytes);
      const uint64_t ready = timing.StartWithout(reader.call, key.maker);
      const uint64_t remaining = timing.Remaining(reader.call);
      by_messages = std::max(by_messages, std::max(arrival, ready) + remaining);
      by_broadcast = std::max(by_broadcast, std::max(together, ready) + remaining);
    }
    return by_broadcast < by_messages;
  }

  uint64_t BroadcastTime(const Key& key, uint64_t bytes) const {
    std::vector<LogicalDevice> participants = {module_.devices[key.from]};
    for (DeviceId to : key.to) participants.push_back(module_.devices[to]);
    return costs_.Collective(CollectiveKind::kBroadcast, participants,
                             key.transport, bytes).ps;
  }

  Insertion MakeBroadcast(const Key& key, const std::vector<ValueId>& values) {
    Collective collective{.kind = CollectiveKind::kBroadcast, .reduction = {}};
    collective.participants = key.to;
    const auto root = std::lower_bound(key.to.begin(), key.to.end(), key.from);
    collective.root = static_cast<uint32_t>(root - key.to.begin());
    collective.participants.insert(collective.participants.begin() + collective.root, key.from);
    collective.via = key.transport;
    Op op;
    op.name = TraitsOf(collective.kind).name;
    op.kernel = kCollectiveKernel;
    op.device = key.from;
    op.range = graph_.values[values[0]].range;
    for (ValueId value : values) {
      op.operands.push_back({.value = value, .via = {}, .range = graph_.values[value].range});
    }
    for (DeviceId device : collective.participants) {
      for (ValueId value : values) {
        const Value& given = graph_.values[value];
        const ValueId result = graph_.values.Add(
            {.name = given.name, .type = given.type, .home = device, .range = given.range});
        op.results.push_back(result);
        arrived_[{value, key.transport, device}] = result;
      }
    }
    op.collective = std::move(collective);
    Call call;
    call.method = op.name;
    call.site = graph_.calls[key.maker].site;
    call.device = key.from;
    return {key.maker, std::move(op), std::move(call)};
  }

  void ReplaceUses() {
    for (Op& op : graph_.ops) {
      for (Use& use : op.operands) {
        const auto message = MessageTo(op, use);
        if (!message) continue;
        const auto arrived = arrived_.find({use.value, *message, op.device});
        if (arrived != arrived_.end()) use = {arrived->second, {}, use.range};
      }
    }
  }

  const Module& module_;
  const RewriteOptions& options_;
  const cost::Costs costs_;
  Graph& graph_;
  std::map<std::pair<ValueId, TransportKind>, Readers> readers_;
  std::map<Key, std::vector<ValueId>> groups_;
  std::map<std::tuple<ValueId, TransportKind, DeviceId>, ValueId> arrived_;
};

}  // namespace

void RewriteBroadcast(const Module& module, const RewriteOptions& options, Graph& graph,
                      std::vector<Rewritten>& done) {
  if (options.memory_is_limited || !options.one_lane) return;
  Broadcaster(module, options, graph).Run(done);
}

}  // namespace cgraph::graph
