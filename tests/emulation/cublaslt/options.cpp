#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/emulation/cublaslt/objects.h"

namespace cgraph::emulation {
namespace {

[[noreturn]] void Refuse(std::string_view word) {
  fmt::print(stderr, "emulated cuBLASLt: CGRAPH_EMULATED_CUBLASLT says {}, which is no option\n",
             word);
  std::fflush(stderr);
  std::_Exit(2);
}

LtOptions ParseLtOptions(std::string_view text) {
  LtOptions options;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const size_t equals = word.find('=');
    if (equals == word.npos) Refuse(word);
    const std::string_view name = word.substr(0, equals);
    uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(word.data() + equals + 1, word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) Refuse(word);
    if (name == "seed") options.seed = number;
    else if (name == "version") options.version = number;
    else if (name == "refuses") options.refuses = number != 0;
    else if (name == "fail") options.fail = number;
    else if (name == "report") options.report = number != 0;
    else Refuse(word);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return options;
}

// At the end of the process.
struct Report {
  ~Report() {
    if (!TheLtOptions().report) return;
    const LtCounts counts = cgraph_emulated_cublaslt_counts();
    fmt::print(stderr,
               "emulated cuBLASLt: {} products by {} algorithms, {} shapes without one, {} handles "
               "and {} descriptions left\n",
               counts.products, counts.chosen, counts.refused, counts.handles, counts.objects);
  }
} report;

}  // namespace

const LtOptions& TheLtOptions() {
  static const LtOptions* const options = [] {
    const char* text = std::getenv("CGRAPH_EMULATED_CUBLASLT");
    return new LtOptions(ParseLtOptions(text == nullptr ? "" : text));
  }();
  return *options;
}

LtMachine& TheLtMachine() {
  static LtMachine* const machine = new LtMachine;
  return *machine;
}

}  // namespace cgraph::emulation

cgraph::emulation::LtCounts cgraph_emulated_cublaslt_counts() {
  auto& machine = cgraph::emulation::TheLtMachine();
  std::lock_guard lock(machine.mutex);
  return machine.counts;
}
