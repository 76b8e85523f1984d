// ElaborationContext: the state of one elaboration: the program that was read, what was made so
// far, and where the evaluation stands. Every function of this folder that is not about one value
// alone takes it first.
//
// A function that fails has reported why and returns Poison, nothing or false; a poisoned value is
// never reported again.
#ifndef CGRAPH_COMPILER_ELABORATE_ELABORATION_CONTEXT_H_
#define CGRAPH_COMPILER_ELABORATE_ELABORATION_CONTEXT_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/builder.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/elaborate/frame.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/values/quotients.h"

namespace cgraph::elaborate {

struct DerivedCall;
struct MethodScope;
struct Tape;

// ArithmeticMode: how numbers in dimensions and costs are computed.
enum class ArithmeticMode {
  kNormal,
  kDims,  // division must be exact; a bounded dimension is no number
  kCost,  // at the bound
};

// Backtrace: the iterations and the calls that surround the evaluation, for notes and for
// Call.indices.
struct Backtrace {
  struct Loop {
    const std::string* name;
    const Frame* frame;
    program::LocalId local;
  };
  struct Call {
    const Frame* frame;
    Range site;
    const program::Op* op = nullptr;  // that is called, rather than a body that is run
  };
  std::vector<Loop> loops;
  std::vector<Call> calls;
};

// SuspectedCopies: params of a gradient that look like copies of one variable; by pairs.
struct SuspectedCopies {
  Range range;
  std::vector<std::pair<graph::StateId, graph::StateId>> pairs = {};
};

// CalledKinds: the kinds of a schedule that are called, over all graphs that use it.
struct CalledKinds {
  int64_t graphs = 0;
  const program::Using* use = nullptr;  // the first one
  std::vector<bool> kinds;              // by KindId
  std::set<std::string> methods;        // that are called at all
};

struct ElaborationContext {
  ElaborationContext(const program::Program& program, const ElaborateOptions& options,
                     Diagnostics& diagnostics)
      : program(program), options(options), diagnostics(diagnostics) {}

  const program::Program& program;
  const ElaborateOptions& options;
  Diagnostics& diagnostics;

  // The results so far.
  graph::Module module;
  std::vector<std::optional<Value>> consts;
  std::vector<uint32_t> capacities;  // by TransportId; 0: the usual one
  Places places;
  std::map<LogicalDevice, graph::DeviceId> devices;
  std::set<program::MethodId> called;
  std::map<program::ScheduleId, CalledKinds> called_kinds;

  size_t errors_before_graph = 0;  // found before the graph in work began
  // The builder that ops go to; none while consts and places are evaluated.
  GraphBuilder* builder = nullptr;
  bool in_start = false;
  MethodScope* method = nullptr;
  // Set in the graphs of a program that asks for gradients; else null.
  Tape* tape = nullptr;
  const DerivedCall* derived = nullptr;  // while a derived call is being made
  bool halved = false;        // derived calls of methods are two: see graph::Call::half
  // In `of:` of `grad`, where `stage[0].w` is a param: the params that it reads.
  std::set<graph::StateId>* named_params = nullptr;
  // By StateId, equal where what states begin with is; empty: nothing has asked yet.
  std::vector<std::string> beginnings;
  std::vector<SuspectedCopies> suspects;
  // Calls of objects in the graph so far that have keys of their own: see program::Effect.
  std::map<graph::InstanceId, int64_t> object_calls;
  std::set<graph::InstanceId> updated;         // by any graph
  std::optional<graph::DeviceId> on;  // by the nearest `on`
  int64_t ops_placed = 0;             // by any `on` so far
  std::vector<graph::CallId> after;   // by all `after`s around

  // True for a method that no graph calls: a dimension that is a symbol is unknown, not dynamic.
  bool speculative = false;

  ArithmeticMode arithmetic = ArithmeticMode::kNormal;
  RoundedQuotients rounded;
  Backtrace backtrace;
  Budget budget;
};

// Makes the things that graphs and methods are built on: devices, consts, transports, places.
void MakePlaces(ElaborationContext& elaboration);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_ELABORATION_CONTEXT_H_
