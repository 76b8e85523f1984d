#include "runtime/engine/states/state_files.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/files/safetensors.h"
#include "runtime/files/write_safetensors.h"
#include "runtime/kinds/native.h"
#include "runtime/plan/kinds.h"
#include "runtime/status/text.h"

namespace cgraph::engine {
namespace {

std::string TypeText(plan::DType dtype, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", plan::DTypeName(dtype), fmt::join(dims, ", "));
}

// Checks that everything in the file is a state of the plan, before any is set.
Status CheckStates(const std::string& path, const files::Safetensors& file, const Engine& engine) {
  std::vector<std::string> names;
  for (const Engine::State& state : engine.States()) names.push_back(state.name);
  for (const auto& [name, entry] : file.entries()) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return {StatusCode::kInvalid, fmt::format("{}: it has `{}`, which is no state of the plan{}",
                                                path, name, DidYouMeanHint(name, names))};
    }
    const Engine::State& state = engine.States()[found - names.begin()];
    if (entry.dtype == state.dtype && entry.dims == state.dims) continue;
    return {StatusCode::kInvalid,
            fmt::format("{}: `{}` is {} there, and {} in the plan", path, name,
                        TypeText(entry.dtype, entry.dims), TypeText(state.dtype, state.dims))};
  }
  return Status::Ok();
}

}  // namespace

Result<std::string> LoadStates(const std::string& path, Engine& engine) {
  auto file = files::Safetensors::Open(path);
  if (!file.ok()) return file.status();
  CGRAPH_RETURN_IF_ERROR(CheckStates(path, **file, engine));
  std::vector<std::string> absent;
  std::vector<uint8_t> bytes;
  for (const Engine::State& state : engine.States()) {
    if ((*file)->entries().count(state.name) == 0) {
      absent.push_back(state.name);
      continue;
    }
    bytes.resize(state.bytes);
    CGRAPH_RETURN_IF_ERROR((*file)->Read(state.name, {}, {}, bytes));
    CGRAPH_RETURN_IF_ERROR(engine.WriteState(state.name, bytes));
  }
  if (absent.empty()) return std::string();
  constexpr size_t kMost = 8;
  const size_t count = absent.size();
  absent.resize(std::min(count, kMost));
  return fmt::format("{} keep{} the initial value, since {} lacks {}: {}{}",
                     Counted(count, "state"), count == 1 ? "s" : "", path,
                     count == 1 ? "it" : "them", fmt::join(absent, ", "),
                     count > kMost ? ", ..." : "");
}

Result<std::string> AddStates(OutputFiles& files, const std::string& path, Engine& engine) {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<files::NamedTensor> tensors;
  for (const Engine::State& state : engine.States()) {
    bytes.emplace_back(state.bytes);
    CGRAPH_RETURN_IF_ERROR(engine.ReadState(state.name, bytes.back()));
    tensors.push_back({state.name, state.dtype, state.dims, bytes.back()});
  }
  CGRAPH_RETURN_IF_ERROR(files::AddSafetensors(files, path, tensors));
  const auto& actors = engine.plan().actors;
  const bool has_objects = std::any_of(actors.begin(), actors.end(), [](const auto& actor) {
    return std::any_of(actor->states.begin(), actor->states.end(),
                       [](const auto& state) { return state->name == kNativeObjectState; });
  });
  if (!has_objects) return std::string();
  return fmt::format(
      "{} has the states that actors declare; what their objects in native code or "
      "Python keep is in it where a method has put it into a state (`writes`)",
      path);
}

}  // namespace cgraph::engine
