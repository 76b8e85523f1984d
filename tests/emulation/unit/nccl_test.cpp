// The emulated NCCL: what it does, what it waits for, and what it calls misuse.
#include <cuda.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/emulation/nccl/control.h"
#include "tests/emulation/nccl/functions.h"
#include "tests/emulation/unit/gpu.h"

namespace cgraph::emulation {
namespace {

using namespace cuda;
namespace numbers = cuda::nccl;

constexpr int kI64 = numbers::kI64, kSum = numbers::kSum, kInvalid = 4, kMisused = 5;

const void* At(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }
void* To(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

int StateOf(NcclComm handle) {
  int state = -1;
  REQUIRE(ncclCommGetAsyncError(handle, &state) == numbers::kSuccess);
  return state;
}
// Asks until the state is no longer "in progress"; gives up after a while.
int Settled(NcclComm handle) {
  for (int i = 0; i < 1000; ++i) {
    if (const int state = StateOf(handle); state != numbers::kInProgress) return state;
  }
  return numbers::kInProgress;
}

// Pair: two devices, each with a stream, and communicators of them.
struct Pair {
  Gpu first{0}, second{1};
  Gpu* gpus[2] = {&first, &second};
  CUstream streams[2];
  std::vector<NcclComm> handles;  // two for each communicator

  explicit Pair(int communicators = 1) {
    for (int rank : {0, 1}) {
      gpus[rank]->Use();
      streams[rank] = gpus[rank]->Stream();
    }
    for (int i = 0; i < communicators; ++i) Make();
  }
  ~Pair() {
    for (NcclComm handle : handles) {
      if (handle != nullptr) ncclCommAbort(handle);
    }
  }

  void Make() {
    NcclId id;
    REQUIRE(ncclGetUniqueId(&id) == 0);
    NcclConfig config;
    config.blocking = 0;
    REQUIRE(ncclGroupStart() == 0);
    for (int rank : {0, 1}) {
      gpus[rank]->Use();
      handles.push_back(nullptr);
      REQUIRE(ncclCommInitRankConfig(&handles.back(), 2, id, rank, &config) == 0);
    }
    REQUIRE(ncclGroupEnd() == numbers::kInProgress);
    for (int rank : {2, 1}) REQUIRE(Settled(handles[handles.size() - rank]) == 0);
  }
  // Calls for each rank in one group.
  void Both(const std::function<int(int rank)>& call) {
    REQUIRE(ncclGroupStart() == 0);
    for (int rank : {0, 1}) {
      gpus[rank]->Use();
      REQUIRE(call(rank) == 0);
    }
    const int ended = ncclGroupEnd();
    REQUIRE((ended == 0 || ended == numbers::kInProgress));
    for (NcclComm handle : handles) {
      if (handle != nullptr) REQUIRE(Settled(handle) == 0);
    }
  }
  // Words of a rank: i * scale + offset.
  CUdeviceptr Filled(int rank, int64_t count, int64_t scale, int64_t offset) {
    gpus[rank]->Use();
    const CUdeviceptr words = gpus[rank]->Words(count);
    CHECK_DONE(gpus[rank]->Fill(streams[rank], words, count, scale, offset));
    return words;
  }
  std::vector<int64_t> Read(int rank, CUdeviceptr words, size_t count) {
    gpus[rank]->Use();
    return gpus[rank]->Read(streams[rank], words, count);
  }
  // Lets the emulation go on for a while.
  void Linger() {
    for (int i = 0; i < 300; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      for (int rank : {0, 1}) {
        gpus[rank]->Use();
        cuStreamQuery(streams[rank]);
      }
    }
  }
  bool Idle(int rank) {
    gpus[rank]->Use();
    return cuStreamQuery(streams[rank]) == CUDA_SUCCESS;
  }
  int AllReduce(int rank, CUdeviceptr words, size_t count = 4, size_t communicator = 0) {
    gpus[rank]->Use();
    return ncclAllReduce(At(words), To(words), count, kI64, kSum,
                         handles[2 * communicator + rank], streams[rank]);
  }
};

using Words = std::vector<int64_t>;

}  // namespace

TEST_CASE("NCCL's collectives") {
  Pair pair;
  CUdeviceptr in[2], out[2];
  for (int rank : {0, 1}) {
    in[rank] = pair.Filled(rank, 4, 1, 10 * rank);  // 0 1 2 3, 10 11 12 13
    out[rank] = pair.Filled(rank, 8, 0, -1);
  }
  SECTION("all_reduce") {
    pair.Both([&](int r) {
      return ncclAllReduce(At(in[r]), To(out[r]), 4, kI64, kSum, pair.handles[r],
                           pair.streams[r]);
    });
    for (int rank : {0, 1}) CHECK(pair.Read(rank, out[rank], 4) == Words{10, 12, 14, 16});
  }
  SECTION("reduce") {
    pair.Both([&](int r) {
      return ncclReduce(At(in[r]), r == 1 ? To(out[r]) : nullptr, 4, kI64, numbers::kMax, 1,
                        pair.handles[r], pair.streams[r]);
    });
    CHECK(pair.Read(1, out[1], 4) == Words{10, 11, 12, 13});
    CHECK(pair.Read(0, out[0], 1) == Words{-1});
  }
  SECTION("reduce_scatter, broadcast and all_gather in one group") {
    CUdeviceptr more[2] = {pair.Filled(0, 2, 0, 7), pair.Filled(1, 2, 0, 7)};
    pair.Both([&](int r) {
      NcclComm handle = pair.handles[r];
      return ncclReduceScatter(At(in[r]), To(out[r]), 2, kI64, kSum, handle, pair.streams[r]) +
             ncclBroadcast(At(in[r]), To(more[r]), 2, kI64, 1, handle, pair.streams[r]) +
             ncclAllGather(At(in[r]), To(out[r] + 32), 2, kI64, handle, pair.streams[r]);
    });
    CHECK(pair.Read(0, out[0], 8) == Words{10, 12, -1, -1, 0, 1, 10, 11});
    CHECK(pair.Read(1, out[1], 2) == Words{14, 16});
    for (int rank : {0, 1}) CHECK(pair.Read(rank, more[rank], 2) == Words{10, 11});
  }
  SECTION("messages, to oneself as well") {
    pair.Both([&](int r) {
      NcclComm handle = pair.handles[r];
      return ncclSend(At(in[r]), 1, kI64, 0, handle, pair.streams[r]) +
             ncclSend(At(in[r] + 8), 1, kI64, 1, handle, pair.streams[r]) +
             ncclRecv(To(out[r]), 1, kI64, 0, handle, pair.streams[r]) +
             ncclRecv(To(out[r] + 8), 1, kI64, 1, handle, pair.streams[r]);
    });
    CHECK(pair.Read(0, out[0], 2) == Words{0, 10});
    CHECK(pair.Read(1, out[1], 2) == Words{1, 11});
  }
}

TEST_CASE("a rank's first call is in progress until the others have called theirs") {
  Pair pair;
  const CUdeviceptr a = pair.Filled(0, 4, 1, 0), b = pair.Filled(1, 4, 1, 1);
  pair.gpus[0]->Use();
  CHECK(pair.AllReduce(0, a) == numbers::kInProgress);
  CHECK(Settled(pair.handles[0]) == numbers::kInProgress);
  CHECK(pair.AllReduce(1, b) == 0);
  CHECK(Settled(pair.handles[0]) == 0);
  CHECK(pair.Read(0, a, 4) == Words{1, 3, 5, 7});
  CHECK(pair.Read(1, b, 4) == Words{1, 3, 5, 7});
}

TEST_CASE("a member waits for the others; a communicator that is aborted lets go") {
  Pair pair;
  const CUdeviceptr a = pair.Filled(0, 4, 1, 0), b = pair.Filled(1, 4, 1, 1);
  pair.Both([&](int r) { return pair.AllReduce(r, r == 0 ? a : b); });
  REQUIRE(pair.AllReduce(0, a) == 0);
  pair.Linger();
  CHECK(!pair.Idle(0));
  CHECK(pair.Idle(1));
  const uint64_t before = cgraph_emulated_nccl()->aborted();
  CHECK(ncclCommAbort(pair.handles[0]) == 0);
  pair.handles[0] = nullptr;
  pair.gpus[0]->Use();
  CHECK_DONE(cuStreamSynchronize(pair.streams[0]));
  CHECK(cgraph_emulated_nccl()->aborted() == before + 1);
}

TEST_CASE("what a member gives does not change while it is under way, unless it is aborted") {
  Pair pair;
  const Counted counted;
  const CUdeviceptr a = pair.Filled(0, 4, 1, 0), b = pair.Filled(1, 4, 1, 1);
  pair.Both([&](int r) { return pair.AllReduce(r, r == 0 ? a : b); });
  REQUIRE(pair.AllReduce(0, a) == 0);
  pair.Linger();
  pair.gpus[0]->Use();
  const CUstream other = pair.gpus[0]->Stream();
  CHECK_DONE(pair.gpus[0]->Fill(other, a, 4, 0, -1));
  CHECK_DONE(cuStreamSynchronize(other));
  REQUIRE(pair.AllReduce(1, b) == 0);
  SECTION("changed") {
    pair.gpus[0]->Use();
    CHECK_DONE(cuStreamSynchronize(pair.streams[0]));
    CHECK(counted.Sentence() ==
          "what rank 0 of 2 gives to all_reduce of 4 of type 4 by 0 was changed while it was under "
          "way");
  }
  SECTION("aborted meanwhile") {
    int aborted = -1;
    std::thread abort([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // has likely been seen
      cuCtxSetCurrent(pair.first.context());
      aborted = ncclCommAbort(std::exchange(pair.handles[0], nullptr));
    });
    pair.gpus[0]->Use();
    CHECK_DONE(cuStreamSynchronize(pair.streams[0]));
    abort.join();
    CHECK(aborted == 0);
    CHECK(counted.Sentence() == "not one misuse; the last: ");
  }
}

TEST_CASE("communicators in different orders on two devices hang") {
  Pair pair(2);
  const CUdeviceptr a = pair.Filled(0, 4, 1, 0), b = pair.Filled(1, 4, 1, 1);
  for (size_t c : {0, 1}) {
    REQUIRE(pair.AllReduce(0, a, 4, c) == numbers::kInProgress);
    REQUIRE(pair.AllReduce(1, b, 4, c) == 0);
    REQUIRE(Settled(pair.handles[2 * c]) == 0);
  }
  REQUIRE(pair.AllReduce(0, a, 4, 0) == 0);
  REQUIRE(pair.AllReduce(0, a, 4, 1) == 0);
  REQUIRE(pair.AllReduce(1, b, 4, 1) == 0);
  REQUIRE(pair.AllReduce(1, b, 4, 0) == 0);
  pair.Linger();
  CHECK(!pair.Idle(0));
  CHECK(!pair.Idle(1));
}

TEST_CASE("a launch that fails is reported to its rank and leaves the others hanging") {
  Pair pair;
  const CUdeviceptr a = pair.Filled(0, 4, 1, 0), b = pair.Filled(1, 4, 1, 1);
  pair.Both([&](int r) { return pair.AllReduce(r, r == 0 ? a : b); });
  cgraph_emulated_nccl()->fail_at(cgraph_emulated_nccl()->launches() + 1);
  REQUIRE(pair.AllReduce(0, a) == 0);
  REQUIRE(pair.AllReduce(1, b) == 0);
  CHECK(StateOf(pair.handles[0]) == 2);
  CHECK(std::string(ncclGetLastError(nullptr)) == "a failure that was asked for");
  CHECK(StateOf(pair.handles[1]) == 0);
  pair.Linger();
  CHECK(!pair.Idle(1));
}

TEST_CASE("communicators that NCCL refuses") {
  Pair pair(0);
  const Counted counted;
  NcclId id;
  REQUIRE(ncclGetUniqueId(&id) == 0);
  NcclConfig config;
  config.blocking = 0;
  NcclComm handles[2];
  SECTION("two ranks on one device") {
    REQUIRE(ncclGroupStart() == 0);
    for (int rank : {0, 1}) {
      REQUIRE(ncclCommInitRankConfig(&handles[rank], 2, id, rank, &config) == 0);
    }
    REQUIRE(ncclGroupEnd() == numbers::kInProgress);
    CHECK(Settled(handles[1]) == kMisused);
    CHECK(std::string(ncclGetLastError(nullptr)) == "Duplicate GPU detected");
    for (NcclComm handle : handles) ncclCommAbort(handle);
  }
  SECTION("a configuration that was not initialised") {
    config.magic = 0;
    CHECK(ncclCommInitRankConfig(handles, 2, id, 0, &config) == kInvalid);
    CHECK(counted.Sentence() == "NCCL: a communicator's configuration was not initialised");
  }
}

TEST_CASE("a communicator that is finalized by all ends") {
  Pair pair;
  const uint64_t live = cgraph_emulated_nccl()->live();
  const CUdeviceptr a = pair.Filled(0, 4, 1, 0), b = pair.Filled(1, 4, 1, 1);
  pair.Both([&](int r) { return pair.AllReduce(r, r == 0 ? a : b); });
  for (int rank : {0, 1}) pair.Read(rank, rank == 0 ? a : b, 4);
  CHECK(ncclCommFinalize(pair.handles[0]) == numbers::kInProgress);
  CHECK(Settled(pair.handles[0]) == numbers::kInProgress);
  CHECK(ncclCommFinalize(pair.handles[1]) == 0);
  for (NcclComm& handle : pair.handles) {
    CHECK(Settled(handle) == 0);
    CHECK(ncclCommDestroy(handle) == 0);
    handle = nullptr;
  }
  CHECK(cgraph_emulated_nccl()->live() == live - 2);
}

TEST_CASE("misuse of NCCL") {
  Pair pair;
  const CUdeviceptr a = pair.Filled(0, 4, 1, 0), b = pair.Filled(1, 4, 1, 1);
  pair.Both([&](int r) { return pair.AllReduce(r, r == 0 ? a : b); });
  for (int rank : {0, 1}) pair.Read(rank, rank == 0 ? a : b, 4);
  const Counted counted;
  const auto call = [&](int rank, CUdeviceptr words) {
    return ncclAllReduce(At(words), To(words), 4, kI64, kSum, pair.handles[rank],
                         pair.streams[rank]);
  };
  SECTION("another device is current") {
    pair.gpus[1]->Use();
    CHECK(call(0, a) == kMisused);
    CHECK(counted.Sentence() ==
          "NCCL: ncclAllReduce of rank 0 is called while another rank's device is current");
  }
  SECTION("counts that differ") {
    CHECK(pair.AllReduce(0, a) == 0);
    CHECK(pair.AllReduce(1, b, 2) == kInvalid);
    CHECK(counted.Sentence() == "rank 1 calls all_reduce of 2 of type 4 by 0 where another rank "
                                "calls all_reduce of 4 of type 4 by 0");
  }
  SECTION("other collectives") {
    CHECK(pair.AllReduce(0, a) == 0);
    pair.gpus[1]->Use();
    CHECK(ncclBroadcast(At(b), To(b), 4, kI64, 0, pair.handles[1], pair.streams[1]) == kInvalid);
    CHECK(counted.Sentence() == "rank 1 calls broadcast of 4 of type 4 with root 0 where another "
                                "rank calls all_reduce of 4 of type 4 by 0");
  }
  SECTION("values that change while they are under way") {
    pair.gpus[0]->Use();
    const CUdeviceptr from = pair.Filled(0, 4, 1, 0);
    REQUIRE(ncclAllReduce(At(from), To(a), 4, kI64, kSum, pair.handles[0], pair.streams[0]) == 0);
    pair.Linger();
    pair.gpus[0]->Use();
    CUstream other = pair.gpus[0]->Stream();
    CHECK_DONE(pair.gpus[0]->Fill(other, from, 4, 5, 5));
    CHECK_DONE(cuStreamSynchronize(other));
    REQUIRE(pair.AllReduce(1, b) == 0);
    for (int rank : {0, 1}) pair.Read(rank, rank == 0 ? a : b, 4);
    CHECK(counted.Sentence() == "what rank 0 of 2 gives to all_reduce of 4 of type 4 by 0 was "
                                "changed while it was under way");
  }
  SECTION("destroyed, and used") {
    NcclComm handle = pair.handles[0];
    CHECK(ncclCommDestroy(handle) == 0);
    pair.handles[0] = nullptr;
    pair.gpus[0]->Use();
    CHECK(ncclAllReduce(At(a), To(a), 4, kI64, kSum, handle, pair.streams[0]) == kInvalid);
    CHECK(counted.Sentence() ==
          "NCCL: ncclAllReduce is called with a communicator that is none, or was destroyed");
  }
  SECTION("destroyed with work under way") {
    REQUIRE(pair.AllReduce(0, a) == 0);
    REQUIRE(pair.AllReduce(1, b) == 0);
    cgraph_emulated_nccl()->fail_at(cgraph_emulated_nccl()->launches() + 1);
    REQUIRE(pair.AllReduce(0, a) == 0);
    CHECK(ncclCommDestroy(pair.handles[0]) == kMisused);
    CHECK(counted.Sentence() ==
          "NCCL: ncclCommDestroy is called while work of the rank is under way");
    pair.handles[0] = nullptr;
  }
  SECTION("a group that has not ended") {
    CHECK(ncclGroupStart() == 0);
    int state = 0;
    CHECK(ncclCommGetAsyncError(pair.handles[0], &state) == kMisused);
    CHECK(counted.Sentence() ==
          "NCCL: ncclCommGetAsyncError is called in a group that has not ended");
    CHECK(ncclGroupEnd() == 0);
    CHECK(ncclGroupEnd() == kMisused);
    CHECK(counted.Sentence() == "NCCL: ncclGroupEnd is called without a group");
  }
  SECTION("called after it was finalized") {
    ncclCommFinalize(pair.handles[0]);
    CHECK(pair.AllReduce(0, a) == kMisused);
    CHECK(counted.Sentence() == "NCCL: ncclAllReduce is called after ncclCommFinalize");
  }
}

// NCCL's memory of both ranks of a pair, 8 words each, zeroed.
struct NcclMemory {
  explicit NcclMemory(Pair& pair) : pair(pair) {
    for (int rank : {0, 1}) {
      pair.gpus[rank]->Use();
      REQUIRE(ncclMemAlloc(&words[rank], 64) == 0);
      CHECK_DONE(pair.gpus[rank]->Fill(pair.streams[rank], Of(rank), 8, 0, 0));
      CHECK_DONE(cuStreamSynchronize(pair.streams[rank]));
    }
  }
  ~NcclMemory() {
    for (NcclComm& handle : pair.handles) {
      if (handle != nullptr) ncclCommAbort(std::exchange(handle, nullptr));
    }
    for (int rank : {0, 1}) {
      pair.gpus[rank]->Use();
      cuStreamSynchronize(pair.streams[rank]);
      if (words[rank] != nullptr) ncclMemFree(words[rank]);
    }
  }
  CUdeviceptr Of(int rank) const { return reinterpret_cast<CUdeviceptr>(words[rank]); }

