// Reading and writing plans: read, verified as FlatBuffers, unpacked, and written.
//
// A plan is untrusted input. ReadFile() and FromBytes() give a Plan whose vectors are what the file
// says; CheckPlan() (check.h) must accept it before anything else indexes with its numbers.
#ifndef CGRAPH_RUNTIME_PLAN_LOAD_H_
#define CGRAPH_RUNTIME_PLAN_LOAD_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

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
// Writes the file whole or not at all (status/output_files.h). kNotFound when it cannot be written.
Status WriteFile(const Plan& plan, const std::string& path);

// Converts to JSON, without loss, by the schema that is compiled in.
std::string ToJson(const Plan& plan);
// Converts from JSON. kInvalid when the text is not JSON of a plan.
Result<std::unique_ptr<Plan>> FromJson(const std::string& json);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_LOAD_H_
