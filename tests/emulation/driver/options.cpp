#include "tests/emulation/driver/options.h"

#include <fmt/format.h>

#include <charconv>

#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

uint64_t NumberOf(std::string_view word, std::string_view value, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number > most) {
    FatalMisuse(fmt::format("CGRAPH_EMULATION says {}={}, which is no number up to {}", word, value,
                            most));
  }
  return number;
}

void SetOption(Options& options, std::string_view word, std::string_view value) {
  const auto number = [&](uint64_t most) { return NumberOf(word, value, most); };
  if (word == "devices") {
    options.devices = static_cast<int>(number(kMostDevices));
  } else if (word == "seed") {
    options.seed = number(UINT64_MAX);
  } else if (word == "thread") {
    options.threads = static_cast<int>(number(16));
  } else if (word == "memory") {
    options.memory = number(UINT64_MAX);
  } else if (word == "fail") {
    const size_t colon = value.find(':');
    options.sticky = colon != value.npos && value.substr(colon + 1) == "sticky";
    value = value.substr(0, colon);
    options.fail = number(UINT64_MAX);
  } else if (word == "misuse") {
    options.count = value == "count";
  } else if (word == "pageable") {
    options.pageable = number(1) != 0;
  } else if (word == "host_pointers") {
    options.host_pointers = number(1) != 0;
  } else if (word == "peers") {
    options.peers = number(1) != 0;
  } else if (word == "protect") {
    options.protect = number(1) != 0;
  } else if (word == "channels") {
    options.channels = static_cast<int>(number(1000));
  } else if (word == "stuck") {
    options.stuck = static_cast<double>(number(1000000));
  } else {
    FatalMisuse(fmt::format("CGRAPH_EMULATION says {}, which no option is called", word));
  }
}

}  // namespace

Options ParseOptions(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const size_t equals = word.find('=');
    SetOption(options, word.substr(0, equals),
              equals == word.npos ? std::string_view() : word.substr(equals + 1));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return options;
}

}  // namespace cgraph::emulation
