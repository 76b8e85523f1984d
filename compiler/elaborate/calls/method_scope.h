// MethodScope: a method call (or a state's initialiser) in progress: its ops get one Call, its
// writes wait.
//
// After its last op come copies of the values that leave the method but were not made by it (state,
// arguments: a result lives at its actor and never changes under its readers), and then the copies
// that commit the state. So nothing that may fail follows a write, and a failed call has changed
// nothing.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_METHOD_SCOPE_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_METHOD_SCOPE_H_

#include <map>
#include <string>
#include <vector>

#include "compiler/elaborate/values/value.h"
#include "compiler/graph/graph.h"
#include "llvm/ADT/MapVector.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// A map that is iterated in order of insertion.
template <typename Key, typename T>
using OrderedMap = llvm::MapVector<Key, T, std::map<Key, unsigned>>;

struct MethodScope {
  graph::Call call;
  graph::CallId call_id;                       // invalid until the first op
  OrderedMap<graph::StateId, Tensor> pending;  // in the order of their first assignment
  // What the method's statements have written, in their order: the last one is pending.
  struct Write {
    graph::ValueId value;
    Range range;
  };
  std::map<graph::StateId, std::vector<Write>> writes;
  size_t first_node = 0;                       // of the tape, within the method
};

// DerivedCall: the call whose gradients are being computed; derived calls have its indices.
struct DerivedCall {
  graph::CallId forward;
  std::vector<int64_t> indices;
  std::vector<std::string> index_names;
};

// Makes a call with the loop indices and the `after`s that surround it.
graph::Call MakeCall(ElaborationContext& elaboration, graph::InstanceId instance,
                     std::string method, graph::DeviceId device, Range site);

graph::CallId CallOf(ElaborationContext& elaboration, MethodScope& scope);

// Returns the value that leaves the method, copied where the method did not make it. Commits the
// state.
Value LeaveMethod(ElaborationContext& elaboration, MethodScope& scope, const Value& result);

void CommitStates(ElaborationContext& elaboration, MethodScope& scope);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_METHOD_SCOPE_H_
