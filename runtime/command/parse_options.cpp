// CLI11 reads the flags. What it cannot check (NAME=VALUE, flags that exclude each other) is
// checked here.
#include "runtime/command/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/kinds/comm_lanes.h"
#include "runtime/base/kinds/limits.h"
#include "runtime/base/text.h"
#include "runtime/base/usage_text.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/command/discover/discover.h"
#include "runtime/command/messages.h"
#include "runtime/command/outcome/wait_graph.h"
#include "runtime/command/training_flags.h"
#include "runtime/command/unknown_words.h"
#include "runtime/engine/engine.h"

namespace cgraph::command {
namespace {

// The flags as text, before they are understood.
struct Raw {
  std::vector<std::string> inputs, outputs, defines, import_dirs, no_warn, calls;
  std::string until;
  std::string schedule, topology, lanes;
  bool overlap = false, no_overlap = false;
  std::vector<std::function<void()>> reads;  // of options of the engine that are more than a number
};

struct Mistake {
  std::string why;
};

std::string WithoutSpaces(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// Spaces around the name and the value do not count.
std::vector<NameAndValue> Split(const std::vector<std::string>& texts, const char* flag,
                                const char* value) {
  std::vector<NameAndValue> pairs;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    const size_t equals = std::min(text.find('='), text.size());
    const std::string rest = text.substr(std::min(equals + 1, text.size()));
    pairs.emplace_back(WithoutSpaces(text.substr(0, equals)), WithoutSpaces(rest));
    if (pairs.back().first.empty() || pairs.back().second.empty()) {
      throw Mistake{fmt::format("{} {}: expected NAME={}", flag, text, value)};
    }
    if (!names.insert(pairs.back().first).second) {
      throw Mistake{fmt::format("{} {} is there twice", flag, pairs.back().first)};
    }
  }
  return pairs;
}

// A file without an output's name gets all of them; its name here is empty.
std::vector<NameAndValue> SplitOutputs(std::vector<std::string> texts) {
  const auto is_whole = [](const std::string& text) {
    return text.ends_with(".safetensors") && text.find('=') == std::string::npos;
  };
  const auto whole = std::stable_partition(texts.begin(), texts.end(), std::not_fn(is_whole));
  std::vector<NameAndValue> pairs =
      Split({texts.begin(), whole}, "--output",
            "PATH.npy (an output without a name is called result), or FILE.safetensors");
  for (auto text = whole; text != texts.end(); ++text) pairs.emplace_back("", *text);
  return pairs;
}

// Programs write `timeout 5s`.
std::chrono::nanoseconds ReadSeconds(const std::string& text, const char* flag) {
  double seconds = 0;
  const char* end = text.data() + text.size() - text.ends_with('s');
  const auto [read, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || read != end || !(seconds > 0) || seconds > kMaxTimeout) {
    throw Mistake{fmt::format("{} {}: {}", flag, text, kTimeoutText)};
  }
  // Less than a nanosecond counts as one: 0 would mean for ever.
  return std::chrono::nanoseconds(static_cast<int64_t>(std::ceil(seconds * 1e9)));
}

uint32_t ReadProcesses(const std::string& text, const char* flag) {
  if (text == "device") return kProcessPerDevice;
  uint32_t processes = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, processes);
  if (error != std::errc() || read != end || processes == 0 || processes > cluster::kMostRanks) {
    throw Mistake{fmt::format("{} {}: {}", flag, text, ProcessesText(cluster::kMostRanks))};
  }
  return processes;
}

// FlagAdder: adds the flag of an option of the engine, by its kind.
struct FlagAdder {
  CLI::App& app;
  std::vector<std::function<void()>>& reads;  // of texts, for when all flags are known

  template <typename Kind>
  void operator()(Kind kind, const engine::OptionRow& row, typename Kind::Type& member) {
    if (*row.flag != '\0') Named(Add(kind, row, member), row);
  }

