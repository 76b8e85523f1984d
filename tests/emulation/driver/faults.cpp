#include "tests/emulation/driver/faults.h"

#include <fmt/format.h>

#include <csignal>

#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

Machine* explained = nullptr;
struct sigaction before;

// Returns what was touched; null when it is nothing of ours, or nobody can look now.
const Allocation* Touched(const void* address) {
  Lock lock(explained->mutex, std::try_to_lock);
  return lock.owns_lock() ? explained->memory.FindNear(address) : nullptr;
}

// What is not ours goes to who was there before: the access is tried once more.
void OnFault(int signal, siginfo_t* info, void*) {
  const Allocation* const allocation = Touched(info->si_addr);
  if (allocation == nullptr) {
    sigaction(signal, &before, nullptr);
    return;
  }
  const Work* const work = Scheduler::InHand();
  const std::string who = work == nullptr ? "the host" : NameOf(*work);
  if (allocation->freed) {
    FatalMisuse(fmt::format("{} touches {}, where memory was freed", who, info->si_addr));
  }
  const std::string where = allocation->device == kHost
                                ? "pinned memory"
                                : fmt::format("memory of device {}", allocation->device);
  const ptrdiff_t offset = static_cast<std::byte*>(info->si_addr) - allocation->start;
  FatalMisuse(fmt::format("{} touches {}, byte {} of {} bytes in {}", who, info->si_addr, offset,
                          allocation->bytes, where));
}

}  // namespace

void ExplainFaults(Machine& machine) {
  explained = &machine;
  struct sigaction action = {}, present;
  action.sa_sigaction = &OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &present);
  if (present.sa_sigaction != &OnFault) before = present;
}

}  // namespace cgraph::emulation
