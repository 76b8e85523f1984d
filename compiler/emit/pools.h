// What all graphs of a plan share and name by number: names, sites, kernels, weight files.
#ifndef CGRAPH_COMPILER_EMIT_POOLS_H_
#define CGRAPH_COMPILER_EMIT_POOLS_H_

#include <map>
#include <string>
#include <tuple>

#include "compiler/base/source.h"
#include "compiler/graph/graph.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {

plan::DType PlanDType(DType dtype);

// Each adds to the plan what is not there yet, and gives its index.
class Pools {
 public:
  // `sources` may be null: then there are no sites.
  Pools(plan::Plan& plan, const Sources* sources);

  const Sources* sources() const { return sources_; }
  uint32_t Name(const std::string& name);
  uint32_t Site(const Range& range);
  uint32_t Kernel(const graph::Op& op);
  uint32_t Weight(const graph::Op& load);

 private:
  plan::Plan& plan_;
  const Sources* sources_;
  std::map<std::string, uint32_t> names_;
  std::map<std::tuple<SourceId, uint32_t, uint32_t>, uint32_t> sites_;
  std::map<std::string, uint32_t> kernels_;  // by everything that makes one
  std::map<std::pair<std::string, std::string>, uint32_t> weights_;
};

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_POOLS_H_
