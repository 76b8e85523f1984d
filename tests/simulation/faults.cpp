#include "tests/simulation/faults.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include <fmt/format.h>

namespace cgraph::simulation {
namespace {


struct Row {
  const char* name;
  Fault fault;
};

const Row kRows[] = {
    {"a worker is not woken when work comes", {.omitted = {WaitPoint::kWakeWorker}}},
    {"who waits for a result is not woken", {.omitted = {WaitPoint::kWakeDriver}}},
    {"worker 1 is not told of the end", {.omitted = {WaitPoint::kWakeAtEnd, 1}}},
    {"worker 2 is not told of the end", {.omitted = {WaitPoint::kWakeAtEnd, 2}}},
    {"a wake-up of the system is lost", {.loses_wake = true}},
    {"an entry begins before it was submitted", {.omitted = {WaitPoint::kInbox}}},
    {"a frame is used again before its round is over", {.omitted = {WaitPoint::kRetire}}},
    {"a round does not wait for a frame", {.omitted = {WaitPoint::kFrame}}},
    {"an empty round does not wait for a frame", {.omitted = {WaitPoint::kEmptyFrame}}},
    {"too many executions are in flight", {.omitted = {WaitPoint::kInflight}}},
    {"graphs over one state overlap", {.omitted = {WaitPoint::kConflict}}},
    {"states are looked at while executions run", {.omitted = {WaitPoint::kIdle}}},
    {"a result is given before it is there", {.omitted = {WaitPoint::kResult}}},
    {"... on the first work queue", {.omitted = {WaitPoint::kParticipant, 0}}},
    {"... on the second", {.omitted = {WaitPoint::kParticipant, 1}}},
    {"memory of a result that is held is used again", {.omitted = {WaitPoint::kHeldResult}}},
    {"a message is shown though there is no room", {.omitted = {WaitPoint::kRoom}}},
    {"a message is read before it is there", {.omitted = {WaitPoint::kArrived}}},
    {"a collective begins without a member", {.omitted = {WaitPoint::kAllArrived}}},
    {"a member leaves while others read", {.omitted = {WaitPoint::kLeft}}},
    {"a failure on another machine is not told", {.omitted = {WaitPoint::kTellFailure}}},
    {"messages of a rank that is lost are waited for", {.omitted = {WaitPoint::kGiveUp}}},
    {"a rank that is lost while all end is waited for", {.omitted = {WaitPoint::kLostAtEnd}}},
    {"a message comes twice", {.wire = WireFault::kTwice}},
    {"a message never comes", {.wire = WireFault::kLost}},
    {"a receive is over before its bytes are there", {.wire = WireFault::kEarly}},
};

constexpr unsigned kFaultySeconds = 20;  // that a seed takes at most
// Without a fault so many seeds must be right: else what is found would be the simulation's own.
constexpr uint64_t kSeedsWithoutFault = 50;

// What a child process that tries seeds tells.
struct Told {
  uint64_t seed = 0;  // that it tries
  bool found = false;
  char what[200] = "";
};

// Tries the seeds of one fault in a process of its own, which may crash, or never end.
[[noreturn]] void TryAll(const Row& row, uint64_t first, uint64_t seeds, Told& told,
                         const std::function<std::string(const TrialOptions&)>& try_seed) {
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDERR_FILENO);
  for (told.seed = first; told.seed < first + seeds; ++told.seed) {
    alarm(kFaultySeconds);
    const std::string wrong = try_seed({.seed = told.seed, .fault = row.fault});
    if (wrong.empty()) continue;
    told.found = true;
    std::strncpy(told.what, wrong.substr(0, wrong.find('\n')).c_str(), sizeof(told.what) - 1);
    break;
  }
  _exit(0);
}

// Returns how one fault is found, "found by seed 3: ..."; empty: by no seed.
std::string Find(const Row& row, uint64_t first, uint64_t seeds,
                 const std::function<std::string(const TrialOptions&)>& try_seed) {
  void* const memory =
      mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  Told& told = *new (memory) Told;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) TryAll(row, first, seeds, told, try_seed);
  int status = 0;
  waitpid(child, &status, 0);
  std::string what = told.found ? told.what : "";
  if (WIFSIGNALED(status)) {
    what = WTERMSIG(status) == SIGALRM ? "goes on for ever" : strsignal(WTERMSIG(status));
  }
  const std::string found =
      what.empty() ? "" : fmt::format("found by seed {}: {}", told.seed, what);
  munmap(memory, sizeof(Told));
  return found;
}

}  // namespace

Fault FaultNumber(uint64_t number) {
  return number == 0 || number > std::size(kRows) ? Fault{} : kRows[number - 1].fault;
}

bool FindFaults(uint64_t first, uint64_t seeds,
                const std::function<std::string(const TrialOptions&)>& try_seed) {
  const std::string without = Find({"", {}}, first, std::min(seeds, kSeedsWithoutFault), try_seed);
  fmt::print("0 nothing is wrong: {}\n", without.empty() ? "nothing found" : without);
  bool all = without.empty();
  uint64_t number = 0;
  for (const Row& row : kRows) {
    const std::string found = Find(row, first, seeds, try_seed);
    fmt::print("{} {}: {}\n", ++number, row.name, found.empty() ? "NOT FOUND" : found);
    std::fflush(stdout);
    all &= !found.empty();
  }
  return all;
}

}  // namespace cgraph::simulation
