// Every wait of submission, results, channels and teardown is needed: leaves out each row of the
// table in runtime/base/wait_point.h, and sees that a program notices. (Waits of plans, and what
// work queues ask their queues: missing_waits_test.cpp.)
//
// Each row has a program that says whether all was right. As the engine is, it says so under every
// seed, also where what would be waited for takes longer; without the wait it does not under some
// seed, or crashes, or hangs. Each trial runs in a process of its own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/wait_point.h"
#include "tests/deferred/omissions/programs.h"
#include "tests/deferred/trial.h"

namespace cgraph::testing {
namespace {


constexpr uint64_t kWhole = 12;  // seeds under which each program runs as it is

// Which devices an engine runs on.
enum class On { kCpu, kDeferred, kDeferredThread };

struct Row {
  WaitPoint what;
  std::string name;
  std::function<bool()> right;
  On on = On::kDeferred;
  uint32_t which = 0;
  uint64_t seeds = 60;  // tried until one notices
};

std::vector<Row> Rows() {
  const auto many = [] { return Many(TwoDevices(2)); };
  return {
      {WaitPoint::kStartGraph, "the start graph", BeginsWithState, On::kDeferred, 0, 600},
      {WaitPoint::kInflight, "executions in flight", OneInFlight},
      {WaitPoint::kConflict, "conflicts between graphs", InTurns},
      {WaitPoint::kFrame, "a frame for an execution", EmptyRounds, On::kCpu},
      {WaitPoint::kEmptyFrame, "a frame for an empty round", EmptyRounds, On::kCpu},
      {WaitPoint::kRetire, "frames of executions that are over", many},
      {WaitPoint::kMatchAgain, "inputs after a wait", FromThreads},
      {WaitPoint::kResult, "results", many},
      {WaitPoint::kParticipant, "the caller's work queue", Asides, On::kDeferred, 0,
       2000},
      {WaitPoint::kParticipant, "the first device's work queue", Asides, On::kDeferred, 1,
       2000},
      {WaitPoint::kParticipant, "the second device's work queue", Asides, On::kDeferred, 2,
       2000},
      {WaitPoint::kLent, "readers of what was lent", FailsWithoutReaders},
      {WaitPoint::kHeldResult, "holders of a result", HoldsResults},
      {WaitPoint::kInProgress, "an execution that nobody holds", DroppedFailures},
      {WaitPoint::kInbox, "submitted entries", Asides, On::kCpu},
      {WaitPoint::kReportsFirst, "reports before completion", FailsWhenAsked},
      {WaitPoint::kRoom, "room in a channel", [] { return Many(Messages()); }},
      {WaitPoint::kArrived, "a message that is there", many},
      {WaitPoint::kSent, "a message that was received", [] { return ReadsWhatWasGiven(false); }},
      {WaitPoint::kAllArrived, "all members", [] { return ReadsWhatWasGiven(true); }},
      {WaitPoint::kLeft, "the last reader of a member", [] { return ReadsWhatWasGiven(true); }},
      {WaitPoint::kEndSubmission, "who is submitting", GoesDuringFlush, On::kCpu},
      {WaitPoint::kEndDriver, "who drives worker 0", [] { return TornDown(1, true); }, On::kCpu},
      {WaitPoint::kEndWorkers, "the other workers", [] { return TornDown(3, false); }, On::kCpu},
      {WaitPoint::kEndFallback, "the fallback driver", many, On::kCpu},
      {WaitPoint::kEndWatchdog, "the watchdog", GoesAfterCallback, On::kCpu},
      {WaitPoint::kEndQueues, "what runs on queues", [] { return TornDown(3, false); },
       On::kDeferredThread},
      {WaitPoint::kEndReport, "the memory of reports", GoesDuringReport, On::kCpu},
      {WaitPoint::kEndHeld, "held results", OutlivesEngine},
  };
}

uint64_t SeedOf(const Row& row, uint64_t i) {
  switch (row.on) {
    case On::kCpu:
      return 0;
    case On::kDeferred:
      return i;
    default:
      return 3 * i;  // machines with a thread: OptionsOf()
  }
}

// Whether a program under the omission says within so many seeds that something is wrong.
bool Notices(const Row& row, Omitted what, uint64_t seeds) {
  if (row.on == On::kCpu) seeds = std::min<uint64_t>(seeds, 10);
  for (uint64_t i = 1; i <= seeds; ++i) {
    const bool same = Same(SeedOf(row, i), [&] {
      omitted = what;
      stretched = row.what;
      return row.right();
    });
    if (!same) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("programs are right where nothing is left out") {
  for (const Row& row : Rows()) {
    INFO(row.name);
    CHECK(!Notices(row, {}, kWhole));
  }
}

TEST_CASE("each wait that the engine lacks is noticed") {
  for (const Row& row : Rows()) {
    INFO(row.name << " are not waited for");
    CHECK(Notices(row, {row.what, row.which}, row.seeds));
  }
}

TEST_CASE("every row of the table is tried") {
  // These in missing_waits_test.cpp, and in tests/simulation.
  std::vector<WaitPoint> tried = {
      WaitPoint::kKeptWait,    WaitPoint::kCompletion, WaitPoint::kOneQueue,   WaitPoint::kReports,
      WaitPoint::kWakeWorker,  WaitPoint::kWakeDriver, WaitPoint::kWakeAtEnd,
      WaitPoint::kTellFailure, WaitPoint::kGiveUp,     WaitPoint::kLostAtEnd,  WaitPoint::kIdle};
  for (const Row& row : Rows()) tried.push_back(row.what);
  for (uint32_t what = 1; what < static_cast<uint32_t>(WaitPoint::kCount); ++what) {
    INFO("row " << what);
    CHECK(std::count(tried.begin(), tried.end(), static_cast<WaitPoint>(what)) != 0);
  }
}

}  // namespace cgraph::testing
