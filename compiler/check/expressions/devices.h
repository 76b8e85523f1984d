// Devices: cpu[i], gpu[i], node[j].gpu[i].
#ifndef CGRAPH_COMPILER_CHECK_EXPRESSIONS_DEVICES_H_
#define CGRAPH_COMPILER_CHECK_EXPRESSIONS_DEVICES_H_

#include <optional>
#include <string>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// Whether the name is cpu, gpu or node and nothing nearer.
bool IsDeviceWord(const Scope& scope, const std::string& name);

// Nothing when the base is no device word.
std::optional<Value> ResolveDevice(Scope& scope, const syntax::IndexExpr& node, Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_EXPRESSIONS_DEVICES_H_
