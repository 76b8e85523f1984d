#include "compiler/cost/profile.h"

#include <algorithm>
#include <cmath>

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

namespace cgraph {
namespace {

constexpr double kMaxPicoseconds = 9e18;  // 104 days; what a uint64_t holds without rounding up

constexpr const char* kNamesItsUnit =
    "a profile says the `unit` of its times: one of \"ps\" \"ns\" \"us\" \"ms\" \"s\"";

llvm::Error Refuse(const std::string& message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.c_str());
}

// unit_ps: 0 where the profile names none. Numbers may have decimals (a mean of measurements);
// picoseconds are whole.
llvm::Expected<uint64_t> Picoseconds(const llvm::json::Value& value, uint64_t unit_ps,
                                     const std::string& what) {
  if (unit_ps == 0) return Refuse(kNamesItsUnit);
  const auto number = value.getAsNumber();
  if (!number || !(*number >= 0)) return Refuse(what + " is not a number >= 0");
  const double picoseconds = std::nearbyint(*number * static_cast<double>(unit_ps));
  if (!(picoseconds <= kMaxPicoseconds)) return Refuse(what + " is more than 104 days");
  return static_cast<uint64_t>(picoseconds);
}

// Returns how deep objects and arrays of the text are in each other; not those in its strings.
// LLVM's parser recurses without a limit.
size_t Depth(llvm::StringRef text) {
  size_t depth = 0, most = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == '{' || text[i] == '[')) {
      most = std::max(most, ++depth);
    } else if (!quoted && (text[i] == '}' || text[i] == ']') && depth > 0) {
      --depth;
    }
  }
  return most;
}

// Reads the machine on which a profile was measured. False: it has another form.
bool ReadMachine(const llvm::json::Object& entries, Hardware& machine) {
  for (const auto& [name, entry] : entries) {
    const auto text = entry.getAsString();
    const auto number = entry.getAsUINT64();
    const llvm::json::Array* const texts = entry.getAsArray();
    if (name == "cpu" && text) {
      machine.cpu = text->str();
    } else if (name == "cores" && number) {
      machine.cores = *number;
    } else if (name == "gpus" && texts) {
      for (const llvm::json::Value& each : *texts) {
        const auto gpu = each.getAsString();
        if (!gpu) return false;
        machine.gpus.push_back(gpu->str());
      }
    } else {
      return false;
    }
  }
  return true;
}

// Reads what a profile says of the program that was measured.
llvm::Error ReadMeasured(const llvm::json::Value& value, Profile& profile) {
  const auto refuse = [] {
    return Refuse("`measured` is an object with the texts `consts`, the lists of numbers `flops` "
                  "and the `machine`, as `cgrun --profile` writes it; it can be left out");
  };
  const llvm::json::Object* measured = value.getAsObject();
  if (!measured) return refuse();
  for (const auto& [key, part] : *measured) {
    const llvm::json::Object* entries = part.getAsObject();
    if (entries && key == "machine" && ReadMachine(*entries, profile.machine)) continue;
    if (!entries || (key != "consts" && key != "flops")) return refuse();
    for (const auto& [name, entry] : *entries) {
      if (key == "consts") {
        const auto text = entry.getAsString();
        if (!text) return refuse();
        profile.consts[name.str()] = text->str();
        continue;
      }
      const llvm::json::Array* numbers = entry.getAsArray();
      if (!numbers) return refuse();
      for (const llvm::json::Value& number : *numbers) {
        const auto flops = number.getAsUINT64();
        if (!flops) return refuse();
        profile.call_flops[name.str()].push_back(*flops);
      }
    }
  }
  return llvm::Error::success();
}

// Whether the text is a trace for chrome://tracing, in either of its forms: an object, or the array
// of events that is in it.
bool IsTrace(llvm::StringRef text) {
  const bool is_array = text.ltrim().startswith("[");
  return text.contains("\"traceEvents\"") || (is_array && text.contains("\"ph\""));
}

uint64_t UnitPicoseconds(llvm::StringRef unit) {
  return llvm::StringSwitch<uint64_t>(unit)
      .Case("ps", 1)
      .Case("ns", 1'000)
      .Case("us", 1'000'000)
      .Case("ms", 1'000'000'000)
      .Case("s", 1'000'000'000'000)
      .Default(0);
}

}  // namespace

std::optional<uint64_t> Profile::FindCall(const std::string& place, const std::string& actor,
                                          const std::string& method) const {
  auto found = actor.empty() ? call_ps.end() : call_ps.find(place + "." + method);
  if (found == call_ps.end() && !actor.empty()) found = call_ps.find(actor + "." + method);
  if (found == call_ps.end()) found = call_ps.find(method);
  return found == call_ps.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint64_t> Profile::Find(const std::string& name) const {
  const auto found = call_ps.find(name);
  return found == call_ps.end() ? default_ps : found->second;
}

llvm::Expected<Profile> ParseProfile(llvm::StringRef text) {
  const llvm::StringRef begin = text.ltrim();
  if (!begin.startswith("{") && !begin.startswith("[")) {
    return Refuse("no JSON object, which a profile is: { \"unit\": \"us\", \"calls\": {...} }");
  }
  if (IsTrace(text)) {
    return Refuse(
        "a trace, as `cgrun --trace` writes it, of what ran when; a profile has the mean "
        "time of each call, and `cgrun --profile FILE` writes one");
  }
  constexpr size_t kMostDepth = 4;  // {"measured": {"flops": {"A.f": [1]}}}
  if (Depth(text) > kMostDepth) return Refuse("more nesting than a profile has");
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) return Refuse("not JSON: " + llvm::toString(parsed.takeError()));
  const llvm::json::Object* object = parsed->getAsObject();
  if (!object) return Refuse("a profile is a JSON object with `unit`, `default` and `calls`");

  const auto unit = object->getString("unit");
  const uint64_t unit_ps = unit ? UnitPicoseconds(*unit) : 0;
  if (object->get("unit") && unit_ps == 0) return Refuse(kNamesItsUnit);
  Profile profile;
  for (const auto& [key, value] : *object) {
    if (key == "unit" || key == "run") continue;  // run: how it ended that was measured
    if (key == "default") {
      auto picoseconds = Picoseconds(value, unit_ps, "`default`");
      if (!picoseconds) return picoseconds.takeError();
      profile.default_ps = *picoseconds;
    } else if (key == "calls") {
      const llvm::json::Object* calls = value.getAsObject();
      if (!calls) return Refuse("`calls` is an object from \"Actor.method\" to a number");
      for (const auto& [call, time] : *calls) {
        auto picoseconds = Picoseconds(time, unit_ps, "`" + call.str() + "`");
        if (!picoseconds) return picoseconds.takeError();
        profile.call_ps[call.str()] = *picoseconds;
      }
    } else if (key == "measured") {
      if (llvm::Error error = ReadMeasured(value, profile)) return error;
    } else {
      return Refuse("`" + key.str() + "` is not a key of a profile; they are `unit`, "
                    "`default` and `calls`");
    }
  }
  if (!object->get("default") && !object->get("calls")) {
    return Refuse("it gives no time; a profile has `calls`, from \"Actor.method\" to a number, or "
                  "a `default`");
  }
  return profile;
}

}  // namespace cgraph
