#include "tests/emulation/nccl/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace cgraph::emulation {
namespace {

[[noreturn]] void Refuse(std::string_view word, std::string_view value, const char* why) {
  fmt::print(stderr, "emulated NCCL: CGRAPH_EMULATED_NCCL says {}={}, {}\n", word, value, why);
  std::fflush(stderr);
  std::_Exit(2);
}

uint64_t NumberOf(std::string_view word, std::string_view value) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    Refuse(word, value, "which is no number");
  }
  return number;
}

}  // namespace

NcclOptions ParseNcclOptions(std::string_view text) {
  NcclOptions options;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view all = text.substr(0, comma);
    const size_t equals = all.find('=');
    const std::string_view word = all.substr(0, equals);
    const std::string_view value = equals == all.npos ? "" : all.substr(equals + 1);
    if (word == "version") {
      options.version = static_cast<int>(NumberOf(word, value));
    } else if (word == "order") {
      if (value != "ring" && value != "ranks") Refuse(word, value, "not ring or ranks");
      options.ring = value == "ring";
    } else if (word == "abort") {
      options.abort = NumberOf(word, value);
    } else if (word == "fail") {
      options.fail = NumberOf(word, value);
    } else if (word == "memory") {
      if (value != "none" && value != "some") Refuse(word, value, "not none or some");
      options.memory = value == "none" ? NcclOptions::Memory::kNone : NcclOptions::Memory::kSome;
    } else if (word == "trace") {
      options.trace = value;
    } else {
      Refuse(word, value, "and no option is called so");
    }
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return options;
}

}  // namespace cgraph::emulation
