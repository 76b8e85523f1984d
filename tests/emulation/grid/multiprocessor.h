// Multiprocessor: runs one block after another, in one thread of the host. The threads of a block
// are on fibers. A fiber whose thread ends goes on with another thread that has not begun, so a
// block whose threads never meet runs on one fiber, as a loop.
#ifndef CGRAPH_TESTS_EMULATION_GRID_MULTIPROCESSOR_H_
#define CGRAPH_TESTS_EMULATION_GRID_MULTIPROCESSOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/emulation/grid/fiber.h"
#include "tests/emulation/grid/kernel_table.h"
#include "tests/emulation/grid/meet.h"

namespace cgraph::emulation {

class Multiprocessor {
 public:
  // That of the calling thread of the host.
  static Multiprocessor& Current();

  // Runs a block; blockIdx, blockDim and gridDim say which one. `order` decides in which order its
  // threads run; 0: that of their numbers.
  void RunBlock(const HostKernel& kernel, void** parameters, size_t shared_bytes, uint64_t order);

  // What a thread of the block calls.
  Votes SyncThreads(bool predicate);
  const WarpValues& MeetWarp(WarpCall call, uint32_t mask, uint64_t value);
  int Lane() const { return static_cast<int>(running_->thread % 32); }
  void* DynamicShared() { return shared_.data(); }

 private:
  // WarpMeeting: the lanes that meet under one mask, again and again. A lane may come to the next
  // meeting while others have not yet read what was brought to this one, so there are two places.
  struct WarpMeeting {
    uint32_t mask = 0;
    uint32_t arrived = 0;
    WarpCall call = WarpCall::kSync;
    uint32_t round = 0;
    WarpValues brought[2];
    std::vector<Fiber*> waiting;
  };
  struct Warp {
    uint32_t live = 0;  // lanes that have not ended
    std::vector<std::unique_ptr<WarpMeeting>> meetings;
  };
  struct alignas(16) Shared {
    std::byte bytes[16];
  };

  static void RunFiber(void* multiprocessor);
  void RunThreads(Fiber* fiber);
  void EndThread(uint32_t thread);
  Fiber* NextFiber();
  void FinishBarrier();
  void FinishMeeting(WarpMeeting& meeting);
  uint64_t Random();
  std::string Where() const;

  const HostKernel* kernel_ = nullptr;
  void** parameters_ = nullptr;
  uint32_t threads_ = 0;
  uint32_t begun_ = 0;
  uint32_t ended_ = 0;
  uint64_t random_ = 0;  // 0: nothing is at random
  std::vector<uint32_t> order_;

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Fiber*> ready_;
  Fiber* running_ = nullptr;

  std::vector<Fiber*> at_barrier_;
  Votes votes_;         // of who has arrived
  Votes last_barrier_;  // of the barrier before
  std::vector<Warp> warps_;
  std::vector<Shared> shared_;
};

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_GRID_MULTIPROCESSOR_H_
