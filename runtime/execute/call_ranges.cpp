#include "runtime/execute/call_ranges.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// ---- NVTX: named ranges on threads, which NVIDIA's profilers show beside what the GPU does -----
//
// A profiler sets NVTX_INJECTION64_PATH to a library of its own. Programs open that library and
// hand it tables of function pointers, which it fills; without the variable nothing is opened.
// NVIDIA's header nvtx3 does the same; what we use of it is declared here.

using Function = void (*)();
using FunctionTable = Function**;  // of pointers to the places that the tool fills

// Numbers of nvtxTypes.h.
constexpr uint32_t kCallbacks = 1, kVersionInfo = 3;  // tables that the tool asks for
constexpr int kCore = 1, kModules = 6;                // groups of functions
constexpr unsigned kPushA = 9, kPop = 11;             // functions of the core
constexpr unsigned kFunctions = 16;                   // in a group, with number 0, which is none
constexpr uint32_t kVersion = 3;

Function filled[kModules + 1][kFunctions];
Function* places[kModules + 1][kFunctions + 1];  // the last is none

struct Callbacks {
  size_t bytes;
  int (*get_module_function_table)(int module, FunctionTable* table, unsigned* size);
};
struct VersionInfo {
  size_t bytes;
  uint32_t version;
  uint32_t reserved;
  void (*set_injection_version)(uint32_t version);
};

int GetModuleFunctionTable(int module, FunctionTable* table, unsigned* size) {
  if (module < kCore || module > kModules) return 0;
  for (unsigned i = 1; i < kFunctions; ++i) places[module][i] = &filled[module][i];
  if (size != nullptr) *size = kFunctions;
  if (table != nullptr) *table = places[module];
  return 1;
}

const void* GetExportTable(uint32_t id) {
  static const Callbacks callbacks = {sizeof(Callbacks), GetModuleFunctionTable};
  static const VersionInfo version = {sizeof(VersionInfo), kVersion, 0, [](uint32_t) {}};
  if (id == kCallbacks) return &callbacks;
  return id == kVersionInfo ? &version : nullptr;
}

// Returns whether a tool is attached that records ranges. Called once in a process.
bool Attach() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr) return false;
  void* library = dlopen(path, RTLD_LAZY);
  if (library == nullptr) return false;
  using Initialize = int(const void* (*get_export_table)(uint32_t id));
  const auto initialize =
      reinterpret_cast<Initialize*>(dlsym(library, "InitializeInjectionNvtx2"));
  if (initialize == nullptr || initialize(GetExportTable) == 0) {
    dlclose(library);
    return false;
  }
  // A tool may record no ranges.
  return filled[kCore][kPushA] != nullptr && filled[kCore][kPop] != nullptr;
}

// Begin a range on this thread, inside those that it has begun; end the innermost. A tool is
// attached.
void BeginRange(const char* name) {
  reinterpret_cast<int (*)(const char*)>(filled[kCore][kPushA])(name);
}
void EndRange() { reinterpret_cast<int (*)()>(filled[kCore][kPop])(); }

}  // namespace

std::unique_ptr<CallRanges> CallRanges::MakeIfAttached() {
  static const bool attached = Attach();  // never ended: nor is the tool
  return std::unique_ptr<CallRanges>(attached ? new CallRanges : nullptr);
}

void CallRanges::AddGraph(const plan::Plan& plan, const plan::Graph& graph,
                          const StepList& program) {
  Names& names = names_.emplace_back();
  for (const plan::Instruction& instruction : graph.instructions) {
    names.call_of.push_back(instruction.call());
  }
  for (uint32_t call = 0; call < graph.calls.size(); ++call) {
    names.calls.push_back(plan::CallName(plan, graph, call));
  }
  for (const Segment& segment : program.segments) {
    std::set<uint32_t> calls;
    for (const uint32_t step : segment.steps) {
      calls.insert(names.call_of[program.steps[step].instruction]);
    }
    calls.erase(plan::kNone);
    std::string name = "CUDA graph";
    if (!calls.empty()) name = names.calls[*calls.begin()];
    if (calls.size() > 1) name += fmt::format(" and {} more", calls.size() - 1);
    names.segments.push_back(std::move(name));
  }
}

// Names are compared by address: each call of a graph has one string, made at load, so two steps of
// one call have the same.
void CallRanges::Enter(uint32_t graph, const Step& step) {
  if (step.op == Op::kWait || step.op == Op::kSignal) return;
  const Names& names = names_[graph];
  const uint32_t call = names.call_of[step.instruction];
  const std::string* name = nullptr;
  if (step.segment != 0) name = &names.segments[step.segment - 1];
  else if (call != plan::kNone) name = &names.calls[call];
  if (name == open_) return;
  Leave();
  if (name != nullptr) BeginRange(name->c_str());
  open_ = name;
}

void CallRanges::Leave() {
  if (open_ != nullptr) EndRange();
  open_ = nullptr;
}

}  // namespace cgraph::engine
