#include "runtime/engine/states/saved_states.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/kinds/native.h"
#include "runtime/base/text.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/write_safetensors.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/state_names.h"

namespace cgraph {
namespace {

std::string TypeText(plan::DType dtype, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", plan::DTypeName(dtype), fmt::join(dims, ", "));
}

// Returns what to say of a name that is a state of the plan with a word behind it, as `net.w.m`: a
// slot of an optimizer, which a plan that does not train lacks. Empty: it is no such name.
std::string SlotText(const std::string& path, const std::string& name,
                     const std::vector<std::string>& names) {
  const std::string of = name.substr(0, name.rfind('.'));
  const auto is_slot = [&](const std::string& other) { return other.starts_with(of + "."); };
  if (std::find(names.begin(), names.end(), of) == names.end() ||
      std::any_of(names.begin(), names.end(), is_slot)) {
    return "";
  }
  return fmt::format(
      ": `{0}` has no slot of an optimizer there, since the plan trains it by another one, or not "
      "at all; its initial value load(\"{1}\", \"{0}\") takes it alone",
      of, std::filesystem::path(path).filename().string());
}

// Returns what to say of a name that is no state of the plan.
std::string UnknownText(const std::string& path, const std::string& name,
                        const plan::StateNames& states, const std::vector<std::string>& names) {
  const std::string slot = SlotText(path, name, names);
  if (!slot.empty()) return slot;
  const std::string place = name.substr(0, name.find('.'));
  const bool has_place = std::any_of(names.begin(), names.end(), [&](const std::string& other) {
    return other.starts_with(place + ".");
  });
  if (has_place || !states.HasCopiesAt(place)) return DidYouMeanHint(name, names);
  return fmt::format(
      ": other places have the params of {}, which are `equal along` an index, and a state that is "
      "no param is of its place alone; leave it out, or declare it as a param",
      place);
}

// Returns what to say of a tensor that was cut otherwise than the state, along one dimension: how
// the state begins with a part of it, or with several of them. Empty: it is no such tensor.
std::string CutText(const std::string& path, const std::string& name, plan::DType dtype,
                    const std::vector<int64_t>& there, const std::vector<int64_t>& here) {
  size_t differing = 0, dim = 0;
  for (size_t i = 0; i < there.size() && there.size() == here.size(); ++i) {
    if (there[i] == here[i]) continue;
    ++differing;
    dim = i;
  }
  if (differing != 1) return "";
  const std::string load =
      fmt::format("load<{}>(\"{}\", ", TypeText(dtype, there),
                  std::filesystem::path(path).filename().string());
  return "; without --load-state a state cut otherwise can begin with " +
         (there[dim] > here[dim]
              ? fmt::format("slice({}\"{}\"), dim: {}, from: 0, length: {})", load, name, dim,
                            here[dim])
              : fmt::format("concat([{}name) for name in [\"{}\", ...]], dim: {})", load, name,
                            dim)) +
         ", and an optimizer's slots begin anew";
}

// Checks that everything in the file is a state or an object of the plan, before any is set.
Status CheckFits(const std::string& path, const files::Safetensors& file, const Engine& engine) {
  const plan::StateNames states(engine.plan());
  std::vector<std::string> names;
  for (const Engine::State& state : engine.States()) names.push_back(state.name);
  std::set<std::string> objects;
  for (const auto& actor : engine.plan().actors) {
    for (const auto& state : actor->states) {
      if (state->name == kNativeObjectState) objects.insert(actor->name + "." + state->name);
    }
  }
  names.insert(names.end(), objects.begin(), objects.end());
  for (const auto& [name, entry] : file.entries()) {
    const std::optional<size_t> number = states.Find(name);
    if (!number && objects.count(name) == 0) {
      return {StatusCode::kInvalid,
              fmt::format("{}: it has `{}`, which is no state of the plan{}", path, name,
                          UnknownText(path, name, states, names))};
    }
    const plan::State* const state = number ? states.states()[*number].state : nullptr;
    const bool fits = state == nullptr  // an object has any number of bytes
                          ? entry.dtype == plan::DType::u8 && entry.dims.size() == 1
                          : entry.dtype == state->dtype && entry.dims == state->dims;
    if (fits) continue;
    return {StatusCode::kInvalid,
            fmt::format("{}: `{}` is {} there, and {} in the plan{}", path, name,
                        TypeText(entry.dtype, entry.dims),
                        state == nullptr ? "u8[n]" : TypeText(state->dtype, state->dims),
                        state == nullptr || entry.dtype != state->dtype
                            ? ""
                            : CutText(path, name, entry.dtype, entry.dims, state->dims))};
  }
  return Status::Ok();
}

// Bytes of an arena.
struct ArenaBytes {
  uint32_t arena;
  uint64_t begin, end;
};
ArenaBytes BytesOf(const plan::Graph& graph, uint32_t id) {
  const plan::Value& value = graph.values[id];
  const plan::Buffer& buffer = graph.buffers[value.buffer()];
  const uint64_t begin = buffer.offset() + value.offset();
  return {buffer.arena(), begin, begin + value.bytes()};
}

// Returns by arena what instructions of the start graph read of the arenas of states.
std::vector<std::vector<ArenaBytes>> ReadStates(const plan::Plan& plan) {
  const plan::Graph& start = *plan.start;
  const plan::GraphIndex index(plan, start);
  std::vector<std::vector<ArenaBytes>> read(start.arenas.size());
  for (uint32_t i = 0; i < start.instructions.size(); ++i) {
    index.ForEachOperand(i, [&](uint32_t value, bool write, uint32_t) {
      const ArenaBytes bytes = BytesOf(start, value);
      if (!write && start.arenas[bytes.arena].space() == plan::Space::state) {
        read[bytes.arena].push_back(bytes);
      }
    });
  }
  return read;
}

// Returns the names of the states that a file sets.
std::set<std::string> StatesOf(const files::Safetensors& file, const plan::Plan& plan) {
  const plan::StateNames states(plan);
  std::set<size_t> variables;
  for (const auto& [name, entry] : file.entries()) {
    const std::optional<size_t> found = states.Find(name);
    if (found) variables.insert(states.states()[*found].first);
  }
  std::set<std::string> names;
  for (const auto& [actor, state, first] : states.states()) {
    if (variables.count(first) > 0) names.insert(plan.actors[actor]->name + "." + state->name);
  }
  return names;
}

// Returns whether a load of the start graph fills a state that the file sets, and nothing of `read`
// reads it there.
bool FillsOnly(const plan::Plan& plan, const plan::Instruction& load,
               const std::set<std::string>& set, const std::vector<std::vector<ArenaBytes>>& read) {
  const plan::Graph& start = *plan.start;
  const ArenaBytes filled = BytesOf(start, start.operands[load.first() + load.inputs()]);
  const plan::Arena& arena = start.arenas[filled.arena];
  if (arena.space() != plan::Space::state) return false;
  const plan::Actor& actor = *plan.actors[arena.owner()];
  const auto is_filled = [&](const auto& state) {
    return state->offset == filled.begin && state->offset + state->bytes == filled.end &&
           set.count(actor.name + "." + state->name) > 0;
  };
  const auto overlaps = [&](const ArenaBytes& other) {
    return other.begin < filled.end && filled.begin < other.end;
  };
  return std::any_of(actor.states.begin(), actor.states.end(), is_filled) &&
         std::none_of(read[filled.arena].begin(), read[filled.arena].end(), overlaps);
}

// Returns what is to be said of objects that are not in the file: those with one reason together.
std::string NoteOf(const std::string& path, const std::vector<Engine::Snapshot::Unsaved>& unsaved) {
  constexpr size_t kMost = 8;
  std::map<std::string, std::vector<std::string>> places;
  for (const auto& each : unsaved) places[each.why].push_back(each.place);
  std::vector<std::string> texts;
  for (auto& [why, names] : places) {
    const bool is_cut = names.size() > kMost;
    names.resize(std::min(names.size(), kMost));
    texts.push_back(fmt::format("{}{} ({})", fmt::join(names, ", "), is_cut ? ", ..." : "", why));
  }
  if (texts.empty()) return "";
  return fmt::format(
      "{} lacks what objects keep, unless a method has put it into a state "
      "(`writes`): those of {}",
      path, fmt::join(texts, "; those of "));
}

// Returns what to say of copies of one variable that are not equal. On devices of different kinds
// they have been rounded differently. `snapshot` begins with all states.
std::string NoteOfDrift(const plan::Plan& plan, const Engine::Snapshot& snapshot) {
  const plan::StateNames names(plan);
  const auto kind_of = [&](size_t state) {
    return plan.devices[plan.actors[names.states()[state].actor]->device]->kind;
  };
  for (size_t s = 0; s < names.states().size(); ++s) {
    const size_t first = names.states()[s].first;
    const auto &one = snapshot.tensors[first], &other = snapshot.tensors[s];
    if (one.bytes == other.bytes || kind_of(first) != kind_of(s)) continue;
    return fmt::format(
        "`{}` and `{}` are copies of one variable (`equal along`) and have drifted apart; a run "
        "with other places does not take them",
        one.name, other.name);
  }
  return "";
}

}  // namespace

Result<std::vector<std::string>> LoadStates(const std::string& path, Engine& engine,
                                            StatesMetadata* metadata) {
  auto file = files::Safetensors::Open(path);
  if (!file.ok()) return file.status();
  CGRAPH_RETURN_IF_ERROR(CheckFits(path, **file, engine));
  std::vector<Engine::Snapshot::Tensor> tensors;
  for (const auto& [name, entry] : (*file)->entries()) {
    auto& tensor = tensors.emplace_back();
    tensor = {name, entry.dtype, entry.dims, std::vector<uint8_t>(entry.bytes)};
    CGRAPH_RETURN_IF_ERROR((*file)->Read(name, {}, {}, tensor.bytes));
  }
  if (metadata != nullptr) *metadata = (*file)->metadata();
  auto absent = engine.RestoreSnapshot(tensors);
  const StatusCode code = absent.status().code();
  if (code != StatusCode::kInvalid && code != StatusCode::kFailed) return absent;
  return Status(code, fmt::format("{}: {}", path, absent.status().message()));
}

void LeaveOutLoads(const std::string& path, plan::Plan& plan) {
  const auto file = files::Safetensors::Open(path);
  if (!file.ok()) return;
  const std::set<std::string> set = StatesOf(**file, plan);
  const std::vector<std::vector<ArenaBytes>> read = ReadStates(plan);
  std::vector<bool> is_read(plan.weights.size(), false);
  for (const plan::Instruction& each : plan.start->instructions) {
    if (each.kind() != plan::Kind::load || FillsOnly(plan, each, set, read)) continue;
    is_read[each.subject()] = true;
  }
  for (size_t i = 0; i < is_read.size(); ++i) {
    if (!is_read[i]) plan.weights[i]->name.clear();
  }
}

Result<StatesMetadata> ReadStatesMetadata(const std::string& path) {
  auto file = files::Safetensors::Open(path);
  if (!file.ok()) return file.status();
  return (*file)->metadata();
}

Result<std::string> SaveStates(const std::string& path, Engine& engine,
                               const StatesMetadata& metadata) {
  OutputFiles files(OutputFiles::Durability::kPower);
  auto note = AddStates(files, path, engine, metadata);
  if (!note.ok()) return note;
  CGRAPH_RETURN_IF_ERROR(files.Commit());
  return note;
}

Result<std::string> AddStates(OutputFiles& files, const std::string& path, Engine& engine,
                              const StatesMetadata& metadata) {
  const auto snapshot = engine.TakeSnapshot();
  if (!snapshot.ok()) return snapshot.status();
  std::vector<files::NamedTensor> tensors;
  for (const auto& [name, dtype, dims, bytes] : snapshot->tensors) {
    tensors.push_back({name, dtype, dims, bytes});
  }
  CGRAPH_RETURN_IF_ERROR(files::AddSafetensors(files, path, tensors, metadata));
  const std::string unsaved = NoteOf(path, snapshot->unsaved);
  const std::string drift = NoteOfDrift(engine.plan(), *snapshot);
  return unsaved.empty() || drift.empty() ? unsaved + drift : unsaved + "; " + drift;
}

}  // namespace cgraph
