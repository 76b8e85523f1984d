// Profile: how long method calls take, measured by `cgrun --profile` or given by hand.
//
// A JSON object: {"unit": "ns", "default": 0, "calls": {"Stage.forward": 1, "Loss.loss": 2.5}}.
// `unit` is one of ps ns us ms s and belongs to every number: times without one are refused. Keys
// of `calls` are "Actor.method", or the op's name for an op outside a method. "place.method", as
// "stage[0].forward", is of one instance and goes before "Actor.method", since instances of one
// actor may do different work. Other keys are refused, so that a misspelt one is not silently
// without effect.
//
// A profile of a run also says what was measured, {"measured": {"consts": {"T": "1"}, "flops":
// {"Stage.forward": [4096]}}}: the values of the program's consts, and the operations of one call,
// several numbers where calls had different shapes; and where, {"machine": {"cpu": "AMD EPYC",
// "cores": 8, "gpus": ["NVIDIA H200"]}}.
#ifndef CGRAPH_COMPILER_COST_PROFILE_H_
#define CGRAPH_COMPILER_COST_PROFILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "runtime/base/hardware.h"

namespace cgraph {

struct Profile {
  std::map<std::string, uint64_t> call_ps;  // picoseconds of one call, by "Actor.method"
  std::optional<uint64_t> default_ps;       // of everything that `call_ps` does not name
  // Of the program that was measured; empty: the profile does not say it.
  std::map<std::string, std::string> consts;
  std::map<std::string, std::vector<uint64_t>> call_flops;  // by the names of `call_ps`
  Hardware machine;  // that it was measured on

  // The time of one call, by "place.method", else "Actor.method", else "method"; `place` and
  // `actor` are empty for an op outside a method. The default is not looked at.
  std::optional<uint64_t> FindCall(const std::string& place, const std::string& actor,
                                   const std::string& method) const;
  // What is known of one kind of call: its own time, else the default, else nothing.
  std::optional<uint64_t> Find(const std::string& name) const;
};

// The error's text is a sentence for the user: what was seen, then the rule.
llvm::Expected<Profile> ParseProfile(llvm::StringRef text);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_COST_PROFILE_H_
