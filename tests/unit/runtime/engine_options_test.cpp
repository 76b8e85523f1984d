// The options of an engine as other ranks are told them.
#include "runtime/engine/options.h"

#include <catch2/catch.hpp>

using namespace cgraph;

namespace {

// Gives every option a value that is not its initial one.
struct Change {
  void operator()(option::Switch, const engine::OptionRow&, bool& value) { value = !value; }
  void operator()(option::Seconds, const engine::OptionRow&, std::chrono::nanoseconds& value) {
    value += std::chrono::nanoseconds(1);
  }
  void operator()(option::Text, const engine::OptionRow&, std::string& value) {
    value = "a folder\nof two lines";
  }
  void operator()(option::Texts, const engine::OptionRow&, std::vector<std::string>& values) {
    values = {"libone.so", "", "two\n.py"};
  }
  template <typename Kind>
  void operator()(Kind, const engine::OptionRow&, uint32_t& value) {
    value = 7;
  }
};

// Returns the options as texts: those that ranks know, and the others.
std::pair<std::string, std::string> Known(const EngineOptions& options) {
  std::string others;
  engine::ForEachOption(options, [&](auto, const engine::OptionRow& row, const auto& value) {
    if (row.known_by == engine::OptionRow::kRanks) return;
    if constexpr (requires { std::to_string(value); }) others += std::to_string(value) + " ";
  });
  return {engine::TextForRanks(options), others};
}

TEST_CASE("Ranks are told the options that they need, and no others") {
  EngineOptions changed;
  engine::ForEachOption(changed, Change());
  EngineOptions read;
  REQUIRE(engine::ReadTextForRanks(engine::TextForRanks(changed), read));
  CHECK(Known(read).first == Known(changed).first);
  CHECK(Known(read).first != Known(EngineOptions()).first);
  CHECK(Known(read).second == Known(EngineOptions()).second);
  CHECK(Known(changed).second != Known(EngineOptions()).second);
  CHECK(read.libraries == std::vector<std::string>{"libone.so", "", "two\n.py"});
  CHECK(read.timeout == std::chrono::seconds(600) + std::chrono::nanoseconds(1));
}

TEST_CASE("A text of options that is cut or longer is refused") {
  EngineOptions options;
  options.libraries = {"libone.so", "libtwo.so"};
  const std::string text = engine::TextForRanks(options);
  EngineOptions read;
  for (size_t size = 0; size < text.size(); ++size) {
    INFO(size);
    CHECK_FALSE(engine::ReadTextForRanks(std::string_view(text).substr(0, size), read));
  }
  CHECK_FALSE(engine::ReadTextForRanks(text + '\0', read));
  // A length of many exabytes, at each place where there may be one.
  for (size_t at = 0; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
    std::string wrong = text;
    wrong[at + 7] = '\x7f';
    INFO(at);
    if (engine::ReadTextForRanks(wrong, read)) CHECK(engine::TextForRanks(read) == wrong);
  }
}

}  // namespace
