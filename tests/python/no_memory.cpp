// Preloaded, makes an allocation fail when a test wants it: the next `operator new` of the thread
// that has called no_memory_next().
#include <cstdlib>
#include <new>

namespace {
thread_local bool next_fails = false;

void* Allocate(std::size_t size) {
  if (next_fails) {
    next_fails = false;
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

extern "C" void no_memory_next() { next_fails = true; }

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
