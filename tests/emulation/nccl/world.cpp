#include "tests/emulation/nccl/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "tests/emulation/control.h"
#include "tests/emulation/nccl/memory.h"
#include "tests/emulation/nccl/reduce.h"

namespace cgraph::emulation {
namespace {

constexpr const char* kNames[] = {"all_reduce", "reduce", "reduce_scatter", "all_gather",
                                  "broadcast",  "send",   "receive"};
constexpr int kFirstOrdered = 22600, kFirstSeveralRanks = 23000;
constexpr std::byte kGarbage{0xa5};

const char* FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Returns the rank that a launcher of MPI programs has given this process; 0 without one.
int MachineOfThis() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    const std::string rank(FromEnvironment(name));
    if (!rank.empty()) return std::atoi(rank.c_str());
  }
  return 0;
}

using Call = NcclCall;

using Bytes = NcclBuffer;

bool Overlap(const Bytes& a, const Bytes& b) {
  return a.start < b.start + b.bytes && b.start < a.start + a.bytes;
}

void Begin(Launch& launch) {
  std::lock_guard lock(TheWorld().mutex);
  if (launch.rank->aborted) return;
  if (launch.begun) {
    return NcclMisuse("NCCL: the emulation takes no launch of NCCL's in a captured graph");
  }
  launch.begun = true;
  {
    SharedState& state = launch.rank->communicator->shared();
    StateLock state_lock(state);
    for (Launch::Task& task : launch.tasks) {
      const Bytes given = Given(task.call, *launch.rank);
      if (!state.Give(*task.operation, task.share, given.start, given.bytes)) {
        NcclMisuse("NCCL: the emulation has no room for so much under way at once");
      }
    }
  }
  for (Launch::Task& task : launch.tasks) {
    const Bytes gotten = Gotten(task.call, *launch.rank);
    const bool in_place = std::any_of(
        launch.tasks.begin(), launch.tasks.end(),
        [&](const auto& other) { return Overlap(Given(other.call, *launch.rank), gotten); });
    if (!in_place) std::fill_n(task.call.to, gotten.bytes, kGarbage);
  }
}

void WriteResult(const Launch::Task& task, const Rank& rank) {
  const Call& call = task.call;
  const Bytes gotten = Gotten(call, rank);
  if (gotten.bytes == 0) return;
  const SharedState& state = rank.communicator->shared();
  const size_t shares = call.collective() ? static_cast<size_t>(state.ranks) : 2;
  std::vector<const std::byte*> from;
  for (size_t share = 0; share < shares; ++share) {
    from.push_back(state.Given(*task.operation, share));
  }
  const bool ring = TheWorld().options.ring;
  const size_t own = static_cast<size_t>(rank.rank), count = call.count;
  switch (call.kind) {
    case Call::kAllReduce:
    case Call::kReduce:
      return NcclReduce(call.type, call.reduction, from, 0, count, count, ring, call.to);
    case Call::kReduceScatter:
      return NcclReduce(call.type, call.reduction, from, own * count, count, count * shares, ring,
                        call.to);
    case Call::kAllGather: {
      std::byte* to = call.to;
      for (size_t share = 0; share < shares; ++share) {
        to = std::copy_n(from[share], task.operation->shares[share].bytes, to);
      }
      return;
    }
    case Call::kBroadcast:
      std::copy_n(from[static_cast<size_t>(call.other)], gotten.bytes, call.to);
      return;
    case Call::kReceive: std::copy_n(from[0], gotten.bytes, call.to); return;
    case Call::kSend: return;
  }
}

// How long an abort may take to begin.
constexpr auto kAbort = std::chrono::seconds(2);

