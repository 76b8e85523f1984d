// Linked into a test: memory that is freed is filled with bytes that are no address and no number
// that anybody expects, so that who still reads it is noticed. The sanitizers do that themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace {

void FillAndFree(void* memory) {
  if (memory == nullptr) return;
  std::memset(memory, 0xa5, malloc_usable_size(memory));
  asm volatile("" : : "r"(memory) : "memory");  // or the compiler leaves it out
  std::free(memory);
}

}  // namespace

void operator delete(void* memory) noexcept { FillAndFree(memory); }
void operator delete(void* memory, std::size_t) noexcept { FillAndFree(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { FillAndFree(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { FillAndFree(memory); }
#endif