 private:
  CLI::Option* Add(option::Switch, const engine::OptionRow& row, bool& member) {
    const auto given = [&member, value = !member] { member = value; };
    return app.add_flag_callback(row.flag, given, row.help);
  }
  template <auto most>
  CLI::Option* Add(option::Count<most> kind, const engine::OptionRow& row, uint32_t& member) {
    return app.add_option(row.flag, member, row.help)->check(CLI::Range(1u, kind.kMost));
  }
  CLI::Option* Add(option::Processes, const engine::OptionRow& row, uint32_t& member) {
    return AddRead(row, member, ReadProcesses);
  }
  CLI::Option* Add(option::Seconds, const engine::OptionRow& row,
                   std::chrono::nanoseconds& member) {
    return AddRead(row, member, ReadSeconds);
  }
  CLI::Option* Add(option::Text, const engine::OptionRow& row, std::string& member) {
    return app.add_option(row.flag, member, row.help);
  }
  CLI::Option* Add(option::Texts, const engine::OptionRow& row, std::vector<std::string>& member) {
    return app.add_option(row.flag, member, row.help)->take_all()->allow_extra_args(false);
  }
  template <typename Value, typename Read>
  CLI::Option* AddRead(const engine::OptionRow& row, Value& member, Read read) {
    const auto given = [&member, &reads = reads, read, flag = row.flag](const std::string& text) {
      reads.push_back([&member, read, flag, text] { member = read(text, flag); });
    };
    return app.add_option_function<std::string>(row.flag, given, row.help);
  }
  static void Named(CLI::Option* option, const engine::OptionRow& row) {
    if (*row.value != '\0') option->option_text(row.value);
  }
};

void AddFlags(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("FILE", options.file,
                 "a .cgraph, compiled first by the cgc beside cgrun, or a .cgplan");
  app.add_option("--graph", options.graphs, "the graph to run, one; needed when there are several")
      ->take_all()
      ->allow_extra_args(false)
      ->option_text("NAME");
  app.add_option("--call", raw.calls,
                 "execute this graph, so many times; several are executed one after the other, and "
                 "an output is the next one's input of that name")
      ->take_all()
      ->allow_extra_args(false)
      ->option_text("GRAPH[*N]");
  app.add_option("--until", raw.until,
                 "end the executions of a --call when all elements of this output are that number")
      ->option_text("OUTPUT==NUMBER");
  app.add_option("--stream", options.stream,
                 "print this output of each round as it comes, on a line as JSON, of a graph that "
                 "repeats")
      ->option_text("NAME");
  app.add_option("--input", raw.inputs,
                 "NAME=PATH.npy, a number, a list as [1,2,3], or - for .npy on "
                 "standard input; with --call GRAPH.NAME is the input of that graph alone")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--output", raw.outputs,
                 "NAME=PATH.npy, or FILE.safetensors for all outputs by their names; without any, "
                 "results are printed")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--batch", options.batch,
                 "slice this input along dimension 0, by what the graph takes at "
                 "once, over several executions whose outputs are "
                 "concatenated. A remainder needs a bounded dimension, "
                 "n <= B. Several inputs are sliced in step; all others go "
                 "to each execution whole")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("-n,--repeat", options.repeat,
                 "execute this many times; 0 writes the initial states to --save-state")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40));
  app.add_flag("--every", options.every,
               "give the outputs of every execution, stacked along a new first dimension, instead "
               "of those of the last; with --batch those of every pass over the batch");
  app.add_option("--warmup", options.warmup, "executions before those that are measured")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40));
  AddTrainingFlags(app, options.training);
  engine::ForEachOption(options.engine, FlagAdder{app, raw.reads});
  app.add_option("--device-map", options.device_map,
                 "the GPU or core that each logical device is: gpu[0]=cuda:0,gpu[1]=cpu:1, or "
                 "gpu[*]=cuda:0; several add up")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--devices", options.devices,
               "list the cores and GPUs of this machine, and what GPUs lack to be used");
  app.add_option("--discover", options.discover,
                 "measure this machine's cores, GPUs and links, and write them as a topology, for "
                 "cgc --topology")
      ->option_text("TOPOLOGY.cgraph");
  app.add_option("--load-state", options.load_state,
                 "set states of actors from this file before the first execution; those that it "
                 "lacks keep their initial values")
      ->option_text("FILE.safetensors");
  app.add_option("--save-state", options.save_state,
                 "write the states of all actors after the last execution, by their names, as "
                 "stage[0].w; not where an execution has failed, or of a run that is interrupted")
      ->option_text("FILE.safetensors");
  app.add_option("--profile", options.profile,
                 "write mean times of method calls, for cgc --profile; without those of --warmup");
  app.add_option("--trace", options.trace,
                 "write what lanes do and when, for chrome://tracing or Perfetto");
  app.add_option("--wait-graph", options.wait_graph,
                 "draw who waits for whom, where --timeout ends the run or at SIGUSR1, as .dot, "
                 ".svg, .png or .pdf")
      ->option_text("FILE");
  app.add_option("-D", raw.defines, "NAME=VALUE: a const, dtype or module of the .cgraph")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("-I", raw.import_dirs, "where the .cgraph's imports are")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--schedule", raw.schedule,
                 "the .cgraph's schedule: program, reversed, auto, or NAME(ARGS)");
  app.add_flag("--check-effects", options.check_effects,
               "execute the .cgraph in its order, in program order and in the opposite order, and "
               "compare outputs and states: whether calls may be exchanged as clauses of native "
               "code say");
  app.add_option("--topology", raw.topology,
                 "the machine by which the .cgraph is scheduled: NAME(ARGS), or a FILE");
  app.add_flag("--overlap", raw.overlap,
               "communication in lanes of its own (the .cgraph's default)");
  app.add_flag("--no-overlap", raw.no_overlap, "communication in the lanes of the computation");
  app.add_option("--lanes", raw.lanes,
                 "the .cgraph's lanes of communication on a device: one, one for each peer, or one "
                 "for each edge")
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(kCommLanesNames), std::end(kCommLanesNames))));
  app.add_option("--no-warn", raw.no_warn, "leave out this warning about the .cgraph, as W0504")
      ->type_name("CODE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--json", options.json, "results and measurements as JSON on standard output");
  app.add_flag("-q,--quiet", options.quiet, "errors only");
  app.add_flag("-v,--verbose", options.verbose, "say more on standard error");
  app.add_option("--color", options.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

// Returns the flags that are passed on to cgc for a .cgraph.
std::vector<std::string> CompileFlags(const Options& options, const Raw& raw) {
  std::vector<std::string> flags;
  for (const std::string& graph : options.graphs) flags.insert(flags.end(), {"--graph", graph});
  const std::string& eval = options.training.eval;
  if (!eval.empty()) flags.insert(flags.end(), {"--graph", eval});
  for (const std::string& define : raw.defines) flags.insert(flags.end(), {"-D", define});
  for (const std::string& folder : raw.import_dirs) flags.insert(flags.end(), {"-I", folder});
  if (!raw.schedule.empty()) flags.insert(flags.end(), {"--schedule", raw.schedule});
  if (!raw.topology.empty()) flags.insert(flags.end(), {"--topology", raw.topology});
  if (!raw.lanes.empty()) flags.insert(flags.end(), {"--lanes", raw.lanes});
  for (const std::string& code : raw.no_warn) flags.insert(flags.end(), {"--no-warn", code});
  if (raw.overlap) flags.push_back("--overlap");
  if (raw.no_overlap) flags.push_back("--no-overlap");
  if (const uint32_t inflight = options.engine.inflight; inflight > 0) {
    flags.insert(flags.end(), {"--inflight", std::to_string(inflight)});
  }
  flags.insert(flags.end(), {"--color", options.use_color() ? "always" : "never"});
  if (options.verbose) flags.push_back("-v");
  if (options.quiet) flags.push_back("-q");
  return flags;
}

GraphCall ReadCall(const std::string& text) {
  GraphCall call;
  const size_t star = text.find('*');
  call.graph = WithoutSpaces(text.substr(0, star));
  if (call.graph.find_first_of(", ") != std::string::npos) call.graph.clear();  // several
  if (star != std::string::npos) {
    const std::string times = WithoutSpaces(text.substr(star + 1));
    const char* const end = times.data() + times.size();
    const auto [read, error] = std::from_chars(times.data(), end, call.times);
    if (error != std::errc() || read != end || call.times == 0) call.graph.clear();
  }
  if (!call.graph.empty()) return call;
  throw Mistake{
      fmt::format("--call {}: expected a graph, or GRAPH*N to execute it N times, from 1 "
                  "on; each graph has a --call of its own",
                  text)};
}

// Refuses flags that --check-effects would ignore.
void CheckCompared(const CLI::App& app, const Options& options) {
  if (!options.is_source()) {
    throw Mistake{"--check-effects needs a .cgraph: a plan has one order"};
  }
  for (const char* flag : {"--output", "--save-state", "--call", "--profile", "--trace", "--log",
                           "--eval", "--json"}) {
    if (app.count(flag) == 0) continue;
    throw Mistake{fmt::format("--check-effects excludes {}: it compares all outputs and states of "
                              "one graph, and writes none; leave one of the two out",
                              flag)};
  }
  for (const auto& [name, value] : options.inputs) {
    std::error_code error;
    if (value != "-" && !std::filesystem::is_fifo(value, error)) continue;
    throw Mistake{fmt::format("--check-effects executes three times, and --input {}={} can be read "
                              "once; name a file",
                              name, value)};
  }
}

void UnderstandCalls(const Raw& raw, Options& options) {
  if (const size_t equals = raw.until.find("=="); !raw.until.empty()) {
    const bool whole = equals != std::string::npos && equals > 0 && equals + 2 < raw.until.size();
    if (!whole) throw Mistake{fmt::format("--until {}: expected OUTPUT==NUMBER", raw.until)};
    options.until = {WithoutSpaces(raw.until.substr(0, equals)),
                     WithoutSpaces(raw.until.substr(equals + 2))};
    if (raw.calls.empty()) {
      throw Mistake{
          "--until needs a --call, whose executions it ends, as --call 'GRAPH*20', in "
          "place of --graph and -n"};
    }
  }
  if (raw.calls.empty()) return;
  const std::pair<const char*, bool> excluded[] = {{"--graph", !options.graphs.empty()},
                                                   {"--batch", !options.batch.empty()},
                                                   {"-n", options.repeat_given},
                                                   {"--warmup", options.warmup > 0},
                                                   {"--inflight", options.engine.inflight > 0}};
  for (const auto& [flag, given] : excluded) {
    if (given) {
      throw Mistake{
          fmt::format("--call excludes {}: it says which graphs are executed how often, "
                      "one execution after the other",
                      flag)};
    }
  }
  for (const std::string& text : raw.calls) {
    options.calls.push_back(ReadCall(text));
    const std::string& graph = options.calls.back().graph;
    if (std::count(options.graphs.begin(), options.graphs.end(), graph) == 0) {
      options.graphs.push_back(graph);
    }
  }
}

// Returns the flag of an option that options.def names.
std::string FlagOf(const Options& options, std::string_view name) {
  std::string flag = "--device-map";
  engine::ForEachOption(options.engine, [&](auto, const engine::OptionRow& row, const auto&) {
    if (row.name == name) flag = row.flag;
  });
  return flag;
}

void CheckExcluded(const CLI::App& app, const Options& options) {
  for (const engine::Exclusion& exclusion : engine::kExclusions) {
    const std::string one = FlagOf(options, exclusion.one);
    const std::string other = FlagOf(options, exclusion.other);
    if (app.count(one) == 0 || app.count(other) == 0) continue;
    throw Mistake{
        fmt::format("{} excludes {}: {}; leave one of the two out", one, other, exclusion.why)};
  }
}

// Sets what other flags say of the engine's options.
void UnderstandEngine(const CLI::App& app, Options& options) {
  const std::string folder = std::filesystem::path(options.file).parent_path().string();
  if (app.count("--weights") == 0 && !folder.empty()) options.engine.weights = folder;
  options.engine.profile = !options.profile.empty();
  options.engine.trace = !options.trace.empty();
}

void Understand(const CLI::App& app, Options& options, const Raw& raw) {
  options.inputs = Split(raw.inputs, "--input", "PATH.npy, a number, a list or -");
  options.outputs = SplitOutputs(raw.outputs);
  for (const auto& [name, path] : options.outputs) {
    if (name.empty()) continue;
    if (path == "-") {
      throw Mistake{
          fmt::format("--output {}=-: an output is written to a file, and - would be one "
                      "of that name; name a file that ends in .npy, or leave the flag "
                      "out to print it",
                      name)};
    }
    const size_t dot = path.find('.', path.find_last_of('/') + 1);
    if (dot != std::string::npos && !path.ends_with(".npy")) {
      throw Mistake{
          fmt::format("--output {}={}: an output by itself is written as .npy; name a "
                      "file that ends in .npy, or leave the flag out to print it",
                      name, path)};
    }
  }
  if (!options.wait_graph.empty() && WaitGraphFormat(options.wait_graph).empty()) {
    throw Mistake{fmt::format("--wait-graph {}: name a file that ends in .dot, .svg, .png or .pdf",
                              options.wait_graph)};
  }
  if (raw.overlap && raw.no_overlap) throw Mistake{"--overlap and --no-overlap exclude each other"};
  if (options.graphs.size() > 1) {
    throw Mistake{
        "--graph: one graph is run at a time; --call executes several one after the "
        "other"};
  }
  if (options.check_effects) CheckCompared(app, options);
  UnderstandCalls(raw, options);
  if (const std::string why = UnderstandTraining(app, options); !why.empty()) throw Mistake{why};
  if (!options.is_source()) {
    const std::pair<const char*, bool> of_sources[] = {{"-D", !raw.defines.empty()},
                                                       {"-I", !raw.import_dirs.empty()},
                                                       {"--schedule", !raw.schedule.empty()},
                                                       {"--topology", !raw.topology.empty()},
                                                       {"--lanes", !raw.lanes.empty()},
                                                       {"--no-warn", !raw.no_warn.empty()},
                                                       {"--overlap", raw.overlap},
                                                       {"--no-overlap", raw.no_overlap}};
    for (const auto& [flag, given] : of_sources) {
      if (given) {
        throw Mistake{fmt::format("{} needs a .cgraph: a plan is already compiled", flag)};
      }
    }
  }
  if (options.json && options.verbose) throw Mistake{"--json and -v exclude each other"};
  if (options.is_source()) options.compile_flags = CompileFlags(options, raw);
}

// Returns what to say of words that no flag has taken.
std::string SayOfUnknown(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return UnknownWordText(app.remaining(), {argv + 1, argv + argc}, flags);
}

// CLI11 calls a flag by its long name; this names it as it was typed.
std::string AsTyped(std::string why, int argc, char** argv) {
  constexpr std::string_view kRepeat = "--repeat";
  const bool is_long = std::any_of(argv, argv + argc, [&](const char* word) {
    return std::string_view(word).starts_with(kRepeat);
  });
  if (why.starts_with(kRepeat) && !is_long) why.replace(0, kRepeat.size(), "-n");
  return why;
}

// Checks that a command that needs no FILE has none, and no flag that it would ignore.
void CheckAlone(const CLI::App& app, const Options& options) {
  const std::string command = options.devices ? "--devices" : "--discover";
  if (options.devices && !options.discover.empty()) {
    throw Mistake{"--devices and --discover exclude each other: each is a command of its own"};
  }
  if (!options.file.empty()) {
    throw Mistake{
        fmt::format("unexpected argument `{}`: {} is about the machine, and takes no "
                    "FILE; leave one of them out",
                    options.file, command)};
  }
  const std::set<std::string> known = {command,   "--json",
                                       "--quiet", "--verbose",
                                       "--color", options.devices ? command : "--timeout"};
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || !option->nonpositional()) continue;
    const std::string name = option->get_lnames().empty() ? "-" + option->get_snames().front()
                                                          : "--" + option->get_lnames().front();
    if (known.contains(name)) continue;
    throw Mistake{fmt::format("{}: {} is of runs, and nothing runs; leave it out", command, name)};
  }
}

