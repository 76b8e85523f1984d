// LibraryWork: work that an emulated library, such as NCCL's, appends to a stream of the driver's
// (Control::issue). A library of NVIDIA's would launch kernels of its own there.
#ifndef CGRAPH_TESTS_EMULATION_LIBRARY_WORK_H_
#define CGRAPH_TESTS_EMULATION_LIBRARY_WORK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cgraph::emulation {

struct LibraryWork {
  // Memory that the work reads or writes. It must be of the driver's.
  struct Piece {
    const void* start = nullptr;
    uint64_t bytes = 0;
  };

  std::string name;  // in messages: "an all_reduce of 1024 f32"
  std::vector<Piece> memory;
  // Asked again and again, under the driver's lock, while the work is the first of its stream:
  // whether it may begin. Calls nothing of the driver. Empty: at once.
  std::function<bool()> may_begin;
  // Does the work, without the driver's lock. Each launch of a captured graph calls it once.
  std::function<void(uint64_t seed)> run;
};

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_LIBRARY_WORK_H_
