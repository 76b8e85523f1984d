// The deferred device, for tests: CPU kernels behind queues that run late, in any order that the
// semaphores allow, as a seed decides.
//
// All devices of an engine are one *machine*. Of the operations that may go on, one per queue, it
// takes those of the queue with the highest priority; priorities are random and change now and
// then, so that one queue stays far behind the others for a while, as real ones do at times.
// Operations run when the issuer polls or, where the machine has a thread of its own, at any
// moment. Where a wait is missing, some operation therefore reads bytes that are not there yet, and
// a comparison fails, where a device that runs at once would have been right by luck.
//
// The memory of its devices, except the caller's, says that the host does not see it, so data goes
// in and out through the device. (Its addresses are the host's all the same: nothing faults.)
#ifndef CGRAPH_TESTS_SUPPORT_DEFERRED_DEFERRED_H_
#define CGRAPH_TESTS_SUPPORT_DEFERRED_DEFERRED_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/device/backends.h"

namespace cgraph::testing {

struct DeferredOptions {
  uint64_t seed = 1;
  bool caller = false;  // the caller's device is deferred, too; else it is the CPU's
  bool cpus = true;     // those of kind cpu are; else they are the CPU's
  // Which devices' queues carry communications out by themselves; for the others the host does.
  enum class Communicates { kNone, kSome, kAll } communicates = Communicates::kNone;
  bool records = false;  // captures of the plan are recorded and replayed
  bool thread = false;  // a thread of the machine's runs the queues; else who polls them
};

// Returns the options of a seed besides the order: every third machine has a thread, every second
// the caller; of five, all devices of two communicate and some of one; one of seven does not
// record; one of eleven leaves the cpus.
DeferredOptions OptionsOf(uint64_t seed);

std::unique_ptr<device::Backend> MakeDeferredBackend(const DeferredOptions& options);

// Makes every engine of the process run on deferred devices from here on; the seeds are `seed`,
// `seed` + 1, .... LastSeed() returns that of the last engine, for messages.
void DeferAllEngines(uint64_t seed);
// The same for engines that are ranks of one run: their devices are alike. Those of a machine with
// a thread communicate by themselves, as real ones do: only work queues hear that a message has
// left.
void DeferAllRanks(uint64_t seed);
// Engines are not deferred until the next call of one of these; those that were loaded stay as they
// are.
void DeferNoEngines();
// The machine of the engine that was loaded last goes on under another seed. (Which devices are
// deferred, and whether it has a thread, stays as it was.)
void ReseedLast(uint64_t seed);
uint64_t LastSeed();
uint64_t MachinesMade();

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_DEFERRED_DEFERRED_H_
