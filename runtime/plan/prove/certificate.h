// Rule 12 (`inflight` is kept) and rule 13 (the certificate is one).
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_CERTIFICATE_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_CERTIFICATE_H_

#include <string>

#include "runtime/plan/prove.h"
#include "runtime/plan/prove/vector_clocks.h"

namespace cgraph::plan::prove {

// Rule 12: no lag reaches `inflight`; so many executions are under way at once if the caller wants.
Verdict CheckLags(const GraphIndex& index, const std::string& graph_name);
Verdict CheckInflight(const ConstraintGraph& constraints, const Adjacency& out,
                      const std::string& graph_name);
Verdict CheckCertificate(const ConstraintGraph& constraints, const std::string& graph_name);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_CERTIFICATE_H_
