#include "runtime/engine/states/saved_states.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/files/safetensors.h"
#include "runtime/files/write_safetensors.h"
#include "runtime/kinds/native.h"
#include "runtime/plan/kinds.h"
#include "runtime/status/text.h"

namespace cgraph {
namespace {

std::string TypeText(plan::DType dtype, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", plan::DTypeName(dtype), fmt::join(dims, ", "));
}

// Checks that everything in the file is a state of the plan, before any is set.
Status CheckFits(const std::string& path, const files::Safetensors& file, const Engine& engine) {
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

Result<std::vector<std::string>> LoadStates(const std::string& path, Engine& engine) {
  CGRAPH_RETURN_IF_ERROR(engine.CheckStates());
  auto file = files::Safetensors::Open(path);
  if (!file.ok()) return file.status();
  CGRAPH_RETURN_IF_ERROR(CheckFits(path, **file, engine));
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
  return absent;
}

Status SaveStates(const std::string& path, Engine& engine) {
  OutputFiles files;
  CGRAPH_RETURN_IF_ERROR(AddStates(files, path, engine));
  return files.Commit();
}

std::string NoteOfObjects(const std::string& path, const Engine& engine) {
  const auto& actors = engine.plan().actors;
  const bool any = std::any_of(actors.begin(), actors.end(), [](const auto& actor) {
    return std::any_of(actor->states.begin(), actor->states.end(),
                       [](const auto& state) { return state->name == kNativeObjectState; });
  });
  if (!any) return "";
  return fmt::format("{} has the states that actors declare; what their objects in native code or "
                     "Python keep is in it where a method has put it into a state (`writes`)",
                     path);
}

Status AddStates(OutputFiles& files, const std::string& path, Engine& engine) {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<files::NamedTensor> tensors;
  for (const Engine::State& state : engine.States()) {
    bytes.emplace_back(state.bytes);
    CGRAPH_RETURN_IF_ERROR(engine.ReadState(state.name, bytes.back()));
    tensors.push_back({state.name, state.dtype, state.dims, bytes.back()});
  }
  return files::AddSafetensors(files, path, tensors);
}

}  // namespace cgraph
