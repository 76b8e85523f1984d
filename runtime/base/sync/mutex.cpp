#include "runtime/base/sync/mutex.h"

namespace cgraph {

void Mutex::LockSlow() {
  for (int i = 0; i < 100; ++i) {
    Pause();
    if (!held() && try_lock()) return;
  }
  while (!try_lock()) {
    event_count_.Wait([&] { return !held(); });
  }
}

}  // namespace cgraph