// Returns whether a word is among those of the command line, of which not all need be understood.
bool HasWord(int argc, char** argv, std::string_view word) {
  return std::find(argv, argv + argc, word) != argv + argc;
}

ExitCode RunDiscovery(const Options& options) {
  DiscoverOptions how{.path = options.discover};
  if (options.timeout_given) how.patience = options.engine.timeout;
  MeasuredMachine machine;
  const Status status = Discover(how, machine);
  if (!status.ok()) return Fail(options, status);
  if (options.json) {
    PrintJson(DiscoveredJson(how.path, machine));
  } else {
    std::fputs(Printable(DiscoveredText(how.path, machine)).c_str(), stdout);
  }
  return kSuccess;
}

}  // namespace

ParsedOptions ParseOptions(int argc, char** argv) {
  CLI::App app("cgrun runs cgraph programs and plans", "cgrun");
  app.set_version_flag("--version", "cgrun " CGRAPH_VERSION);
  app.footer(
      "Exit codes: 0 success, 1 the program or the run failed, 2 wrong usage, 3 a file, device or\n"
      "library is absent, 70 a bug of ours, 130 interrupted. SIGUSR1 prints who waits for whom.");
  app.allow_extras();
  ParsedOptions parsed;
  Raw raw;
  AddFlags(app, parsed.options, raw);
  try {
    app.parse(argc, argv);
    if (!app.remaining().empty()) throw Mistake{SayOfUnknown(app, argc, argv)};
    parsed.options.repeat_given = app.count("-n") > 0;
    parsed.options.timeout_given = app.count("--timeout") > 0;
    if (parsed.options.devices || app.count("--discover") > 0) {
      CheckAlone(app, parsed.options);
      for (const auto& read : raw.reads) read();
      parsed.list_devices = parsed.options.devices;
      if (!parsed.list_devices) parsed.exit_code = RunDiscovery(parsed.options);
      return parsed;
    }
    if (app.count("FILE") == 0) throw CLI::RequiredError("FILE");
    for (const auto& read : raw.reads) read();
    CheckExcluded(app, parsed.options);
    UnderstandEngine(app, parsed.options);
    Understand(app, parsed.options, raw);
    parsed.run = true;
  } catch (const CLI::Success& asked) {  // help or version
    app.exit(asked);
  } catch (const CLI::ParseError& error) {
    // Flags behind the one that is wrong have not been understood.
    parsed.options.json = HasWord(argc, argv, "--json");
    const std::string why = AsTyped(UsageText(error.what()), argc, argv);
    parsed.exit_code = Fail(parsed.options, kUsage, why + "\n`cgrun --help` lists the flags");
  } catch (const Mistake& mistake) {
    parsed.exit_code = Fail(parsed.options, kUsage, AsTyped(mistake.why, argc, argv));
  }
  return parsed;
}

std::chrono::nanoseconds TimeoutOf(int argc, char** argv) {
  constexpr std::string_view kFlag = "--timeout";
  std::chrono::nanoseconds timeout = EngineOptions().timeout;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (!word.starts_with(kFlag)) continue;
    word.remove_prefix(kFlag.size());
    const char* const value = word.starts_with('=')          ? argv[i] + kFlag.size() + 1
                              : word.empty() && i + 1 < argc ? argv[i + 1]
                                                             : nullptr;
    if (value == nullptr) continue;
    try {
      timeout = ReadSeconds(value, kFlag.data());
    } catch (const Mistake&) {  // ParseOptions() says it
    }
  }
  return timeout;
}

}  // namespace cgraph::command
