// NativeCalls: the calls of native code on devices whose memory the host does not reach. A thread
// of ours calls the code when it issues the call, and must know by then whether something that the
// call checks is poisoned. It knows that of the host's work, which it has waited for, of calls of
// native code, which have failed then or will not, and of kernels that only carry such poison on:
// queues say so on the host when these are issued. Of all else it learns from the device: a call
// that checks such a thing is *late*, and waits until what was issued to its queue before is over.
#ifndef CGRAPH_RUNTIME_LOAD_POISON_NATIVE_CALLS_H_
#define CGRAPH_RUNTIME_LOAD_POISON_NATIVE_CALLS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/load/poison/poison.h"
#include "runtime/plan/graph_index.h"

namespace cgraph::engine {

struct NativeCalls {
  std::vector<bool> is_native;  // per instruction
  std::vector<uint32_t> event;  // per instruction: a number among those that are late; else none
  uint32_t late = 0;            // how many
};

NativeCalls FindNativeCalls(const plan::GraphIndex& index,
                            const std::vector<std::unique_ptr<device::Device>>& devices,
                            const PoisonFlags& poison_flags);

// Refuses a call of native code with an extent that the device makes: the host does not know it
// when it calls. kUnsupported with its name.
Status CheckExtents(const plan::Plan& plan, const plan::Graph& graph, uint32_t instruction,
                    std::span<const device::DynamicDim> dims);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_POISON_NATIVE_CALLS_H_
