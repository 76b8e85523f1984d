// EngineOptions: what a plan is loaded with, and what is done for all of it alike. Its rows are in
// options.def.
#ifndef CGRAPH_RUNTIME_ENGINE_OPTIONS_H_
#define CGRAPH_RUNTIME_ENGINE_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/kinds/limits.h"
#include "runtime/base/status.h"
#include "runtime/base/usage_text.h"
#include "runtime/device/gpus.h"

namespace cgraph {

namespace cluster {
struct Peers;
}  // namespace ranks

namespace option {  // the kinds of options.def

struct Switch {
  using Type = bool;
};
template <auto most>
struct Count {
  using Type = uint32_t;
  static constexpr auto kMost = static_cast<uint32_t>(most);
};
struct Processes {
  using Type = uint32_t;
};
struct Seconds {
  using Type = std::chrono::nanoseconds;
};
struct Text {
  using Type = std::string;
};
struct Texts {
  using Type = std::vector<std::string>;
};

}  // namespace option

inline constexpr uint32_t kProcessPerDevice = UINT32_MAX;

struct EngineOptions {
#define OPTION(kind, name, initial, known_by, flag, value, help) option::kind::Type name = initial;
#define EXCLUDES(one, other, why)
#include "runtime/engine/options.def"

  // The program that other processes run: cgrun, or one that calls engine::ServeRank() with the
  // number in its last argument (cluster/lifeline.h). It gets `rank_arguments` before that.
  std::string rank_program = "/proc/self/exe";
  std::vector<std::string> rank_arguments;
  // The processes that a launcher has started, this one the first (cluster/launcher.h): each serves
  // the devices of a node of the plan. Null: all nodes are served here.
  cluster::Peers* peers = nullptr;
  // Where the plan's gpus run: each on the GPU that `gpu_map` names, those that it leaves out on
  // CPU threads; where it is empty, each on one of its own, in order. All of them run on CPU
  // threads where this machine has no GPU that plans can run on (with `require_gpus` that is an
  // error), or `gpus` is false. With `peers`, all of this is said of each node's machine.
  bool gpus = true;
  device::GpuMap gpu_map;
  // Called by a thread of the engine when a time-out, this one or a graph's, or a process that is
  // gone has ended the run. A caller inside Get() learns of it there, unless it is inside a kernel
  // that never returns. The function may call anything of the engine, Teardown() too, but must not
  // destroy it.
  std::function<void(const Status&)> timed_out;
  // Asked from time to time by a thread that waits before it reads or sets states, or, where the
  // plan has methods in Python, for room: whether the program does not wait any more. Then that
  // fails with kFailed.
  std::function<bool()> interrupted;
  // Called by Load() when it begins with a part of its work that may take long, with what it does
  // then, as "making kernels".
  std::function<void(const std::string&)> loading;
  // Called by a teardown that has waited for a kernel of a GPU for as long as `timeout`. No
  // kernel can be ended, so it is abandoned: its stream and all memory of GPUs and pinned memory
  // that this process has then stay allocated, and inputs that were lent must stay as they are,
  // for it may still read and write. Where there is no function, standard error is told.
  std::function<void(const Status&)> abandoned;
};

namespace engine {

// OptionRow: what options.def says of an option beside its kind.
struct OptionRow {
  enum KnownBy { kCaller, kRanks };
  const char* name;
  KnownBy known_by;
  const char *flag, *value, *help;
};

// Calls visit(kind, row, member) for every option.
template <typename Options, typename Visit>
void ForEachOption(Options& options, Visit&& visit) {
#define OPTION(kind, name, initial, known_by, flag, value, help) \
  visit(option::kind(), OptionRow{#name, OptionRow::known_by, flag, value, help}, options.name);
#define EXCLUDES(one, other, why)
#include "runtime/engine/options.def"
}

// Exclusion: two options of which one alone is given.
struct Exclusion {
  const char *one, *other, *why;
};
inline constexpr Exclusion kExclusions[] = {
#define OPTION(kind, name, initial, known_by, flag, value, help)
#define EXCLUDES(one, other, why) {#one, #other, why},
#include "runtime/engine/options.def"
};

// Returns whether options.def has a row of that name, or it is `device_map`.
constexpr bool IsOption(std::string_view name) {
  bool found = name == "device_map";
#define OPTION(kind, row, initial, known_by, flag, value, help) found = found || name == #row;
#define EXCLUDES(one, other, why)
#include "runtime/engine/options.def"
  return found;
}
#define OPTION(kind, name, initial, known_by, flag, value, help)
#define EXCLUDES(one, other, why) static_assert(IsOption(#one) && IsOption(#other));
#include "runtime/engine/options.def"

// The options that other ranks load the plan with, as bytes for processes of this program.
std::string TextForRanks(const EngineOptions& options);
// Reads such bytes, in which nothing else is. False where they are no such text.
bool ReadTextForRanks(std::string_view text, EngineOptions& options);

}  // namespace engine
}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_ENGINE_OPTIONS_H_