// Waits until the rank is aborted; false: it is not within kAbort. An engine that ends aborts its
// communicators in threads of their own and meanwhile lets its queues run on, so that what a
// collective of an execution that has failed was given may change before its rank is aborted.
bool WaitForAbort(const Rank& rank) {
  const auto aborted = [&] {
    std::lock_guard lock(TheWorld().mutex);
    return rank.aborted;
  };
  const auto end = std::chrono::steady_clock::now() + kAbort;
  while (!aborted() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return aborted();
}

// Returns what of a launch was changed since it began; empty where nothing was.
std::string FindChange(const Launch& launch) {
  std::lock_guard lock(TheWorld().mutex);
  const Rank& rank = *launch.rank;
  SharedState& state = rank.communicator->shared();
  StateLock state_lock(state);
  for (const Launch::Task& task : launch.tasks) {
    if (rank.aborted) break;
    const Bytes given = Given(task.call, rank);
    const std::byte* const read = state.Given(*task.operation, task.share);
    if (given.bytes != 0 && std::memcmp(given.start, read, given.bytes) != 0) {
      return fmt::format("what rank {} of {} gives to {} was changed while it was under way",
                         rank.rank, rank.communicator->ranks(), task.call.Text());
    }
  }
  return "";
}

void Finish(const std::shared_ptr<Launch>& launch) {
  const std::string misuse = FindChange(*launch);
  if (!misuse.empty() && !WaitForAbort(*launch->rank)) NcclMisuse(misuse);
  World& world = TheWorld();
  std::lock_guard lock(world.mutex);
  const Rank& rank = *launch->rank;
  SharedState& state = rank.communicator->shared();
  StateLock state_lock(state);
  for (const Launch::Task& task : launch->tasks) {
    if (rank.aborted) break;
    WriteResult(task, rank);
    state.Finish(*task.operation, task.call.collective() ? state.ranks : 2);
  }
  launch->over = true;
  --launch->rank->pending;
  std::erase(world.places[rank.context], launch);
}

std::string Describe(const Launch& launch) {
  std::string text;
  for (const Launch::Task& task : launch.tasks) {
    text += (text.empty() ? "" : ", ") + task.call.Text();
  }
  return fmt::format("NCCL's {} of rank {} of {} in communicator {}", text, launch.rank->rank,
                     launch.rank->communicator->ranks(), launch.rank->communicator->number);
}

}  // namespace

World::World()
    : options(ParseNcclOptions(FromEnvironment("CGRAPH_EMULATED_NCCL"))),
      ordered(options.version >= kFirstOrdered &&
              std::string_view(FromEnvironment("NCCL_LAUNCH_ORDER_IMPLICIT")) == "1"),
      connects_at_once(std::string_view(FromEnvironment("NCCL_RUNTIME_CONNECT")) == "0"),
      tells_version(std::string_view(FromEnvironment("NCCL_DEBUG")) == "VERSION"),
      machine(MachineOfThis()),
      several_ranks(options.version >= kFirstSeveralRanks &&
                    std::string_view(FromEnvironment("NCCL_MULTI_RANK_GPU_ENABLE")) == "1"),
      fail_at(options.fail) {}

NcclBuffer Given(const NcclCall& call, const Rank& rank) {
  const size_t bytes = call.count * NcclWidth(call.type);
  const size_t ranks = static_cast<size_t>(rank.communicator->ranks());
  switch (call.kind) {
    case Call::kReceive: return {};
    case Call::kBroadcast: return rank.rank == call.other ? Bytes{call.from, bytes} : Bytes{};
    case Call::kReduceScatter: return {call.from, bytes * ranks};
    default: return {call.from, bytes};
  }
}
NcclBuffer Gotten(const NcclCall& call, const Rank& rank) {
  const size_t bytes = call.count * NcclWidth(call.type);
  const size_t ranks = static_cast<size_t>(rank.communicator->ranks());
  switch (call.kind) {
    case Call::kSend: return {};
    case Call::kReduce: return rank.rank == call.other ? Bytes{call.to, bytes} : Bytes{};
    case Call::kAllGather: return {call.to, bytes * ranks};
    default: return {call.to, bytes};
  }
}

