// The compiler's limits, each with a diagnostic and a test. No input makes cgc take more than
// these allow: a limit that is met is an error that says so, never a crash.
#ifndef CGRAPH_COMPILER_BASE_LIMITS_H_
#define CGRAPH_COMPILER_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/kinds/limits.h"

namespace cgraph {

inline constexpr int64_t kMaxSourceBytes = 64 << 20;
inline constexpr int64_t kMaxTokens = 4'000'000;
inline constexpr int kMaxNesting = 200;               // of brackets, blocks and types
inline constexpr int kMaxTreeDepth = 500;  // of a syntax tree: brackets, postfixes, unary operators
inline constexpr size_t kMaxSyntaxErrors = 100;       // of one file, then its parser stops
inline constexpr int kMaxNamedTypeDepth = 64;         // of named types that stand for others
inline constexpr int64_t kMaxNamedTypeParts = 100'000;  // that all uses of named types stand for
inline constexpr int kMaxCallDepth = 200;             // of fn and graph calls while elaborating
inline constexpr int64_t kMaxElaborationSteps = 50'000'000;  // turns, expressions, what they make
inline constexpr int64_t kMaxListElements = 10'000'000;
inline constexpr size_t kMaxOps = 1 << 20;            // of one graph
inline constexpr int64_t kMaxReports = 10'000;        // errors while elaborating, each turn's again
inline constexpr size_t kMaxScheduleRules = 100;      // of one schedule
inline constexpr size_t kMaxKinds = 200;              // of calls that a schedule's rules speak of
inline constexpr size_t kMaxTopologyParts = 1'000;     // as they are written
inline constexpr int64_t kMaxResources = 4096;          // of one topology
inline constexpr int64_t kMaxLinks = 1 << 19;           // of one topology
inline constexpr int64_t kMaxCapacity = 1024;         // of a transport, in messages
inline constexpr int kMaxEvaluationDepth = 12'000;    // of expressions; the stack is made for it
inline constexpr size_t kMaxStringBytes = 1 << 20;    // of a string made at compile time
inline constexpr int64_t kMaxDeviceIndex = 1 << 16;   // of devices of one kind
inline constexpr int64_t kMaxDevices = 4096;          // of one program, the caller among them
inline constexpr int64_t kMaxCallIndex = 2'147'483'647;  // of a loop variable around a call
inline constexpr int64_t kMaxRounds = 1'000'000'000;    // of one run of a graph that repeats
inline constexpr int64_t kMaxOverlaps = 2'000'000'000;  // of accesses to parts, as they are counted
inline constexpr int64_t kMaxOperands = 65'535;       // tensors that one op takes, or makes

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_LIMITS_H_
