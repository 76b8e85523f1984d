// Fiber: a stack of its own, on which a function runs until it parks, and goes on when resumed.
#ifndef CGRAPH_TESTS_EMULATION_GRID_FIBER_H_
#define CGRAPH_TESTS_EMULATION_GRID_FIBER_H_

#include <cstddef>
#include <cstdint>

namespace cgraph::emulation {

// A fiber belongs to the thread of the host that made it. When it is destroyed, it is parked, and
// what lies on its stack is forgotten.
class Fiber {
 public:
  // `body` runs from the first Resume on, and never returns.
  Fiber(void (*body)(void* argument), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it parks.
  void Resume();
  // Called by what runs on the fiber: returns from Resume there, and here at the next Resume.
  void Park();

  uint32_t thread = 0;  // of the block, that the fiber is running

 private:
  struct Entry;  // where fibers begin, in terms of the library that switches stacks

  void Enter(void* from);

  void (*const body_)(void*);
  void* const argument_;
  std::byte* stack_ = nullptr;  // from its guard page on
  void* context_ = nullptr;     // of the fiber where it is parked
  void* resumer_ = nullptr;     // the context of who resumed it
  // What sanitizers need to know of both stacks.
  void* own_fake_stack_ = nullptr;
  void* resumer_fake_stack_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  size_t resumer_size_ = 0;
  void* own_tsan_ = nullptr;
  void* resumer_tsan_ = nullptr;
};

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_GRID_FIBER_H_