  Pair& pair;
  void* words[2] = {};
};

TEST_CASE("collectives on memory that is registered") {
  Pair pair;
  NcclMemory memory(pair);
  SECTION("at each rank") {
    void* registered[2];
    for (int rank : {0, 1}) {
      REQUIRE(ncclCommRegister(pair.handles[rank], memory.words[rank], 64, &registered[rank]) == 0);
    }
    // Ranks tell each other where their values lie before anything is issued.
    for (int round : {0, 1}) {
      INFO("round " << round);
      CHECK(pair.AllReduce(0, memory.Of(0)) == numbers::kInProgress);
      CHECK(Settled(pair.handles[0]) == numbers::kInProgress);
      CHECK(pair.AllReduce(1, memory.Of(1)) == 0);
      CHECK(Settled(pair.handles[0]) == 0);
    }
    for (int rank : {0, 1}) {
      CHECK(pair.Read(rank, memory.Of(rank), 4) == Words{0, 0, 0, 0});
      CHECK(ncclCommDeregister(pair.handles[rank], registered[rank]) == 0);
    }
  }
  SECTION("in windows, which wait for those of the others") {
    NcclWindow windows[2] = {};
    REQUIRE(ncclCommWindowRegister(pair.handles[0], memory.words[0], 64, &windows[0],
                                   numbers::kSymmetricWindow) == numbers::kInProgress);
    CHECK(Settled(pair.handles[0]) == numbers::kInProgress);
    CHECK(windows[0] == nullptr);
    REQUIRE(ncclCommWindowRegister(pair.handles[1], memory.words[1], 64, &windows[1],
                                   numbers::kSymmetricWindow) == numbers::kInProgress);
    for (int rank : {0, 1}) {
      CHECK(Settled(pair.handles[rank]) == 0);
      CHECK(windows[rank] != nullptr);
    }
    pair.Both([&](int r) { return pair.AllReduce(r, memory.Of(r)); });
    for (int rank : {0, 1}) {
      pair.Read(rank, memory.Of(rank), 4);
      CHECK(ncclCommWindowDeregister(pair.handles[rank], windows[rank]) == 0);
    }
  }
}

TEST_CASE("misuse of registered memory") {
  Pair pair;
  NcclMemory memory(pair);
  const CUdeviceptr plain[2] = {pair.Filled(0, 8, 0, 0), pair.Filled(1, 8, 0, 0)};
  pair.Both([&](int r) { return pair.AllReduce(r, plain[r]); });
  for (int rank : {0, 1}) pair.Read(rank, plain[rank], 4);
  const Counted counted;
  NcclWindow windows[2] = {};
  void* registered[2] = {};
  const auto make_window = [&](int rank, const void* words, size_t bytes) {
    return ncclCommWindowRegister(pair.handles[rank], const_cast<void*>(words), bytes,
                                  &windows[rank], numbers::kSymmetricWindow);
  };
  SECTION("a window of other memory") {
    CHECK(make_window(0, At(plain[0]), 64) == kInvalid);
    CHECK(counted.Sentence() ==
          "NCCL: a window is made of memory that ncclMemAlloc did not allocate");
  }
  SECTION("windows of different sizes") {
    CHECK(make_window(0, memory.words[0], 64) == numbers::kInProgress);
    CHECK(make_window(1, memory.words[1], 32) == kInvalid);
    CHECK(counted.Sentence() ==
          "NCCL: rank 1 makes a window of 32 bytes where another rank makes one of 64");
  }
  SECTION("freed while it is registered") {
    REQUIRE(ncclCommRegister(pair.handles[0], memory.words[0], 64, &registered[0]) == 0);
    CHECK(ncclMemFree(memory.words[0]) == kMisused);
    CHECK(counted.Sentence() ==
          "NCCL: ncclMemFree is called with memory that 1 rank has registered");
    CHECK(ncclMemFree(To(plain[0])) == kInvalid);
    CHECK(counted.Sentence() ==
          "NCCL: ncclMemFree is called with what ncclMemAlloc did not allocate");
    CHECK(ncclCommDeregister(pair.handles[0], registered[0]) == 0);
    CHECK(ncclCommDeregister(pair.handles[0], registered[0]) == kMisused);
    CHECK(counted.Sentence() ==
          "NCCL: ncclCommDeregister is called with what is not registered, or no longer");
  }
  SECTION("registered at some ranks only") {
    REQUIRE(ncclCommRegister(pair.handles[0], memory.words[0], 64, &registered[0]) == 0);
    CHECK(pair.AllReduce(0, memory.Of(0)) == numbers::kInProgress);
    pair.AllReduce(1, memory.Of(1));
    StateOf(pair.handles[0]);
    CHECK(counted.Sentence() == "rank 0 calls all_reduce of 4 of type 4 by 0 on memory that is "
                                "registered where another rank's is not");
  }
  SECTION("at different offsets of windows") {
    for (int rank : {0, 1}) make_window(rank, memory.words[rank], 64);
    for (int rank : {0, 1}) REQUIRE(Settled(pair.handles[rank]) == 0);
    pair.AllReduce(0, memory.Of(0));
    pair.AllReduce(1, memory.Of(1) + 8);
    StateOf(pair.handles[0]);
    CHECK(counted.Sentence() == "rank 0 calls all_reduce of 4 of type 4 by 0 on bytes 0 of a "
                                "symmetric window where another rank's are bytes 8");
  }
}

}  // namespace cgraph::emulation
