// Places: the instances that `place` declarations make.
#ifndef CGRAPH_COMPILER_ELABORATE_PLACES_PLACES_H_
#define CGRAPH_COMPILER_ELABORATE_PLACES_PLACES_H_

#include <map>
#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// The places of one declaration: an instance per combination of indices, the last one fastest.
struct PlaceTable {
  std::vector<IntRange> indices;
  std::vector<graph::InstanceId> instances;
};

// What the graph's Instance does not need to know.
struct InstanceDetails {
  program::ActorId actor;
  Frame frame;                // the actor's parameters
  std::vector<std::pair<std::string, int64_t>> indices;  // of its place
  std::vector<Value> layout;  // per state of the actor: a tree with StateLeaf leaves
};

struct Places {
  std::map<program::PlaceId, PlaceTable> tables;
  std::vector<InstanceDetails> instances;  // by InstanceId
};

void CreatePlaces(ElaborationContext& elaboration);

// `s[d, t]` is a place, `s[d, :]` and `s[d]` lists of the rest.
Value IndexPlaces(ElaborationContext& elaboration, program::PlaceId id,
                  const std::vector<Value>& subscripts, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_PLACES_PLACES_H_
