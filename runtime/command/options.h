// What the command line of cgrun asks for, and its reading (parse_options.cpp).
#ifndef CGRAPH_RUNTIME_COMMAND_OPTIONS_H_
#define CGRAPH_RUNTIME_COMMAND_OPTIONS_H_

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/exit_code.h"
#include "runtime/engine/options.h"

namespace cgraph::command {

using NameAndValue = std::pair<std::string, std::string>;  // NAME=VALUE

// --call prefill, --call decode*20
struct GraphCall {
  std::string graph;
  uint64_t times = 1;
};

// What a training is, beside executions of a graph: passes over data, states that are saved
// meanwhile, a log, evaluations.
struct TrainingOptions {
  uint64_t epochs = 0;              // passes over the inputs, those of runs before included; 0: -n
  std::optional<uint64_t> shuffle;  // the seed
  bool drop_last = false;           // leave out rows that do not fill a slice
  bool from_start = false;          // whatever the loaded states say of executions before
  uint64_t save_every = 0;          // executions; 0: only at the end
  std::vector<std::string> log;     // outputs
  uint64_t log_every = 0;           // executions; 0: not given
  std::string eval;                 // a graph; empty: none
  uint64_t eval_every = 0;          // executions; 0: not given

  bool any() const { return epochs > 0 || save_every > 0 || !log.empty() || !eval.empty(); }
};

struct Options {
  std::string file;
  bool devices = false;                // list the machine, without FILE
  std::string discover;                // topology to write, without FILE; empty: none
  std::vector<std::string> graphs;     // of calls: each once
  std::vector<GraphCall> calls;        // executed one after the other, instead of one graph
  NameAndValue until;                  // ends a call: when this output is that number
  std::vector<NameAndValue> inputs, outputs;
  std::vector<std::string> batch;      // inputs that are sliced along dim 0
  uint64_t repeat = 1;                 // 0: none, only states are written
  bool repeat_given = false;
  std::string stream;                  // the output of which each round prints a line; empty: none
  bool every = false;                  // outputs of every execution, stacked
  uint64_t warmup = 0;
  bool check_effects = false;          // compare orders, instead of one execution
  TrainingOptions training;
  EngineOptions engine;                // `profile` and `trace` have flags of their own
  bool timeout_given = false;
  std::vector<std::string> device_map;  // LOGICAL=PHYSICAL,... each; none: the plan's workers
  std::string load_state, save_state;  // .safetensors files; empty: none
  std::string profile, trace;          // files to write; empty: none
  std::string wait_graph;              // the same, where a time-out or SIGUSR1 reports
  std::vector<std::string> compile_flags;  // for cgc, in the form that it reads
  bool json = false, quiet = false, verbose = false;
  std::string color = "auto";

  bool is_source() const { return file.ends_with(".cgraph"); }
  bool use_color() const {             // on standard error
    return color == "always" || (color == "auto" && isatty(STDERR_FILENO));
  }
};

// What parsing has found.
struct ParsedOptions {
  // What to do; neither: end with `exit_code`, since help, version or a mistake was printed.
  bool run = false, list_devices = false;
  ExitCode exit_code = kSuccess;
  Options options;
};
// Reads the flags, and says what is wrong with them.
ParsedOptions ParseOptions(int argc, char** argv);

// Returns what --timeout says, before all is parsed: ranks connect first, and wait no longer. The
// default where it says nothing right.
std::chrono::nanoseconds TimeoutOf(int argc, char** argv);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OPTIONS_H_
