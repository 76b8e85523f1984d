// Which transport `auto` is, and the words for why: said by the compiler where it chooses, and by
// drawings of what was chosen.
#ifndef CGRAPH_COMPILER_BASE_TRANSPORT_CHOICE_H_
#define CGRAPH_COMPILER_BASE_TRANSPORT_CHOICE_H_

#include "compiler/base/transport.h"

namespace cgraph {

// Between two different devices; a gpu has memory of its own.
inline Transport AutomaticTransport(bool from_gpu, bool to_gpu) {
  if (from_gpu && to_gpu) return Transport::kNccl;
  return from_gpu || to_gpu ? Transport::kHost : Transport::kLocal;
}

inline const char* WhyAutomatic(Transport transport) {
  switch (transport) {
    case Transport::kNccl: return "between two gpus";
    case Transport::kHost: return "between a gpu and host memory";
    default: return "one address space: no copy";
  }
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_TRANSPORT_CHOICE_H_
