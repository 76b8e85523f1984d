// CallRanges: shows a profiler for which call of the plan a thread issues work. Names are made at
// load.
#ifndef CGRAPH_RUNTIME_EXECUTE_CALL_RANGES_H_
#define CGRAPH_RUNTIME_EXECUTE_CALL_RANGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/load/step.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

class CallRanges {
 public:
  // Returns null where no tool is attached.
  static std::unique_ptr<CallRanges> MakeIfAttached();

  // Called at load, for each graph in turn: the steps that will be issued.
  void AddGraph(const plan::Plan& plan, const plan::Graph& graph, const StepList& program);

  // Called before a step is issued: begins the range of its call, unless that has begun, and ends
  // the range of the call before. Waits and signals belong to the range in which they stand.
  void Enter(uint32_t graph, const Step& step);
  void Leave();

 private:
  CallRanges() = default;

  struct Names {
    std::vector<uint32_t> call_of;      // by instruction
    std::vector<std::string> calls;
    std::vector<std::string> segments;  // launched as one
  };

  std::vector<Names> names_;            // by graph
  const std::string* open_ = nullptr;   // the name of the range that has begun
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_CALL_RANGES_H_
