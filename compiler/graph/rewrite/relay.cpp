// Relays: a value goes by way of a third gpu where the topology says that the direct way is slower.
// On a machine in which some pairs of gpus have no link, bytes would be staged in a host's memory.
// Only gpus on which the program has something anyway are used, and only if a tenth of the time is
// saved.
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "compiler/cost/costs.h"
#include "compiler/graph/names.h"
#include "compiler/graph/rewrite/passes.h"

namespace cgraph::graph {
namespace {

// The most gpus that are tried as relays, so that a program on thousands takes no longer than one
// on few.
constexpr size_t kMostRelays = 64;

class Relayer {
 public:
  Relayer(const Module& module, const cost::Costs& costs, Graph& graph)
      : module_(module), costs_(costs), graph_(graph) {
    for (DeviceId device : module.devices.Ids()) {
      if (IsGpu(device) && gpus_.size() < kMostRelays) gpus_.push_back(device);
    }
    for (const Bucket& bucket : graph.buckets) {
      for (ValueId value : bucket.values) bucketed_.emplace(value, bucket.to);
    }
  }

  void Run(std::vector<Rewritten>& done) {
    for (Op& op : graph_.ops) {
      if (op.collective) continue;
      for (Use& use : op.operands) {
        if (!Travels(use, op.device)) continue;
        const DeviceId from = graph_.values[RootOf(graph_, use.value)].home;
        use.relay = Best(from, op.device, graph_.values[use.value].type.bytes());
        if (!use.relay.valid() || !reported_.emplace(use.value, op.device).second) continue;
        done.push_back({.places = {graph_.values[use.value].range, use.range},
                        .way = fmt::format("{} to {} through {}",
                                           DeviceName(module_.devices[from]),
                                           DeviceName(module_.devices[op.device]),
                                           DeviceName(module_.devices[use.relay]))});
      }
    }
  }

 private:
  bool IsGpu(DeviceId device) const { return module_.devices[device].kind == DeviceKind::kGpu; }
  uint32_t NodeOf(DeviceId device) const { return module_.devices[device].node; }

  // Returns whether a value goes from gpu to gpu of one machine, alone, and by no transport that
  // was asked for.
  bool Travels(const Use& use, DeviceId to) const {
    const Value& root = graph_.values[RootOf(graph_, use.value)];
    return root.storage != Value::kConstant && root.home.valid() && root.home != to &&
           IsGpu(root.home) && IsGpu(to) && NodeOf(root.home) == NodeOf(to) &&
           use.via.transport == TransportKind::kAuto && bucketed_.count({use.value, to}) == 0;
  }

  // Returns the best relay, of equally fast ones the first; invalid: the direct way is best.
  DeviceId Best(DeviceId from, DeviceId to, int64_t bytes) {
    const auto [known, is_new] = best_.try_emplace({from, to, bytes});
    if (!is_new) return known->second;
    const std::optional<uint64_t> direct = Price(from, to, bytes);
    uint64_t least = direct ? *direct - *direct / 10 : UINT64_MAX;
    for (DeviceId relay : gpus_) {
      if (relay == from || relay == to || NodeOf(relay) != NodeOf(to)) continue;
      const std::optional<uint64_t> first = Price(from, relay, bytes);
      const std::optional<uint64_t> second = Price(relay, to, bytes);
      if (!first || !second || *first + *second >= least) continue;
      least = *first + *second;
      known->second = relay;
    }
    return known->second;
  }
  // Returns the time of the way; nothing where no way leads there.
  std::optional<uint64_t> Price(DeviceId from, DeviceId to, int64_t bytes) const {
    const LogicalDevice source = module_.devices[from];
    const LogicalDevice target = module_.devices[to];
    if (!costs_.Reaches(source, target)) return std::nullopt;
    return costs_.Message(source, target, TransportKind::kNccl, bytes).ps;
  }

  const Module& module_;
  const cost::Costs& costs_;
  Graph& graph_;
  std::vector<DeviceId> gpus_;
  std::set<std::pair<ValueId, DeviceId>> bucketed_, reported_;
  std::map<std::tuple<DeviceId, DeviceId, int64_t>, DeviceId> best_;
};

}  // namespace

void RewriteRelay(const Module& module, const RewriteOptions& options, Graph& graph,
                  std::vector<Rewritten>& done) {
  const cost::Costs costs(options.topology);
  if (costs.topology().machine && !options.memory_is_limited) {
    Relayer(module, costs, graph).Run(done);
  }
}

}  // namespace cgraph::graph
