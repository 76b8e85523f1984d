// ObjectRequest: what rank 0 asks another rank of its machine about an object of native code,
// between executions, and the answer. There is one at a time, whose bytes go in pieces.
#ifndef CGRAPH_RUNTIME_RANKS_SHARED_OBJECT_REQUEST_H_
#define CGRAPH_RUNTIME_RANKS_SHARED_OBJECT_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/ranks/shared/shared_text.h"
#include "runtime/status/status.h"

namespace cgraph::ranks {

struct ObjectRequest {
  enum class Kind : uint32_t { kLook, kSave, kRestore };
  static constexpr uint32_t kMostBytes = 1 << 18;  // of a piece

  // The rank that is asked. All below is that one's then, until it stores 0: rank 0's again.
  alignas(128) std::atomic<uint32_t> asked{0};
  Kind kind = Kind::kLook;
  int64_t number = 0;  // the object's
  // The bytes of the object, and where this piece of them begins. kSave: the rank saves when it is
  // asked for the first piece. kRestore: it restores when it has the last one.
  uint64_t bytes = 0, begin = 0;
  uint32_t storing = 0;  // native::Storing; the answer of kLook and kSave
  StatusCode code = StatusCode::kOk;
  SharedText<4096> text;  // why it failed, or why the object cannot be saved
  uint8_t piece[kMostBytes];
};

}  // namespace cgraph::ranks

#endif  // CGRAPH_RUNTIME_RANKS_SHARED_OBJECT_REQUEST_H_
