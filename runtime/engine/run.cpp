#include "runtime/engine/run.h"

#include <mutex>

#include "runtime/engine/core.h"

namespace cgraph::engine {

void Run::Fail(uint32_t position, Status status) {
  std::lock_guard lock(mutex);
  if (error.ok() || position < written) {
    written = position;
    error = std::move(status);
  }
  failed.store(true, std::memory_order_seq_cst);
}

Status Run::Error() {
  std::lock_guard lock(mutex);
  return error;
}

void Run::Unref() {
  // Who holds the only reference needs no read-modify-write: nobody else can be there.
  if (refs.load(std::memory_order_acquire) == 1 ||
      refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    core->Return(this);
  }
}

}  // namespace cgraph::engine