// Outlives every other object: work of the driver's threads runs until the process ends.
World& TheWorld() {
  static World* const world = new World;
  return *world;
}

std::string NcclCall::Text() const {
  std::string text = fmt::format("{} of {} of type {}", kNames[kind], count, type);
  if (kind == kSend || kind == kReceive) {
    text += fmt::format(" {} {}", kind == kSend ? "to" : "from", other);
  } else if (kind == kReduce || kind == kBroadcast) {
    text += fmt::format(" with root {}", other);
  }
  if (kind == kAllReduce || kind == kReduce || kind == kReduceScatter) {
    text += fmt::format(" by {}", reduction);
  }
  return text;
}

bool Connected(const World& world, const Rank& rank) {
  const SharedState& state = rank.communicator->shared();
  const SharedState::Member* const end = state.members + state.ranks;
  StateLock lock(rank.communicator->shared());
  for (const auto& launch : rank.deferred) {
    for (const Launch::Task& task : launch->tasks) {
      if (task.call.collective()) {
        const auto connects = [](const SharedState::Member& member) { return member.connects; };
        const auto called = [&](const SharedState::Member& member) {
          return member.called > task.number;
        };
        const bool all = std::all_of(state.members, end, connects);
        if (!world.connects_at_once && !all) return false;
        if (task.registered && !std::all_of(state.members, end, called)) return false;
      } else if (!state.members[task.call.other].exchanges[rank.rank]) {
        return false;
      }
    }
  }
  return true;
}

// Compares where the values of a task lie with those of who came before; returns the misuse, if
// any.
std::string MatchMemory(Operation& operation, const Launch::Task& task, const Rank& rank) {
  const CallMemory memory = MemoryOf(task.call, rank);
  const bool first = std::exchange(operation.any, true) == false;
  if (first) operation.registered = memory.registered;
  if (memory.registered != operation.registered) {
    return fmt::format("rank {} calls {} on memory that is {}registered where another rank's is {}",
                       rank.rank, task.call.Text(), memory.registered ? "" : "not ",
                       memory.registered ? "not" : "registered");
  }
  for (const auto& [own, common] : {std::pair(&memory.from, &operation.from),
                                    std::pair(&memory.to, &operation.to)}) {
    if (!own->has_value()) continue;
    if (*common == Operation::kNowhere) *common = **own;
    if (*common == **own) continue;
    return fmt::format(
        "rank {} calls {} on bytes {} of a symmetric window where another rank's "
        "are bytes {}",
        rank.rank, task.call.Text(), **own, *common);
  }
  return "";
}

std::string Match(Launch& launch) {
  Rank& rank = *launch.rank;
  SharedState& state = rank.communicator->shared();
  StateLock lock(state);
  for (Launch::Task& task : launch.tasks) {
    const Call& call = task.call;
    const bool sends = call.kind == Call::kSend;
    if (call.collective()) {
      task.operation = state.Join(-1, -1, rank.collectives++, call);
      task.share = static_cast<size_t>(rank.rank);
    } else {
      const uint64_t number = sends ? rank.sent[call.other]++ : rank.received[call.other]++;
      const int from = sends ? rank.rank : call.other, to = sends ? call.other : rank.rank;
      task.operation = state.Join(from, to, number, call);
      task.share = sends ? 0 : 1;
    }
    if (task.operation == nullptr) return "the emulation has no room for so many calls at once";
    Operation& operation = *task.operation;
    const Call& first = operation.call;
    const bool rooted = call.kind == Call::kReduce || call.kind == Call::kBroadcast;
    const bool reduces = call.kind == Call::kAllReduce || call.kind == Call::kReduce ||
                         call.kind == Call::kReduceScatter;
    const bool alike = first.count == call.count && first.type == call.type &&
                       (!call.collective() || first.kind == call.kind) &&
                       (!rooted || first.other == call.other) &&
                       (!reduces || first.reduction == call.reduction);
    if (!alike) {
      return fmt::format("rank {} calls {} where another rank calls {}", rank.rank, call.Text(),
                         first.Text());
    }
    const std::string misuse = MatchMemory(operation, task, rank);
    if (!misuse.empty()) return misuse;
  }
  return "";
}

