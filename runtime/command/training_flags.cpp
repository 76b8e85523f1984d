#include "runtime/command/training_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cgraph::command {
namespace {

const CLI::Range kExecutionCounts(uint64_t{1}, uint64_t{1} << 40);

// CLI11 reads -1 as the largest number. Says so in the words of its ranges (usage_text.h).
std::string MistakeOfSeed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return "";
  return fmt::format("Value {} not in range 0 to {}", text, UINT64_MAX);
}

// A flag that is of use only with another one, and why.
struct Need {
  const char *flag, *other, *why;
};
constexpr Need kNeeds[] = {
    {"--shuffle", "--batch", "it is the order in which the rows of such inputs are taken"},
    {"--shuffle", "--epochs", "each of which has an order of its own"},
    {"--drop-last", "--batch", "whose last slice it leaves out where rows do not fill it"},
    {"--from-start", "--load-state", "which otherwise says where to go on"},
    {"--from-start", "--epochs", "which otherwise goes on behind those of the loaded states"},
    {"--save-every", "--save-state", "which names the file"},
    {"--log-every", "--log", "which names the outputs"},
    {"--eval-every", "--eval", "which names the graph"},
    {"--eval", "--graph", "which names the graph between whose executions it is executed"},
};
constexpr Need kExclusions[] = {
    {"--epochs", "-n", "both say how often, -n in this run and --epochs in all"},
    {"--epochs", "--warmup", "which changes states by executions that are of no epoch"},
    {"--save-every", "--warmup", "which changes states by executions that are not counted"},
};
constexpr const char* kOfOneGraph[] = {"--epochs", "--save-every", "--log", "--eval"};

std::vector<std::string> Names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    for (size_t begin = 0; begin <= word.size();) {
      const size_t end = std::min(word.find(',', begin), word.size());
      const std::string name = word.substr(begin, end - begin);
      const size_t first = name.find_first_not_of(' ');
      names.push_back(first == std::string::npos
                          ? ""
                          : name.substr(first, name.find_last_not_of(' ') + 1 - first));
      begin = end + 1;
    }
  }
  return names;
}

// Returns what is wrong where nothing is executed; a flag about executions would be ignored. Says
// --repeat, which the caller replaces by -n where that was typed.
std::string MistakeOfNone(const CLI::App& app) {
  if (app.count("--save-state") == 0) {
    return "--repeat 0 executes nothing; with --save-state it writes the initial states, give that "
           "or another number";
  }
  for (const char* flag : {"--output", "--every", "--profile", "--trace", "--warmup", "--log",
                           "--eval", "--save-every"}) {
    if (app.count(flag) == 0) continue;
    return fmt::format("--repeat 0 excludes {}: it executes nothing, and writes the initial states",
                       flag);
  }
  return "";
}

}  // namespace

void AddTrainingFlags(CLI::App& app, TrainingOptions& training) {
  app.add_option("--epochs", training.epochs,
                 "execute until there have been so many passes over the inputs in all, those "
                 "included that the states of --load-state have seen")
      ->check(kExecutionCounts);
  app.add_option("--shuffle", training.shuffle,
                 "take the rows of --batch in another order in each epoch, which this seed chooses")
      ->check(MistakeOfSeed, "")
      ->option_text("SEED");
  app.add_flag("--drop-last", training.drop_last,
               "leave out the last rows of --batch where they do not fill a slice");
  app.add_flag("--from-start", training.from_start,
               "begin with the first epoch, wherever the run was that saved the states of "
               "--load-state");
  app.add_option("--save-every", training.save_every,
                 "write --save-state after each so many executions, too, and after the last whole "
                 "one where the run is interrupted")
      ->check(kExecutionCounts);
  app.add_option("--log", training.log,
                 "print these outputs of the graph from time to time, on standard error")
      ->take_all()
      ->allow_extra_args(false)
      ->option_text("NAME[,NAME] ...");
  app.add_option("--log-every", training.log_every,
                 "executions of a line of --log; without it those of an epoch or, where an epoch "
                 "is one execution, 100")
      ->check(kExecutionCounts);
  app.add_option("--eval", training.eval,
                 "execute this graph, too, from time to time and at the end, and print its outputs "
                 "as --log does; --input GRAPH.NAME is its input")
      ->option_text("GRAPH");
  app.add_option("--eval-every,--every-eval", training.eval_every,
                 "executions until the next --eval; without it those of an epoch or, where an "
                 "epoch is one execution, 100")
      ->check(kExecutionCounts);
}

std::string UnderstandTraining(const CLI::App& app, Options& options) {
  TrainingOptions& training = options.training;
  if (!options.calls.empty()) {
    for (const char* flag : kOfOneGraph) {
      if (app.count(flag) == 0) continue;
      return fmt::format("--call excludes {}: it executes several graphs one after the other, and "
                         "{} is of a run of one graph, named by --graph",
                         flag, flag);
    }
  }
  for (const auto& [flag, other, why] : kExclusions) {
    if (app.count(flag) == 0 || app.count(other) == 0) continue;
    return fmt::format("{} excludes {}: {}; leave one of the two out", flag, other, why);
  }
  for (const auto& [flag, other, why] : kNeeds) {
    if (app.count(flag) == 0 || app.count(other) > 0) continue;
    return fmt::format("{} needs {}, {}", flag, other, why);
  }
  training.log = Names(training.log);
  if (std::count(training.log.begin(), training.log.end(), "") > 0) {
    return "--log: expected the name of an output, or several with commas between them";
  }
  if (options.repeat_given && options.repeat == 0) return MistakeOfNone(app);
  if (!training.eval.empty() && training.eval == options.graphs[0]) {
    return fmt::format("--eval {0}: --graph names it already; --eval is of another graph, which "
                       "is executed in between",
                       training.eval);
  }
  return "";
}

}  // namespace cgraph::command
