// GCC's coverage for Clang's libFuzzer. GCC calls a function at every edge; libFuzzer wants a table
// of counters that it can look at after a run, with a position in the program for each. Here every
// edge has the counter that its address hashes to: two edges that share a counter cannot be told
// apart, which with four times as many counters as edges is rare enough. The positions are made up;
// they only serve libFuzzer's reports.
#include <cstddef>
#include <cstdint>

#define NOT_COVERED \
  __attribute__((no_sanitize_coverage, no_sanitize_address, no_sanitize_undefined))

extern "C" {
void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end);
void __sanitizer_cov_pcs_init(const uintptr_t* begin, const uintptr_t* end);
extern char __executable_start;
}

namespace {

constexpr size_t kCounterBits = 18;
constexpr size_t kCounters = size_t{1} << kCounterBits;
uint8_t counters[kCounters];
struct CodePosition {
  uintptr_t address, flags;
} places[kCounters];

// Runs before main, as Clang's own code would.
NOT_COVERED __attribute__((constructor)) void Register() {
  for (size_t i = 0; i < kCounters; ++i) places[i] = {i + 1, 0};
  __sanitizer_cov_8bit_counters_init(counters, counters + kCounters);
  __sanitizer_cov_pcs_init(&places[0].address, &places[0].address + 2 * kCounters);
}

}  // namespace

extern "C" NOT_COVERED void __sanitizer_cov_trace_pc() {
  const auto address = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) -
                       reinterpret_cast<uintptr_t>(&__executable_start);
  ++counters[(address * 0x9e3779b97f4a7c15u) >> (64 - kCounterBits)];
}

// Called at comparisons of floats, of which libFuzzer learns nothing.
extern "C" NOT_COVERED void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" NOT_COVERED void __sanitizer_cov_trace_cmpd(double, double) {}
