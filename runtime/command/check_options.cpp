#include "runtime/command/check_options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/status/spelling.h"
#include "runtime/status/text.h"

namespace cgraph::command {
namespace {

Problem CheckOutputs(const plan::Graph& graph, const Options& options) {
  std::map<std::string, std::string> by_path;
  for (const auto& [name, path] : options.outputs) {
    const auto [first, is_new] = by_path.insert({path, name});
    if (!is_new) {
      return {kUsage, fmt::format("--output {}={}: output {} goes to that file already", name, path,
                                  first->second)};
    }
    std::vector<std::string> names;
    for (const auto& port : graph.outputs) names.push_back(port->name);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return {kUsage,
              fmt::format("--output {}: graph {} has no such output{}; it has {}", name, graph.name,
                          DidYouMeanHint(name, names),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
    }
  }
  return {};
}

Problem CheckWeights(const Options& options) {
  std::error_code error;
  if (options.weights.empty() || std::filesystem::is_directory(options.weights, error)) return {};
  return {kEnvironment, fmt::format("--weights {}: there is no such folder", options.weights)};
}

// What is written after the run can be written: found out before it.
Problem CheckWritable(const Options& options) {
  std::vector<std::string> paths;
  for (const auto& [name, path] : options.outputs) paths.push_back(path);
  for (const std::string& path : {options.profile, options.trace}) {
    if (!path.empty()) paths.push_back(path);
  }
  for (const std::string& path : paths) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const bool there = access(path.c_str(), F_OK) == 0;
    const std::string& needed = there ? path : folder.empty() ? "." : folder;
    if (access(needed.c_str(), W_OK) != 0) {
      return {kEnvironment, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      return {kEnvironment, fmt::format("cannot write {}: it is a folder", path)};
    }
  }
  return {};
}

Problem CheckInflight(const plan::Graph& graph, const Options& options) {
  if (options.inflight <= graph.inflight) return {};
  return {kUsage, fmt::format("--inflight {}: graph {} is compiled for {}; compile with "
                              "--inflight {}",
                              options.inflight, graph.name,
                              Counted(graph.inflight, "execution") + " in flight",
                              options.inflight)};
}

}  // namespace

Problem CheckOptions(const plan::Graph& graph, const Options& options) {
  Problem problem = CheckOutputs(graph, options);
  if (problem.ok()) problem = CheckWeights(options);
  if (problem.ok()) problem = CheckWritable(options);
  if (problem.ok()) problem = CheckInflight(graph, options);
  return problem;
}

}  // namespace cgraph::command
