// Functions that the subcommands share.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compiler/command/load_plan.h"
#include "compiler/command/output.h"
#include "runtime/base/exit_code.h"

namespace cgraph::command {
namespace {

TEST_CASE("a status ends cgc as it ends cgrun") {
  const std::pair<StatusCode, int> ends[] = {
      {StatusCode::kInvalid, 1}, {StatusCode::kNotFound, 3}, {StatusCode::kUnsupported, 1},
      {StatusCode::kFailed, 1},  {StatusCode::kTimeout, 1},  {StatusCode::kInternal, 70},
  };
  for (const auto& [code, exit_code] : ends) {
    CHECK(ExitCodeOf(code) == exit_code);
    CHECK(ReportStatus({code, "tried"}) == exit_code);
  }
}

// Loads a plan; flags that only make sense for a source are refused before anything is read.
ExitCode Load(const std::vector<std::string>& arguments) {
  CLI::App command;
  CompileFlags flags;
  OutputFlags output;
  AddOutputFlags(command, output);
  AddCompileFlags(command, flags);
  command.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  return LoadOrCompile("no such.cgplan", flags, output).exit_code;
}

TEST_CASE("a flag of the compiler does nothing to a plan, and is refused") {
  CHECK(Load({}) == kEnvironment);
  CHECK(Load({"--graph", "g", "-q"}) == kEnvironment);
  size_t flags = 0;
  CLI::App every;
  CompileFlags compile;
  AddCompileFlags(every, compile);
  for (const CLI::Option* option : every.get_options()) {
    const std::string name = option->get_name();
    if (name == "--help" || name == "--graph" || name == "--topology") continue;
    INFO(name);
    const bool takes_value = option->get_items_expected_max() > 0;
    const std::string value = name == "--lanes" ? "one" : "4";
    CHECK(Load(takes_value ? std::vector<std::string>{name, value}
                           : std::vector<std::string>{name}) == kUsage);
    ++flags;
  }
  CHECK(flags >= 12);
}

}  // namespace
}  // namespace cgraph::command
