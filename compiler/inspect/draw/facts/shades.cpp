#include "compiler/inspect/draw/facts/facts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cgraph {
namespace {

// Returns the method of a call that works for a micro-batch; else kNone.
uint32_t MethodOf(const plan::Graph& graph, const Operation& operation) {
  const bool is_call = operation.kind == plan::Kind::call && operation.call != plan::kNone &&
                       operation.micro_batch != plan::kNone;
  return is_call ? graph.calls[operation.call].method() : plan::kNone;
}

// In program order of their first calls.
std::vector<uint32_t> MethodsOf(const plan::Graph& graph, const Operations& operations) {
  std::map<uint32_t, uint32_t> first;  // place in program order, by method
  for (const Operation& operation : operations.all) {
    const uint32_t method = MethodOf(graph, operation);
    if (method == plan::kNone) continue;
    const uint32_t place = graph.instructions[operation.instructions.front()].program_order();
    uint32_t& known = first.emplace(method, place).first->second;
    known = std::min(known, place);
  }
  std::vector<uint32_t> methods;
  for (const auto& [method, place] : first) methods.push_back(method);
  std::stable_sort(methods.begin(), methods.end(),
                   [&](uint32_t a, uint32_t b) { return first[a] < first[b]; });
  return methods;
}

double ShadeOf(size_t method, size_t methods) {
  return methods < 2 ? 0 : static_cast<double>(method) / static_cast<double>(methods - 1);
}

}  // namespace

void ChooseShades(const plan::Graph& graph, Operations& operations) {
  const std::vector<uint32_t> methods = MethodsOf(graph, operations);
  std::map<uint32_t, double> shades;
  for (size_t i = 0; i < methods.size(); ++i) shades[methods[i]] = ShadeOf(i, methods.size());
  for (Operation& operation : operations.all) {
    const auto shade = shades.find(MethodOf(graph, operation));
    if (shade != shades.end()) operation.shade = shade->second;
  }
}

std::map<double, std::string> ShadesOf(const plan::Plan& plan, const plan::Graph& graph,
                                       const Operations& operations) {
  std::map<double, std::string> names;
  if (operations.all.empty() || !operations.all[0].is_colored_by_micro_batch) return names;
  const std::vector<uint32_t> methods = MethodsOf(graph, operations);
  for (size_t i = 0; methods.size() > 1 && i < methods.size(); ++i) {
    names[ShadeOf(i, methods.size())] = plan.names[methods[i]];
  }
  return names;
}

}  // namespace cgraph
