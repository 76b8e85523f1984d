// Options: what the emulated GPUs are like, from the environment's CGRAPH_EMULATION, for example
// "devices=2,seed=7,thread=1,memory=1000000,fail=12:sticky".
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_OPTIONS_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_OPTIONS_H_

#include <cstdint>
#include <string_view>

namespace cgraph::emulation {

inline constexpr int kMostDevices = 16;

struct Options {
  int devices = 1;
  int old = 0;  // so many of them, the first ones, are of compute capability 7.5, the others of 9.0
  uint64_t seed = 1;
  // Threads of the emulation that carry out work. With 0, work is carried out inside the program's
  // calls, so that a program must not wait for memory to change without calling.
  int threads = 1;
  uint64_t memory = uint64_t{1} << 30;  // of a device, in bytes
  uint64_t fail = 0;     // the number of the call that fails, from 1; 0: none
  // The device that `fail` and `endless` are about: a call fails where its context is current, and
  // its grids are counted. -1: all are.
  int only = -1;
  bool sticky = false;   // every call from there on fails, as after a fault of the device
  bool count = false;    // misuse is counted; else it aborts
  bool peers = true;     // devices can reach each other's memory
  bool ipc = true;       // processes can open devices' memory of each other
  bool registered = true;  // devices reach registered host memory by the host's address
  bool memops = true;    // streams can write and await words of 64 bits
  bool protect = true;   // the host cannot touch devices' memory while nothing runs there
  bool pageable = false; // copies of pageable memory are no misuse in the steady state
  // Whether kernels may be given addresses of the host's memory that is not pinned, which only few
  // systems allow.
  bool host_pointers = false;
  // Streams of a device share this many channels, as they share hardware: in a channel, work begins
  // in the order in which it was issued. 0: a channel each.
  int channels = 0;
  // The number of a grid, in the order in which grids begin, from 1, that never ends; 0: none.
  uint64_t endless = 0;
  double stuck = 20;     // seconds without progress after which what waits is written on stderr
};

// A word that is not known, or a number that is none, ends the process with a sentence.
Options ParseOptions(std::string_view text);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_OPTIONS_H_
