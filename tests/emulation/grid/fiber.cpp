#include "tests/emulation/grid/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>

#include "tests/emulation/misuse.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace cgraph::emulation {
namespace {

namespace context = boost::context::detail;

// Real threads have a few hundred bytes on their stack; what the host's compiler makes without
// optimisation and with sanitizers has more. Pages that nobody touches cost nothing.
constexpr size_t kStack = 256 << 10;
constexpr size_t kGuard = 4096;

}  // namespace

struct Fiber::Entry {
  static void Begin(context::transfer_t from) {
    static_cast<Fiber*>(from.data)->Enter(from.fctx);
  }
};

Fiber::Fiber(void (*body)(void*), void* argument) : body_(body), argument_(argument) {
  void* const stack = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED || mprotect(stack, kGuard, PROT_NONE) != 0) {
    FatalMisuse("there is no memory for the stack of a thread of a block");
  }
  stack_ = static_cast<std::byte*>(stack);
  context_ = context::make_fcontext(stack_ + kGuard + kStack, kStack, &Entry::Begin);
#ifdef __SANITIZE_THREAD__
  own_tsan_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(own_tsan_);
#endif
#ifdef __SANITIZE_ADDRESS__  // calls that never returned have left their marks
  ASAN_UNPOISON_MEMORY_REGION(stack_ + kGuard, kStack);
#endif
  munmap(stack_, kGuard + kStack);
}

void Fiber::Enter(void* from) {
  resumer_ = from;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &resumer_bottom_, &resumer_size_);
#endif
  body_(argument_);
}

void Fiber::Resume() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&resumer_fake_stack_, stack_ + kGuard, kStack);
#endif
#ifdef __SANITIZE_THREAD__
  resumer_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_tsan_, 0);
#endif
  context_ = context::jump_fcontext(context_, this).fctx;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(resumer_fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::Park() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&own_fake_stack_, resumer_bottom_, resumer_size_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(resumer_tsan_, 0);
#endif
  resumer_ = context::jump_fcontext(resumer_, nullptr).fctx;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(own_fake_stack_, &resumer_bottom_, &resumer_size_);
#endif
}

}  // namespace cgraph::emulation
