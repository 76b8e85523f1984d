#include "tests/emulation/driver/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/emulation/driver/capture.h"
#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

Options OptionsOfEnvironment() {
  const char* const text = std::getenv("CGRAPH_EMULATION");
  return ParseOptions(text == nullptr ? "" : text);
}

// Null until the first call.
Machine* the_machine = nullptr;

// Returns how much of what was issued is not done, after a while in which it may go on.
uint64_t LeftBehind(Machine& machine) {
  uint64_t left = 0;
  for (int looks = 0; looks < 200; ++looks) {
    {
      Lock lock(machine.mutex);
      const Scheduler& scheduler = machine.scheduler;
      const bool ends = scheduler.endless() == nullptr && !scheduler.faulted();
      left = ends && machine.options.threads != 0 ? scheduler.pending() : 0;
    }
    if (left == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return left;
}

// Threads of the emulation end before what they use is torn down. A program that ends in order has
// waited for all that it has issued.
struct AtExit {
  ~AtExit() {
    if (the_machine == nullptr) return;
    if (const uint64_t left = LeftBehind(*the_machine); left != 0) {
      Misuse(fmt::format("the program ends, and {} operations wait in vain", left));
    }
    the_machine->scheduler.Stop();
    Lock lock(the_machine->mutex);
    the_machine->ended = true;
  }
} at_exit;

}  // namespace

Machine::Machine(const Options& with)
    : options(with), memory(options), scheduler(options, memory, mutex) {
  fail_at = options.fail;
  fail_sticky = options.sticky;
  for (int device = 0; device < kMostDevices; ++device) {
    contexts[static_cast<size_t>(device)].device = device;
  }
}

Machine& TheMachine() {
  static Machine* const machine = [] {
    const Options options = OptionsOfEnvironment();
    CountMisuse(options.count);
    the_machine = new Machine(options);
    the_machine->scheduler.Start();
    return the_machine;
  }();
  return *machine;
}

CUcontext& CurrentContext() {
  thread_local CUcontext current = nullptr;
  return current;
}

void WaitForDrain(Machine& machine, Lock& lock, const CallKind& kind) {
  const CUcontext context = CurrentContext();
  if (context == nullptr || (kind.rules & (kAsks | kApart)) != 0) return;
  machine.drained.wait(lock, [&] { return !context->draining; });
}

CUresult BeginCall(Machine& machine, const CallKind& kind) {
  const auto has = [&](CallRule rule) { return (kind.rules & rule) != 0; };
  if (machine.ended) return CUDA_ERROR_DEINITIALIZED;
  ++machine.calls;
  const int of = machine.options.only;
  const bool may_fail = of < 0 || (CurrentContext() != nullptr && CurrentContext()->device == of);
  const bool late = machine.fail_at != 0 && machine.calls >= machine.fail_at;
  if (late && may_fail && machine.fail_sticky) machine.scheduler.Fault();
  if (machine.scheduler.faulted() && !has(kApart)) return CUDA_ERROR_LAUNCH_FAILED;
  if (machine.calls == machine.fail_at && !machine.fail_sticky) {
    return has(kMakes) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  }
  if (&kind != &calls::k_cuInit && &kind != &calls::k_cuDriverGetVersion &&
      !machine.initialised) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (has(kContext)) {
    if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (CurrentContext()->retained == 0) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  if (has(kSetup) && machine.steady) {
    Misuse(fmt::format("{} is called in the steady state", kind.name));
  }
  if (has(kDrains) && machine.scheduler.endless() != nullptr) {
    Misuse(fmt::format("{} waits for {}, which never ends", kind.name,
                       NameOf(*machine.scheduler.endless())));
    return CUDA_ERROR_UNKNOWN;
  }
  if (has(kUnsafe) && !UnsafeCallAllowed(machine)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return CUDA_SUCCESS;
}

CUresult EndCall(Machine& machine, Lock& lock, const CallKind& kind, CUresult result) {
  machine.scheduler.AfterCall(lock, (kind.rules & kAsks) != 0);
  return result;
}

CUresult BadHandle(const std::string& what) {
  Misuse(what + " was destroyed, or never made");
  return CUDA_ERROR_INVALID_HANDLE;
}

CUresult FindStreamOfAny(Machine& machine, CUstream handle, CUstream& stream) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    stream = CurrentContext()->default_stream;
    return CUDA_SUCCESS;
  }
  if (!machine.streams.Lives(handle)) return BadHandle("a stream");
  stream = handle;
  return CUDA_SUCCESS;
}

CUresult FindStream(Machine& machine, CUstream handle, CUstream& stream) {
  const CUresult found = FindStreamOfAny(machine, handle, stream);
  if (found != CUDA_SUCCESS || stream->context == CurrentContext()) return found;
  Misuse(fmt::format("a stream of device {} is used while the context of device {} is current",
                     stream->context->device, CurrentContext()->device));
  return CUDA_ERROR_INVALID_CONTEXT;
}

namespace {

// Looks at an address among a kernel's arguments. Returns what is wrong with it; empty: nothing.
std::string FaultOf(const Machine& machine, const Work& work, const void* address) {
  const Allocation* const allocation = machine.memory.Find(address);
  if (allocation == nullptr) {
    const bool pageable = !machine.options.host_pointers && IsMapped(address);
    return pageable ? "in pageable memory of the host" : "";
  }
  if (allocation->freed) return "where memory was freed";
  if ((SetOf(allocation->device) & ~work.reaches) == 0) return "";
  return fmt::format("in memory of device {}, to which device {} has no access",
                     allocation->device, work.device);
}

}  // namespace

CUresult CheckMemory(Machine& machine, Work& work) {
  const std::string name = NameOf(work);
  for (const Range& range : RangesOf(work)) {
    if (!CheckRange(machine.memory, range, name)) return CUDA_ERROR_INVALID_VALUE;
    const Allocation* const allocation = machine.memory.Find(range.start);
    if (allocation != nullptr) work.reaches |= SetOf(allocation->device);
  }
  if (!std::holds_alternative<LaunchGrid>(work.what)) return CUDA_SUCCESS;
  work.reaches = SetOf(work.device) | machine.contexts[static_cast<size_t>(work.device)].peers;
  for (const void* address : AddressesOf(work)) {
    const std::string fault = FaultOf(machine, work, address);
    if (fault.empty()) continue;
    Misuse(fmt::format("{} is given the address {}, {}", name, address, fault));
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult Issue(Machine& machine, CUstream stream, Work work) {
  work.device = stream->context->device;
  if (stream->refused && !std::holds_alternative<RecordEvent>(work.what)) {
    Misuse(fmt::format("{} is issued behind a wait or a written value that was refused",
                       NameOf(work)));
  }
  const CUresult checked = CheckMemory(machine, work);
  if (checked != CUDA_SUCCESS) return checked;
  if (stream->capture.capture != nullptr) return CaptureWork(stream, std::move(work));
  machine.scheduler.Append(stream, std::move(work));
  return CUDA_SUCCESS;
}

CUresult WaitForStream(Machine& machine, Lock& lock, CUstream stream) {
  if (Scheduler::Idle(*stream)) return CUDA_SUCCESS;
  const auto completion = std::make_shared<Completion>();
  machine.scheduler.Append(stream, {RecordEvent{completion}});
  const bool done = machine.scheduler.WaitUntil(lock, [&] { return completion->done; });
  return done ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult Drain(Machine& machine, Lock& lock, CUcontext context) {
  if (const Work* const endless = machine.scheduler.endless(); endless != nullptr) {
    Misuse(fmt::format("a call waits for {}, which never ends", NameOf(*endless)));
    return CUDA_ERROR_UNKNOWN;
  }
  context->draining = true;
  const bool idle = machine.scheduler.WaitUntil(lock, [&] {
    const std::vector<CUstream>& streams = machine.scheduler.streams();
    return std::all_of(streams.begin(), streams.end(), [&](const CUstream_st* each) {
      return each->context != context || Scheduler::Idle(*each);
    });
  });
  context->draining = false;
  machine.drained.notify_all();
  return idle ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace cgraph::emulation
