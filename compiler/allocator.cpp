// How the allocator behaves in programs that compile: what jemalloc reads when it starts, where it
// is linked. A graph of a million operations is some ten million small vectors in two gigabytes;
// with huge pages and one arena it is scheduled in three quarters of the time. What is freed goes
// back, so that a limit on address space holds what it would hold with any allocator.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "runtime/status/exit_code.h"

extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,narenas:1,retain:false";
}

namespace {

// jemalloc crashes where it cannot get the few megabytes that it starts with, so they are asked for
// before any object of static storage is made.
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
