// A random module whose devices are on one or several machines: its program, and an oracle that
// says what it means.
//
// Each graph is a chain of calls on actors of several devices, at times with a collective in it.
// Some calls add the execution's input to their actor's state; each works on a vector whose length
// is known only while running, and may be 0. A call may fail, and then it and all after it leave
// state alone.
#ifndef CGRAPH_TESTS_SIMULATION_MACHINE_MODULE_H_
#define CGRAPH_TESTS_SIMULATION_MACHINE_MODULE_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::simulation {

struct MachineCall {
  uint32_t device = 0;
  enum class Kind { kStep, kLook, kReduce, kBarrier } kind = Kind::kStep;
  bool deep = false;  // its value comes by a transport that holds several messages
  std::vector<uint32_t> members;  // of a collective: all devices, in any order
};

struct MachineGraph {
  uint32_t inflight = 1;
  std::vector<MachineCall> calls;
};

struct MachineModule {
  uint32_t nodes = 1;
  std::vector<const char*> devices;  // the kind of each, of the language
  std::vector<MachineGraph> graphs;
};

inline constexpr uint32_t kMostLength = 8;

MachineModule RandomMachineModule(uint64_t seed, uint32_t nodes);
std::string TextOf(const MachineModule& module);
// Compiles it; the bytes of the plan. Throws where it does not compile.
std::vector<uint8_t> PlanOf(const MachineModule& module);

class MachineOracle {
 public:
  explicit MachineOracle(const MachineModule& module)
      : module_(module), totals_(module.devices.size(), 0) {}

  // Returns the result; none where the call on device `fail` fails.
  std::optional<std::vector<int64_t>> Execute(uint32_t graph, std::vector<int64_t> v, int64_t x,
                                              int64_t fail);
  // The states, by device.
  std::vector<int64_t>& totals() { return totals_; }

 private:
  const MachineModule& module_;
  std::vector<int64_t> totals_;
};

}  // namespace cgraph::simulation

#endif  // CGRAPH_TESTS_SIMULATION_MACHINE_MODULE_H_
