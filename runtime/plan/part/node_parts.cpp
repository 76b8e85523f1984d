#include "runtime/plan/node_parts.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/part/graph_parts.h"

namespace cgraph::plan {

namespace {

// `may_fail` is left out.
GraphTotals TotalsOf(const GraphIndex& index) {
  GraphTotals totals;
  for (const Instruction& at : index.graph().instructions) {
    totals.lag = std::max<uint32_t>(totals.lag, at.lag());
  }
  totals.collectives.assign(index.plan().communicators.size(), 0);
  for (const CollectivePart& part : index.collective_parts()) {
    if (part.member == 0) ++totals.collectives[part.communicator];
  }
  return totals;
}

}  // namespace

NodeParts::NodeParts(const Plan& plan) : plan_(plan) {
  for (const auto& graph : plan.graphs) {
    graphs_.push_back(std::make_unique<GraphParts>(plan, *graph));
  }
  if (plan.start) graphs_.push_back(std::make_unique<GraphParts>(plan, *plan.start));
  for (const auto& graph : graphs_) {
    totals_.push_back(TotalsOf(graph->index()));
    totals_.back().may_fail = graph->may_fail();
  }
}

NodeParts::~NodeParts() = default;

NodePart NodeParts::Of(uint32_t node) {
  SharedTables shared(plan_);
  auto part = std::make_unique<Plan>();
  part->format = plan_.format;
  part->compiler = plan_.compiler;
  part->source_digest = plan_.source_digest;
  part->files = plan_.files;
  part->lanes = plan_.lanes;
  part->communicators = plan_.communicators;
  part->members = plan_.members;
  part->workers = plan_.workers;
  part->topology = plan_.topology;
  for (const auto& device : plan_.devices) {
    part->devices.push_back(std::make_unique<Device>(*device));
  }
  for (const auto& actor : plan_.actors) {
    // Messages name the actors of others; their states are none of this node's.
    auto& kept = part->actors.emplace_back(std::make_unique<Actor>());
    kept->name = actor->name;
    kept->class_name = actor->class_name;
    kept->device = actor->device;
    kept->state_bytes = actor->state_bytes;
    kept->layout = actor->layout;
    if (plan_.devices[actor->device]->node != node) continue;
    for (const auto& state : actor->states) {
      kept->states.push_back(std::make_unique<State>(*state));
    }
  }
  for (size_t g = 0; g < plan_.graphs.size(); ++g) {
    part->graphs.push_back(graphs_[g]->Of(node, shared));
  }
  if (plan_.start) part->start = graphs_.back()->Of(node, shared);
  for (uint32_t name : shared.names.kept()) part->names.push_back(plan_.names[name]);
  for (uint32_t site : shared.sites.kept()) part->sites.push_back(plan_.sites[site]);
  for (uint32_t kernel : shared.kernels.kept()) {
    part->kernels.push_back(std::make_unique<Kernel>(*plan_.kernels[kernel]));
  }
  for (uint32_t file : shared.weights.kept()) {
    part->weights.push_back(std::make_unique<WeightFile>(*plan_.weights[file]));
  }
  return {std::move(part), shared.weights.kept()};
}

}  // namespace cgraph::plan
