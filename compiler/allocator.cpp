// Settings of the allocator in programs that compile: jemalloc reads them when it starts, where it
// is linked. A graph of a million operations is some ten million small vectors in two gigabytes;
// with huge pages and one arena it is scheduled in three quarters of the time. Freed memory goes
// back to the system, so that a limit on address space allows as much as with any allocator.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "runtime/base/exit_code.h"

extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,narenas:1,retain:false";
}

namespace {

// Asks for the few megabytes that jemalloc starts with, before any object of static storage is
// made: jemalloc crashes where it cannot get them.
__attribute__((constructor(101))) void NeedMemory() {
  constexpr size_t kEnough = size_t{8} << 20;
  void* const probe = mmap(nullptr, kEnough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);
  if (probe == MAP_FAILED) {
    constexpr std::string_view kNone = "cgc: error: out of memory\n";
    (void)!write(STDERR_FILENO, kNone.data(), kNone.size());
    _exit(cgraph::kEnvironment);
  }
  munmap(probe, kEnough);
}

}  // namespace
