#include "tests/emulation/control.h"

#include <string>
#include <utility>

#include "tests/emulation/driver/machine.h"
#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

void Reseed(uint64_t seed) {
  Lock lock(TheMachine().mutex);
  TheMachine().scheduler.Reseed(seed);
}

uint64_t Calls() {
  Lock lock(TheMachine().mutex);
  return TheMachine().calls;
}

void FailAt(uint64_t call, bool sticky) {
  Lock lock(TheMachine().mutex);
  TheMachine().fail_at = call;
  TheMachine().fail_sticky = sticky;
}

void SetSteady(bool steady) {
  Lock lock(TheMachine().mutex);
  TheMachine().steady = steady;
}
void BeginSteadyState() { SetSteady(true); }
void EndSteadyState() { SetSteady(false); }

const char* KeepLastMisuse() {
  thread_local std::string last;
  last = LastMisuse();
  return last.c_str();
}

uint64_t MostInstantiating() {
  Lock lock(TheMachine().mutex);
  return TheMachine().most_instantiating;
}

uint64_t Pending() {
  Lock lock(TheMachine().mutex);
  return TheMachine().scheduler.pending();
}

bool NeverEnds() {
  Lock lock(TheMachine().mutex);
  return TheMachine().scheduler.endless() != nullptr;
}

uint64_t Live() {
  Machine& machine = TheMachine();
  Lock lock(machine.mutex);
  uint64_t live = machine.memory.live() + machine.streams.live().size() +
                  machine.events.live().size() + machine.modules.live().size() +
                  machine.graphs.live().size() + machine.execs.live().size();
  for (const CUctx_st& context : machine.contexts) live -= context.retained != 0 ? 1 : 0;
  return live;
}

int DeviceOf(CUcontext context) { return context->device; }

CUresult IssueWork(CUstream handle, LibraryWork work) {
  Machine& machine = TheMachine();
  Lock lock(machine.mutex);
  if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (machine.scheduler.faulted()) return CUDA_ERROR_LAUNCH_FAILED;
  CUstream stream;
  const CUresult found = FindStream(machine, handle, stream);
  if (found != CUDA_SUCCESS) return found;
  const CUresult issued = Issue(machine, stream, {std::move(work)});
  machine.scheduler.AfterCall(lock, false);
  return issued;
}

void ReportMisuse(const char* sentence) { Misuse(sentence); }

constexpr Control kControl{.reseed = &Reseed,
                           .calls = &Calls,
                           .fail_at = &FailAt,
                           .begin_steady_state = &BeginSteadyState,
                           .end_steady_state = &EndSteadyState,
                           .count_misuse = &CountMisuse,
                           .misuse_count = &MisuseCount,
                           .last_misuse = &KeepLastMisuse,
                           .forget_misuse = &ForgetMisuse,
                           .most_instantiating = &MostInstantiating,
                           .pending = &Pending,
                           .live = &Live,
                           .never_ends = &NeverEnds,
                           .device_of = &DeviceOf,
                           .issue = &IssueWork,
                           .misuse = &ReportMisuse};

}  // namespace
}  // namespace cgraph::emulation

const cgraph::emulation::Control* cgraph_emulation_control() {
  cgraph::emulation::TheMachine();
  return &cgraph::emulation::kControl;
}
