// The work of an operation when its turn has come, on a device whose work the host does. A worker
// that runs an operation at once and a queue that runs it later call the same functions.
#ifndef CGRAPH_RUNTIME_DEVICE_OPERATIONS_H_
#define CGRAPH_RUNTIME_DEVICE_OPERATIONS_H_

#include <cstdint>
#include <span>

#include "runtime/device/memory.h"
#include "runtime/device/queue.h"

namespace cgraph::device {

inline bool AnyPoisoned(std::span<const uint32_t> checks, const Bindings& bindings) {
  for (uint32_t flag : checks) {
    if (bindings.Poisoned(flag)) return true;
  }
  return false;
}

// Returns whether the operation has nothing to do; its own flag is set then. Mostly one load says
// so: `poisoned` is set before any flag is (Bindings::Poison). A thread that has waited for an
// operation sees both as that one left them, so neither load needs an order of its own.
inline bool Skipped(const Predicate& predicate, const Bindings& bindings) {
  if (!bindings.poisoned->load(std::memory_order_relaxed)) return false;
  if (predicate.own == kNoFlag) return false;
  if (bindings.Poisoned(predicate.own)) return true;
  if (!AnyPoisoned(predicate.checks, bindings)) return false;
  bindings.Poison(predicate.own);
  return true;
}

inline int64_t ExtentOf(const DynamicDim& dim, const Bindings& bindings) {
  return *static_cast<const int64_t*>(bindings.extents[dim.extent]);
}

// Gives tensors the dims of this execution. Returns the first dim that is beyond its bound, if any;
// those behind it are left alone. An extent is a value that a kernel or the caller has made: memory
// is laid out for the bound, so one beyond it would make a kernel write elsewhere.
inline const DynamicDim* FillDims(std::span<const DynamicDim> dims, const Bindings& bindings) {
  for (const DynamicDim& dim : dims) {
    const int64_t extent = ExtentOf(dim, bindings);
    if (extent < 0 || extent > dim.bound) return &dim;
    bindings.tensors[dim.tensor].dims[dim.dim] = extent;
  }
  return nullptr;
}

inline void RunCopy(const Copy& copy) {
  if (copy.describes) std::copy_n(copy.from->dims, copy.from->rank, copy.to->dims);
  if (!copy.moves) return;
  CopyBytes(copy.to->data, copy.from->data, (copy.fills ? copy.to : copy.from)->bytes());
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_OPERATIONS_H_
