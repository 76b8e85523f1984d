// Worker: a thread that drives strands. Worker 0 has no thread of its own: who waits for a result
// drives it (see drive.cpp).
#ifndef CGRAPH_RUNTIME_ENGINE_WORKER_H_
#define CGRAPH_RUNTIME_ENGINE_WORKER_H_

#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/device/bell.h"
#include "runtime/engine/strand.h"

namespace cgraph::engine {

struct Worker {
  std::vector<Strand*> strands;
  device::Bell bell;  // rung when something may have become possible for one of its strands
  device::Memory scratch;
  std::thread thread;

  // Goes round the strands once; true when anything was done.
  bool Advance() {
    bool any = false;
    for (Strand* strand : strands) any |= strand->Advance();
    return any;
  }
  // Whether something was submitted that its strands have not finished.
  bool Pending() const {
    for (const Strand* strand : strands) {
      if (strand->pushed() != strand->done()) return true;
    }
    return false;
  }
  // Drives until `until()`, which reads only sequentially consistent atomics: spins while nothing
  // can be done, then sleeps until the bell rings.
  template <typename Until>
  void Drive(uint32_t spins, Until&& until) {
    uint32_t idle = 0;
    while (!until()) {
      if (Advance()) {
        idle = 0;
      } else if (idle++ < spins) {
        device::Pause();
      } else {
        bell.Sleep([&] { return until() || Advance(); });
        idle = 0;
      }
    }
  }
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_WORKER_H_
