// Discovery: measures what a topology states of a machine, on the machine (cgrun --discover).
//
// GPUs are measured through the interface of devices (runtime/device/device.h): kernels, copies,
// waits and signals of queues, as the engine issues them. So a figure has in it what the engine
// pays.
#ifndef CGRAPH_RUNTIME_COMMAND_DISCOVER_DISCOVER_H_
#define CGRAPH_RUNTIME_COMMAND_DISCOVER_DISCOVER_H_

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace cgraph::command {

// MeasuredLink: copies from one memory to another. Bytes a second; seconds.
struct MeasuredLink {
  double bandwidth = 0;
  double latency = 0;
};

struct MeasuredProcessor {
  double rate_f32 = 0;   // operations a second of a large product
  double rate_f16 = 0;
  double rate_f64 = 0;
  double bandwidth = 0;  // bytes a second that a copy inside the memory reads and writes
  double launch = 0;     // seconds that one more small kernel takes
  uint64_t memory = 0;   // bytes
};

struct MeasuredGpu {
  MeasuredProcessor processor;
  std::string name;
  int major = 0;              // compute capability
  int copy_engines = 0;       // as the driver says
  MeasuredLink to_host, from_host;
  double both_ways = 0;       // bytes a second in each direction while both are copied
  std::vector<MeasuredLink> from;       // by GPU: direct copies; its own entry is empty
  std::vector<double> from_via_host;    // by GPU: bytes a second through the host's memory
};

struct MeasuredMachine {
  uint32_t cores = 0;
  MeasuredProcessor core;
  MeasuredLink between_cores;
  std::vector<MeasuredGpu> gpus;
  std::string no_gpus;  // why there are none
};

struct DiscoverOptions {
  std::string path;  // of the topology that is written
  // With work of a device that takes milliseconds.
  std::chrono::nanoseconds patience = std::chrono::seconds(5);
};

// Both add to the machine. They fail where a device does: nothing is made up.
Status MeasureCores(MeasuredMachine& machine);
Status MeasureGpus(const DiscoverOptions& options, MeasuredMachine& machine);

// The topology as text of the language.
std::string TopologyText(const MeasuredMachine& machine);

// Measures this machine and writes its topology to a file. kInvalid where the name does not end in
// .cgraph, or the file is another one than an earlier call has written; kTimeout where a device
// does not come to an end of its work.
Status Discover(const DiscoverOptions& options, MeasuredMachine& machine);

// What was found: in lines for people, and for programs.
std::string DiscoveredText(const std::string& path, const MeasuredMachine& machine);
nlohmann::ordered_json DiscoveredJson(const std::string& path, const MeasuredMachine& machine);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_DISCOVER_DISCOVER_H_
