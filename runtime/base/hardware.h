// Hardware: what a machine is called by its system, so that times that were measured on one are not
// taken for those of another in silence.
#ifndef CGRAPH_RUNTIME_BASE_HARDWARE_H_
#define CGRAPH_RUNTIME_BASE_HARDWARE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cgraph {

struct Hardware {
  std::string cpu;                // "AMD EPYC 7763 64-Core Processor"; empty: not known
  uint64_t cores = 0;             // that a process may use; 0: not known
  std::vector<std::string> gpus;  // "NVIDIA H200", each name once
};

// Reads the names from /proc, without a driver's library.
Hardware ThisHardware();
// Returns whether both say something of a part, and not the same.
bool Differs(const Hardware& measured, const Hardware& here);
// "AMD EPYC 7763 64-Core Processor, 2 cores, NVIDIA H200".
std::string HardwareText(const Hardware& hardware);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_HARDWARE_H_
