// The emulated grid: barriers, shuffles, votes, atomics, and what it says of wrong kernels.
#include "tests/emulation/grid/run_grid.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/emulation/death.h"
#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

template <typename... Arguments>
void Run(const char* name, dim3 grid, dim3 block, uint64_t seed, Arguments... arguments) {
  const HostKernel* kernel = FindHostKernel(name);
  REQUIRE(kernel != nullptr);
  REQUIRE(kernel->parameters == std::vector<size_t>{sizeof(Arguments)...});
  void* parameters[] = {&arguments...};
  RunGrid(*kernel, grid, block, 0, parameters, seed);
}

std::vector<int64_t> Numbers(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = i * i % 1001 - 300;
  return numbers;
}

std::vector<int64_t> RowSums(const std::vector<int64_t>& in, size_t n) {
  std::vector<int64_t> sums;
  for (size_t row = 0; row * n < in.size(); ++row) {
    sums.push_back(std::accumulate(in.begin() + static_cast<ptrdiff_t>(row * n),
                                   in.begin() + static_cast<ptrdiff_t>((row + 1) * n),
                                   int64_t{0}));
  }
  return sums;
}

}  // namespace

TEST_CASE("a reduction with barriers and shuffles is right for every order of threads") {
  const int64_t rows = 7, n = 1000;
  const auto in = Numbers(rows * n);
  for (const unsigned threads : {32u, 64u, 256u, 1024u}) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      std::vector<int64_t> out(rows, -1);
      Run("emulation_row_sum", {rows}, {threads}, seed, in.data(), out.data(), n);
      REQUIRE(out == RowSums(in, n));
    }
  }
}

TEST_CASE("a barrier that is missing is found by some order of threads") {
  const int64_t rows = 2, n = 64;
  const auto in = Numbers(rows * n);
  int wrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int64_t> out(rows, -1);
    Run("emulation_row_sum_racy", {rows}, {64}, seed, in.data(), out.data(), n);
    wrong += out != RowSums(in, n);
  }
  CHECK(wrong > 10);
}

TEST_CASE("every thread of a grid runs once, in all extents") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    unsigned long long total = 0;
    int least = 0;
    Run("emulation_count", {5, 3, 2}, {4, 2, 3}, seed, &total, &least);
    CHECK(total == 5 * 3 * 2 * 4 * 2 * 3);
    CHECK(least == -4);
    Run("emulation_count", {0}, {32}, seed, &total, &least);
    CHECK(total == 5 * 3 * 2 * 4 * 2 * 3);
  }
}

TEST_CASE("shuffles and votes give what the lanes brought") {
  struct Results {
    int64_t values[10];
  };
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<Results> out(64);
    Results start{};
    start.values[0] = int64_t{1} << 40;
    Run("emulation_warp_calls", {1}, {64}, seed, out.data(), start);
    uint32_t thirds = 0;
    for (int lane = 0; lane < 32; lane += 3) thirds |= 1u << lane;
    for (int thread = 0; thread < 64; ++thread) {
      const int lane = thread % 32;
      const auto& values = out[static_cast<size_t>(thread)].values;
      CHECK(values[0] == (int64_t{1} << 40) + thirds);
      CHECK(values[1] == 5);
      CHECK(values[2] == (lane < 4 ? lane : lane - 4));
      CHECK(values[3] == (lane >= 28 ? lane : lane + 4));
      CHECK(values[4] == 3 * (lane % 8 == 7 ? lane : lane + 1));
      CHECK(values[5] == 16);
      CHECK(values[6] == 1);
      CHECK(values[7] == 0);
      CHECK(values[8] == (lane < 8 ? lane ^ 1 : 0));
      CHECK(values[9] == 2);
    }
  }
}

TEST_CASE("a barrier that some threads of a block do not reach is a misuse") {
  CountMisuse(true);
  ForgetMisuse();
  std::array<int64_t, 64> to{};
  Run("emulation_divergent", {1}, {64}, 3, to.data());
  CHECK(MisuseCount() == 1);
  CHECK(LastMisuse() == "kernel emulation_divergent, block (0, 0, 0): 32 threads wait in "
                        "__syncthreads for 32 that have ended");
  ForgetMisuse();
  CountMisuse(false);
}

TEST_CASE("misuse aborts with a sentence, unless it is counted") {
  std::array<int64_t, 64> to{};
  CHECK(DeathOf([&] { Run("emulation_divergent", {1}, {64}, 0, to.data()); }) ==
        "emulated GPU: misuse: kernel emulation_divergent, block (0, 0, 0): 32 threads wait in "
        "__syncthreads for 32 that have ended\n");
  CHECK(DeathOf([&] { Run("emulation_deadlock", {1}, {32}, 0, to.data()); }) ==
        "emulated GPU: misuse: kernel emulation_deadlock, block (0, 0, 0): 16 of 32 threads wait "
        "in __syncthreads, the others for lanes of their warps that do not come\n");
  CHECK(DeathOf([] {}).empty());
}

TEST_CASE("threads of the host run grids at the same time") {
  const int64_t rows = 20, n = 300;
  const auto in = Numbers(rows * n);
  std::array<std::vector<int64_t>, 3> out;
  std::vector<std::thread> threads;
  for (auto& sums : out) {
    sums.resize(rows);
    threads.emplace_back([&in, &sums] {
      for (uint64_t seed = 1; seed < 5; ++seed) {
        int64_t count = n;
        const int64_t* from = in.data();
        int64_t* to = sums.data();
        void* parameters[] = {&from, &to, &count};
        RunGrid(*FindHostKernel("emulation_row_sum"), {rows}, {128}, 0, parameters, seed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& sums : out) CHECK(sums == RowSums(in, n));
}

}  // namespace cgraph::emulation
