// Every wait of submission, results, channels and teardown is needed: leaves out each row of the
// table in runtime/base/omission.h, and sees that a program notices. (Waits of plans, and what
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

#include "runtime/base/omission.h"
#include "tests/deferred/omissions/programs.h"
#include "tests/deferred/trial.h"

namespace cgraph::testing {
namespace {


constexpr uint64_t kWhole = 12;  // seeds under which each program runs as it is

// Which devices an engine runs on.
enum class On { kCpu, kDeferred, kDeferredThread };

struct Row {
  Omission what;
  std::string name;
  std::function<bool()> right;
  On on = On::kDeferred;
  uint32_t which = 0;
  uint64_t seeds = 60;  // tried until one notices
};

std::vector<Row> Rows() {
  const auto many = [] { return Many(TwoDevices(2)); };
  return {
      {Omission::kStartGraph, "the start graph", BeginsWithState, On::kDeferred, 0, 600},
      {Omission::kInflight, "executions in flight", OneInFlight},
      {Omission::kConflict, "conflicts between graphs", InTurns},
      {Omission::kFrame, "a frame for an execution", EmptyRounds, On::kCpu},
      {Omission::kEmptyFrame, "a frame for an empty round", EmptyRounds, On::kCpu},
      {Omission::kRetire, "frames of executions that are over", many},
      {Omission::kMatchAgain, "inputs after a wait", FromThreads},
      {Omission::kResult, "results", many},
      {Omission::kParticipant, "the caller's work queue", Asides, On::kDeferred, 0,
       2000},
      {Omission::kParticipant, "the first device's work queue", Asides, On::kDeferred, 1,
       2000},
      {Omission::kParticipant, "the second device's work queue", Asides, On::kDeferred, 2,
       2000},
      {Omission::kLent, "readers of what was lent", FailsWithoutReaders},
      {Omission::kHeldResult, "holders of a result", HoldsResults},
      {Omission::kInProgress, "an execution that nobody holds", DroppedFailures},
      {Omission::kInbox, "submitted entries", Asides, On::kCpu},
      {Omission::kReportsFirst, "reports before completion", FailsWhenAsked},
      {Omission::kRoom, "room in a channel", [] { return Many(Messages()); }},
      {Omission::kArrived, "a message that is there", many},
      {Omission::kSent, "a message that was received", [] { return ReadsWhatWasGiven(false); }},
      {Omission::kAllArrived, "all members", [] { return ReadsWhatWasGiven(true); }},
      {Omission::kLeft, "the last reader of a member", [] { return ReadsWhatWasGiven(true); }},
      {Omission::kEndSubmission, "who is submitting", GoesDuringFlush, On::kCpu},
      {Omission::kEndDriver, "who drives worker 0", [] { return TornDown(1, true); }, On::kCpu},
      {Omission::kEndWorkers, "the other workers", [] { return TornDown(3, false); }, On::kCpu},
      {Omission::kEndFallback, "the fallback driver", many, On::kCpu},
      {Omission::kEndWatchdog, "the watchdog", GoesAfterCallback, On::kCpu},
      {Omission::kEndQueues, "what runs on queues", [] { return TornDown(3, false); },
       On::kDeferredThread},
      {Omission::kEndReport, "the memory of reports", GoesDuringReport, On::kCpu},
      {Omission::kEndHeld, "held results", OutlivesEngine},
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
  std::vector<Omission> tried = {
      Omission::kKeptWait,   Omission::kCompletion, Omission::kOneQueue,  Omission::kReports,
      Omission::kWakeWorker, Omission::kWakeDriver, Omission::kWakeAtEnd, Omission::kTellFailure,
      Omission::kGiveUp,     Omission::kLostAtEnd,  Omission::kIdle};
  for (const Row& row : Rows()) tried.push_back(row.what);
  for (uint32_t what = 1; what < static_cast<uint32_t>(Omission::kCount); ++what) {
    INFO("row " << what);
    CHECK(std::count(tried.begin(), tried.end(), static_cast<Omission>(what)) != 0);
  }
}

}  // namespace cgraph::testing
