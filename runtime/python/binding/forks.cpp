#include "runtime/python/binding/forks.h"

#include <pthread.h>

#include <atomic>

namespace cgraph::python {
namespace {

std::atomic<uint32_t> forks{0};

}  // namespace

void CountForks() {
  pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
}

uint32_t Forks() { return forks.load(std::memory_order_relaxed); }

}  // namespace cgraph::python
