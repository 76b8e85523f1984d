// Reading and writing plans: read, verified as FlatBuffers, unpacked, and written.
//
// A plan is untrusted input. ReadFile() and FromBytes() give a Plan whose vectors are what the file
// says; CheckPlan() (check.h) must accept it before anything else indexes with its numbers.
#ifndef CGRAPH_RUNTIME_PLAN_LOAD_H_
#define CGRAPH_RUNTIME_PLAN_LOAD_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/exit_code.h"
#include "runtime/base/read_file.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Unpacks bytes in private memory (never a shared mapping). kInvalid when they are no plan, or one
// of another format number.
Result<std::unique_ptr<Plan>> FromBytes(std::span<const uint8_t> bytes);
std::vector<uint8_t> ToBytes(const Plan& plan);

// Reads the whole file, then unpacks it. kNotFound when unreadable, kInvalid when it is no plan,
// kTimeout when nothing has come out of a pipe for as long as `patience`.
Result<std::unique_ptr<Plan>> ReadFile(const std::string& path, Patience patience = kForever);
// Writes the file whole or not at all (base/output_files.h). kNotFound when it cannot be written.
Status WriteFile(const Plan& plan, const std::string& path);

// Converts to JSON, without loss, by the schema that is compiled in.
std::string ToJson(const Plan& plan);
// Converts from JSON. kInvalid when the text is not JSON of a plan.
Result<std::unique_ptr<Plan>> FromJson(const std::string& json);

// UnpackedSize: how much memory unpacking a plan's bytes would take, found out before anything is
// unpacked.
//
// FlatBuffers' verifier bounds every offset. It does not see vectors of 8-byte things that are not
// aligned to 8, nor sharing: a small file may point a million times at one table, and unpacking
// would copy it a million times. Our own writer shares nothing, so an honest plan's bytes hold all
// that is counted here. Text must be UTF-8, since it is printed and becomes JSON.
struct UnpackedSize {
  uint64_t bytes = 0;  // of all vectors and texts
  bool misaligned = false;
  bool bad_text = false;
};

// Counts a verified plan with a start graph, no further than a little above `limit`.
UnpackedSize MeasureUnpacked(const wire::Plan& plan, uint64_t limit);

// PlanOrExit: the plan of a command whose FILE may be a plan or a source, or an exit code. The
// loader (LoadOrCompile of cgc, LoadPlan of cgrun) has printed why there is no plan.
struct PlanOrExit {
  std::unique_ptr<Plan> plan;
  ExitCode exit_code = kSuccess;
};

// Returns whether a graph is what stands before the rounds of another one, which executes it.
bool IsBefore(const Plan& plan, uint32_t graph);

// Returns the graph of a plan that `--graph` means: the index of the graph that is called `name`;
// without a name, of the only one. Otherwise kInvalid says which graphs there are.
Result<uint32_t> FindGraph(const Plan& plan, const std::string& name,
                           const char* flag = "--graph");

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_LOAD_H_