// Ranks of one communicator that are on one device run side by side, once each has the place.
bool MayBegin(World& world, const Launch& launch) {
  if (launch.rank->aborted) return true;
  if (launch.fails) return false;
  for (const auto& other : world.places[launch.rank->context]) {
    if (other.get() == &launch) {
      if (world.ordered) return true;
      continue;
    }
    const bool beside = other->rank != launch.rank &&
                        other->rank->communicator == launch.rank->communicator;
    if (world.ordered ? !(beside && other->begun) : other->begun && !beside) return false;
  }
  return true;
}

bool MayFinish(const Launch& launch) {
  if (launch.rank->aborted) return true;
  SharedState& state = launch.rank->communicator->shared();
  StateLock lock(state);
  return std::all_of(launch.tasks.begin(), launch.tasks.end(), [&](const Launch::Task& task) {
    const auto* const shares = task.operation->shares;
    return std::all_of(shares, shares + (task.call.collective() ? state.ranks : 2),
                       [](const Operation::Share& share) { return share.begun; });
  });
}

// Matches a launch with those of other ranks and puts it in line for its device's place; returns
// the misuse, if any.
std::string Enter(const std::shared_ptr<Launch>& launch) {
  World& world = TheWorld();
  std::lock_guard lock(world.mutex);
  if (std::string misuse = Match(*launch); !misuse.empty()) return world.last_error = misuse;
  ++launch->rank->pending;
  launch->fails = ++world.launches == world.fail_at;
  if (launch->fails) {
    launch->rank->error = 2;
    world.last_error = "a failure that was asked for";
  }
  world.places[launch->rank->context].push_back(launch);
  return "";
}

// Returns a work of a launch, with the memory that it touches.
LibraryWork WorkOf(const Launch& launch, const char* part) {
  LibraryWork work;
  work.name = fmt::format("the {} of {}", part, Describe(launch));
  for (const Launch::Task& task : launch.tasks) {
    for (const Bytes& bytes : {Given(task.call, *launch.rank), Gotten(task.call, *launch.rank)}) {
      if (bytes.bytes != 0) work.memory.push_back({bytes.start, bytes.bytes});
    }
  }
  return work;
}

int Append(std::shared_ptr<Launch> launch) {
  const Control& driver = *cgraph_emulation_control();
  if (const std::string misuse = Enter(launch); !misuse.empty()) {
    driver.misuse(misuse.c_str());
    return 4;
  }
  const bool registered = launch->tasks.front().registered;
  TraceNccl(Describe(*launch) + (registered ? " on registered memory" : ""));
  LibraryWork begin = WorkOf(*launch, "begin"), finish = WorkOf(*launch, "end");
  begin.may_begin = [launch] {
    std::lock_guard lock(TheWorld().mutex);
    return MayBegin(TheWorld(), *launch);
  };
  begin.run = [launch](uint64_t) { Begin(*launch); };
  finish.may_begin = [launch] {
    std::lock_guard lock(TheWorld().mutex);
    return MayFinish(*launch);
  };
  finish.run = [launch](uint64_t) { Finish(launch); };
  const bool issued = driver.issue(launch->stream, std::move(begin)) == CUDA_SUCCESS &&
                      driver.issue(launch->stream, std::move(finish)) == CUDA_SUCCESS;
  return issued ? 0 : 1;
}

void TraceNccl(const std::string& line) {
  const std::string& path = TheWorld().options.trace;
  if (path.empty()) return;
  if (std::FILE* file = std::fopen(path.c_str(), "a")) {
    fmt::print(file, "{}\n", line);
    std::fclose(file);
  }
}

void NcclMisuse(const std::string& sentence) {
  cgraph_emulation_control()->misuse(sentence.c_str());
}

}  // namespace cgraph::emulation
