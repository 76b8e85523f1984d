#include "runtime/command/run/until.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/command/inputs/inputs.h"
#include "runtime/device/tensor.h"
#include "runtime/plan/kinds.h"

namespace cgraph::command {
namespace {

device::Tensor TensorOf(const files::Array& number) {
  device::Tensor tensor;
  tensor.data = const_cast<uint8_t*>(number.bytes.data());  // is only read
  tensor.dtype = number.dtype;
  return tensor;
}

// Floats are compared as numbers, so that -0 is 0; all others by their bytes.
bool IsNumber(const device::Tensor& tensor, int64_t i, const files::Array& number) {
  if (plan::IsFloat(tensor.dtype)) {
    return device::ElementAsDouble(tensor, i) == device::ElementAsDouble(TensorOf(number), 0);
  }
  const size_t width = number.bytes.size();
  return std::memcmp(tensor.as<uint8_t>() + static_cast<size_t>(i) * width, number.bytes.data(),
                     width) == 0;
}

Problem ReadNumber(const NameAndValue& until, plan::DType dtype, files::Array& number) {
  const auto& [name, text] = until;
  Result<files::Array> read = ParseLiteral(text, dtype);
  if (!read.ok()) {
    return {kUsage, fmt::format("--until {}=={}: {}", name, text, read.status().message())};
  }
  if (!read->dims.empty()) {
    return {kUsage, fmt::format("--until {}=={}: expected a number", name, text)};
  }
  number = std::move(*read);
  if (plan::IsFloat(dtype) && std::isnan(device::ElementAsDouble(TensorOf(number), 0))) {
    return {kUsage, fmt::format("--until {}=={}: nan equals nothing, not even nan, so this would "
                                "never hold; return x != x as an output, and end where it is true",
                                name, text)};
  }
  return {};
}

}  // namespace

Problem Until::Read(const std::vector<const plan::Graph*>& graphs, const Options& options,
                    Until& until) {
  const std::string& name = options.until.first;
  if (name.empty()) return {};
  for (const plan::Graph* graph : graphs) {
    for (const auto& port : graph->outputs) {
      if (name != port->name && name != graph->name + "." + port->name) continue;
      Number& number = until.of_graphs_[graph->name];
      number.output = port->name;
      Problem problem =
          ReadNumber(options.until, graph->values[port->value].dtype(), number.number);
      if (!problem.ok()) return problem;
    }
  }
  if (!until.of_graphs_.empty()) return {};
  return {kUsage, fmt::format("--until {}=={}: no graph that is called has such an output{}", name,
                              options.until.second,
                              PortNames(graphs, &plan::Graph::outputs, name))};
}

bool Until::Holds(const std::string& graph, const Outputs& outputs) const {
  const auto found = of_graphs_.find(graph);
  if (found == of_graphs_.end()) return false;
  const device::Tensor* tensor = outputs.Find(found->second.output);
  if (tensor == nullptr) return false;
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    if (!IsNumber(*tensor, i, found->second.number)) return false;
  }
  return true;
}

std::string Until::NoteOfNone(const GraphCall& call, const Options& options) const {
  const auto found = of_graphs_.find(call.graph);
  if (found == of_graphs_.end()) return "";
  const plan::DType dtype = found->second.number.dtype;
  if (call.times == 1 && !plan::IsFloat(dtype)) return "";  // there was nothing to end
  const std::string after =
      fmt::format("{} ended after {}, and {} == {} after none", call.graph,
                  Counted(call.times, "execution"), options.until.first, options.until.second);
  if (!plan::IsFloat(dtype)) return after;
  return fmt::format("{}: what is computed in {} is seldom exactly a number; return a comparison "
                     "as an output, as x < 0.1, and end where it is true",
                     after, plan::DTypeName(dtype));
}

std::string PortNames(const std::vector<const plan::Graph*>& graphs, Ports ports,
                      const std::string& name) {
  std::vector<std::string> names, qualified;
  for (const plan::Graph* graph : graphs) {
    for (const auto& port : graph->*ports) {
      const std::string whole = graph->name + "." + port->name;
      names.push_back(port->name);
      if (std::count(qualified.begin(), qualified.end(), whole) == 0) qualified.push_back(whole);
    }
  }
  names.insert(names.end(), qualified.begin(), qualified.end());
  return fmt::format("{}; they have {}", DidYouMeanHint(name, names),
                     qualified.empty() ? "none" : fmt::format("{}", fmt::join(qualified, ", ")));
}

}  // namespace cgraph::command
