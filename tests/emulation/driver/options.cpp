#include "tests/emulation/driver/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace cgraph::emulation {
namespace {

[[noreturn]] void Refuse(std::string_view word, std::string_view value, const char* why) {
  fmt::print(stderr, "emulated GPU: CGRAPH_EMULATION says {}={}, {}\n", word, value, why);
  std::fflush(stderr);
  std::_Exit(2);
}

uint64_t NumberOf(std::string_view word, std::string_view value, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number > most) {
    Refuse(word, value, "which is no number, or too large a one");
  }
  return number;
}

void SetOption(Options& options, std::string_view word, std::string_view value) {
  const auto number = [&](uint64_t most) { return NumberOf(word, value, most); };
  if (word == "devices") {
    options.devices = static_cast<int>(number(kMostDevices));
  } else if (word == "old") {
    options.old = static_cast<int>(number(kMostDevices));
  } else if (word == "seed") {
    options.seed = number(UINT64_MAX);
  } else if (word == "thread") {
    options.threads = static_cast<int>(number(16));
  } else if (word == "memory") {
    options.memory = number(UINT64_MAX);
  } else if (word == "fail") {
    const size_t colon = value.find(':');
    options.sticky = colon != value.npos;
    if (options.sticky && value.substr(colon) != ":sticky") {
      Refuse(word, value, "where only :sticky may stand behind the number");
    }
    value = value.substr(0, colon);
    options.fail = number(UINT64_MAX);
  } else if (word == "only") {
    options.only = static_cast<int>(number(kMostDevices));
  } else if (word == "misuse") {
    if (value != "count" && value != "abort") Refuse(word, value, "not count or abort");
    options.count = value == "count";
  } else if (word == "pageable") {
    options.pageable = number(1) != 0;
  } else if (word == "host_pointers") {
    options.host_pointers = number(1) != 0;
  } else if (word == "peers") {
    options.peers = number(1) != 0;
  } else if (word == "ipc") {
    options.ipc = number(1) != 0;
  } else if (word == "registered") {
    options.registered = number(1) != 0;
  } else if (word == "memops") {
    options.memops = number(1) != 0;
  } else if (word == "protect") {
    options.protect = number(1) != 0;
  } else if (word == "channels") {
    options.channels = static_cast<int>(number(1000));
  } else if (word == "endless") {
    options.endless = number(UINT64_MAX);
  } else if (word == "stuck") {
    options.stuck = static_cast<double>(number(1000000));
  } else {
    Refuse(word, value, "and no option is called so");
  }
}

}  // namespace

Options ParseOptions(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const size_t equals = word.find('=');
    const std::string_view value = equals == word.npos ? "" : word.substr(equals + 1);
    SetOption(options, word.substr(0, equals), value);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return options;
}

}  // namespace cgraph::emulation
