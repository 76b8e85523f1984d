// Places: the instances that `place` declarations make; devices, and the routes between them.
#ifndef CGRAPH_COMPILER_ELABORATE_PLACES_PLACES_H_
#define CGRAPH_COMPILER_ELABORATE_PLACES_PLACES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/elaborate/frame.h"
#include "compiler/elaborate/values/value.h"
#include "compiler/graph/graph.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// The places of one declaration: an instance per combination of indices, the last one fastest.
struct PlaceTable {
  std::vector<IntRange> indices;
  std::vector<graph::InstanceId> instances;
};

// Training: what `trained by` gives a place: for each tensor of its params the optimizer's slots.
struct Training {
  program::OptimizerId optimizer;
  Frame frame;                                         // the optimizer's parameters
  std::map<graph::StateId, std::vector<Value>> slots;  // by param: the layout of each slot
};

// InstanceDetails: the data of an instance that the graph's Instance does not need.
struct InstanceDetails {
  program::ActorId actor;
  program::PlaceId place;
  Frame frame;                // the actor's parameters
  std::vector<std::pair<std::string, int64_t>> indices;  // of its place
  std::vector<Value> layout;  // per state of the actor: a tree with StateLeaf leaves
  graph::StateId object;      // of native methods; else invalid
  std::map<std::vector<int64_t>, int64_t> slots = {};  // of the object, by key
  std::optional<Training> training = {};
};

struct Places {
  std::map<program::PlaceId, PlaceTable> tables;
  std::vector<InstanceDetails> instances;  // by InstanceId
  std::set<graph::StateId> params;         // the states that are params
};

void CreatePlaces(ElaborationContext& elaboration);

// Makes one state per tensor of the declared type: "w", "xs[3]", "pair.x". Returns a tree with
// StateLeaf leaves.
Value StateLayout(ElaborationContext& elaboration, program::TypeId type, const std::string& name,
                  Frame& frame, graph::InstanceId instance);

// Makes the slots of a place that is trained; `indices` has the place's.
void CreateTraining(ElaborationContext& elaboration, graph::InstanceId id, Frame& indices);

// Returns what `update` of the optimizer sees for one param before its parameters are bound.
Frame UpdateFrame(const ElaborationContext& elaboration, graph::InstanceId id,
                  graph::StateId param);

// Indexes places: `s[d, t]` is a place, `s[d, :]` and `s[d]` lists of the rest.
Value IndexPlaces(ElaborationContext& elaboration, program::PlaceId id,
                  const std::vector<Value>& subscripts, Range range);

// Each device that is named is made once.
graph::DeviceId InternDevice(ElaborationContext& elaboration, const LogicalDevice& device);

// The device that `on` names by a place or by itself.
std::optional<graph::DeviceId> DeviceOf(ElaborationContext& elaboration, const Value& value,
                                        Range range);

// ---- routes: what `via` says, and whether an operand can travel that way to where it is read

// The capacities of the named transports.
void EvaluateTransports(ElaborationContext& elaboration);

TransportRequest JourneyOf(const ElaborationContext& elaboration, const program::Route& route);

// Reports a use at `to` that the value's transport does not reach.
void CheckTransport(ElaborationContext& elaboration, const graph::Use& use, graph::DeviceId to);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_PLACES_PLACES_H_
