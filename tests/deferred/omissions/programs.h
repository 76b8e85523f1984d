// The programs that notice an omission: each says whether all was right. What an engine waits for
// is named in the table of omissions_test.cpp.
#ifndef CGRAPH_TESTS_DEFERRED_OMISSIONS_PROGRAMS_H_
#define CGRAPH_TESTS_DEFERRED_OMISSIONS_PROGRAMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/plan/plan.h"

namespace cgraph::testing {

using EnginePtr = std::unique_ptr<Engine>;

// These throw where something is refused. An engine that stands still ends after 2 s.
EnginePtr Load(std::unique_ptr<plan::Plan> plan, EngineOptions options = {});
EngineOptions Workers(uint32_t workers);
Execution Start(Engine& engine, uint32_t graph, std::vector<int64_t> numbers);
// Whether the first result is this number.
bool Gives(Execution& execution, int64_t number);

// ---- plans --------------------------------------------------------------------------------------

// y = x + 10 over two devices.
std::unique_ptr<plan::Plan> TwoDevices(uint32_t inflight, uint32_t capacity = 0);
// Three messages of an execution in a channel with room for one.
std::unique_ptr<plan::Plan> Messages();
// A state is counted up two rounds after an execution has begun; of the other graph, at once. The
// first call sleeps for `ms`.
std::unique_ptr<plan::Plan> Counting();

// ---- executions and graphs ----------------------------------------------------------------------

// Many executions, of which as many as may are in flight; each gives x + 10.
bool Many(std::unique_ptr<plan::Plan> plan, EngineOptions options = {});
// What was sent, or given to a collective, is written over when it was received.
bool ReadsWhatWasGiven(bool collective);
bool OneInFlight();
bool InTurns();
bool EmptyRounds();
bool Asides();
bool FromThreads();
bool DroppedFailures();
bool HoldsResults();
bool OutlivesEngine();
bool BeginsWithState();

// ---- what is lent, and teardown -----------------------------------------------------------------

bool FailsWithoutReaders();
bool FailsWhenAsked();
// Nobody reads what was lent when Teardown returns. `drives`: worker 0 is inside Get.
bool TornDown(uint32_t workers, bool drives);
bool GoesDuringFlush();
bool GoesDuringReport();
bool GoesAfterCallback();

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_DEFERRED_OMISSIONS_PROGRAMS_H_
