#include "runtime/command/phases.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/files.h"
#include "runtime/base/output_files.h"
#include "runtime/base/text.h"
#include "runtime/native/library.h"

namespace cgraph::command {
namespace {

// Suggests a name that is nearly right, or right but for the graph's: `decode.token` for `token`.
std::string HintAt(const std::string& name, const std::vector<std::string>& names) {
  for (const std::string& whole : names) {
    if (whole.ends_with("." + name)) return fmt::format(" (did you mean `{}`?)", whole);
  }
  return DidYouMeanHint(name, names);
}

Problem CheckOutputs(const std::vector<const plan::Graph*>& graphs, const Options& options) {
  std::vector<std::string> names;
  for (const plan::Graph* graph : graphs) {
    const std::string prefix = options.calls.empty() ? "" : graph->name + ".";
    for (const auto& port : graph->outputs) names.push_back(prefix + port->name);
  }
  const std::string who =
      options.calls.empty() ? fmt::format("graph {} has", graphs[0]->name) : "the calls have";
  const std::string they = options.calls.empty() ? "it has" : "they have";
  for (const auto& [name, path] : options.outputs) {
    if (name.empty()) continue;  // all of them
    // A list may be meant as a whole: its elements are stacked.
    const std::string first = name + "[0]";
    if (std::find(names.begin(), names.end(), name) != names.end() ||
        std::find(names.begin(), names.end(), first) != names.end()) {
      continue;
    }
    return {kUsage,
            fmt::format("--output {}: {} no such output{}; {} {}", name, who, HintAt(name, names),
                        they, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
  }
  return {};
}

Problem CheckWeights(const Options& options) {
  std::error_code error;
  const std::string& weights = options.engine.weights;
  if (std::filesystem::is_directory(weights, error)) return {};
  if (!std::filesystem::exists(weights, error)) {
    return {kEnvironment, fmt::format("--weights {}: there is no such folder", weights)};
  }
  const std::string folder = std::filesystem::path(weights).parent_path().string();
  return {kUsage, fmt::format("--weights {}: it is a file; pass the folder that contains the files "
                              "that `load` names: --weights {}",
                              weights, folder.empty() ? "." : folder)};
}

// Each machine has libraries of its own, and this one may need none.
Problem CheckLibraries(const Options& options, const cluster::Peers* machines) {
  for (const std::string& path : options.engine.libraries) {
    if (path.find('\n') != std::string::npos) {
      return {kUsage, "--lib: a path has no line ends"};
    }
    const Status status = machines != nullptr ? Status::Ok() : native::CheckLibraryPath(path);
    if (status.ok()) continue;
    return {status.code() == StatusCode::kInvalid ? kUsage : kEnvironment,
            fmt::format("--lib {}: {}", path, status.message())};
  }
  return {};
}

// Checks before the run that the files which it will write can be written, and that nothing is
// lost.
Problem CheckWritten(const plan::Plan& plan, const Options& options) {
  std::vector<NamedFile> read = {{"", options.file}}, written;
  for (const auto& [name, value] : options.inputs) {
    if (value.ends_with(".npy")) read.push_back({fmt::format("--input {}=", name), value});
  }
  const std::filesystem::path weights = options.engine.weights;
  for (const auto& file : plan.weights) read.push_back({"weights", weights / file->name});
  for (const std::string& library : options.engine.libraries) read.push_back({"--lib ", library});
  for (const std::string& source : plan.files) read.push_back({"", source});
  // A run may go on in one file.
  if (!options.load_state.empty() && options.load_state != options.save_state) {
    read.push_back({"--load-state ", options.load_state});
  }
  for (const auto& [name, path] : options.outputs) {
    written.push_back({name.empty() ? "--output " : fmt::format("--output {}=", name), path});
  }
  if (!options.save_state.empty()) written.push_back({"--save-state ", options.save_state});
  if (!options.profile.empty()) written.push_back({"--profile ", options.profile});
  if (!options.trace.empty()) written.push_back({"--trace ", options.trace});
  if (!options.wait_graph.empty()) written.push_back({"--wait-graph ", options.wait_graph});
  if (const std::string lost = Overwriting(read, written); !lost.empty()) return {kUsage, lost};
  for (const NamedFile& file : written) {
    const Status status = CheckWritable(file.path);
    if (!status.ok()) return ProblemOf(status);
  }
  return {};
}

Problem CheckSaveState(const Options& options) {
  const std::string& path = options.save_state;
  if (path.empty() || path.ends_with(".safetensors")) return {};
  const std::filesystem::path given = path;
  const std::string ending = given.extension().string();
  const bool is_other = ending == ".npz" || ending == ".npy" || ending == ".pt" || ending == ".pth";
  const std::string name = is_other ? (given.parent_path() / given.stem()).string() : path;
  return {kUsage, fmt::format("--save-state {}: states are written as .safetensors; name the file "
                              "{}.safetensors",
                              path, name)};
}

Problem CheckInflight(const plan::Graph& graph, const Options& options) {
  if (options.engine.inflight <= graph.inflight) return {};
  return {kUsage, fmt::format("--inflight {}: graph {} is compiled for {}; compile with "
                              "--inflight {}",
                              options.engine.inflight, graph.name,
                              Counted(graph.inflight, "execution") + " in flight",
                              options.engine.inflight)};
}

}  // namespace

Problem CheckRepeats(const std::vector<const plan::Graph*>& graphs, const Options& options) {
  const auto repeats = [](const plan::Graph* graph) { return graph->repeat != nullptr; };
  const auto repeating = std::find_if(graphs.begin(), graphs.end(), repeats);
  if (repeating == graphs.end()) {
    if (options.stream.empty()) return {};
    return {kUsage, fmt::format("--stream {}: graph {} gives its outputs once, at the end; only a "
                                "graph that ends with `repeat` gives a row for each round",
                                options.stream, graphs[0]->name)};
  }
  const plan::Graph& graph = **repeating;
  const TrainingOptions& training = options.training;
  const std::pair<const char*, bool> of_executions[] = {
      {"--call", !options.calls.empty()},
      {"-n", options.repeat > 1},
      {"--every", options.every},
      {"--warmup", options.warmup > 0},
      {"--batch", !options.batch.empty()},
      {"--epochs", training.epochs > 0},
      {"--save-every", training.save_every > 0},
      {"--log", !training.log.empty()},
      {"--eval", !training.eval.empty()}};
  for (const auto& [flag, given] : of_executions) {
    if (!given) continue;
    return {kUsage, fmt::format("{}: graph {} ends with `repeat`, so it runs once, its rounds are "
                                "its executions, and every row is given; leave {} out",
                                flag, graph.name, flag)};
  }
  if (options.stream.empty()) return {};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < graph.repeat->outputs; ++i) names.push_back(graph.outputs[i]->name);
  if (std::find(names.begin(), names.end(), options.stream) != names.end()) return {};
  return {kUsage,
          fmt::format("--stream {}: graph {} has no such output{}; it has {}", options.stream,
                      graph.name, HintAt(options.stream, names),
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
}

Problem CheckOptions(const plan::Plan& plan, const std::vector<const plan::Graph*>& graphs,
                     const Options& options, const cluster::Peers* machines) {
  Problem problem = CheckOutputs(graphs, options);
  // Each machine looks for weights itself, and this one may need none.
  if (problem.ok() && machines == nullptr) problem = CheckWeights(options);
  if (problem.ok()) problem = CheckLibraries(options, machines);
  if (problem.ok()) problem = CheckWritten(plan, options);
  if (problem.ok()) problem = CheckSaveState(options);
  if (problem.ok()) problem = CheckInflight(*graphs[0], options);
  return problem;
}

}  // namespace cgraph::command
