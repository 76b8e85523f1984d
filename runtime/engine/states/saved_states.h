// States of an engine's actors as a .safetensors file: written after some execution, read before
// others, by this engine or by a later one. A tensor of the file is named as its state:
// "stage[0].w". What a place's object of native code keeps is "stage[0].native object", u8[n]; no
// declared state has a space in its name. Of copies of one variable, `net[0].w` and `net[1].w`, one
// sets those that the file lacks, even where its place is not the plan's: a run may go on with more
// places or fewer. A file can also have metadata, names and texts, which say where a run was.
#ifndef CGRAPH_RUNTIME_ENGINE_STATES_SAVED_STATES_H_
#define CGRAPH_RUNTIME_ENGINE_STATES_SAVED_STATES_H_

#include <map>
#include <string>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/output_files.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph {

using StatesMetadata = std::map<std::string, std::string>;

// Sets the states and objects that the file has, all or none, and `metadata`, unless it is null, to
// what the file says of itself. Returns the names of those that it
// lacks, which keep their values. kNotFound when the file cannot be read; kInvalid when it has a
// tensor that is no state of the plan, or one of another type; else what Engine::RestoreSnapshot()
// returns.
Result<std::vector<std::string>> LoadStates(const std::string& path, Engine& engine,
                                            StatesMetadata* metadata = nullptr);
// Takes the names of the weight files from those loads of a plan whose states this file will set:
// they give zeros, so that LoadStates() must succeed before anything is executed. Loads stay whose
// result the plan's start uses otherwise, and all where the file cannot be read.
void LeaveOutLoads(const std::string& path, plan::Plan& plan);
// Returns what a file says of itself; kNotFound or kInvalid as above.
Result<StatesMetadata> ReadStatesMetadata(const std::string& path);

// Writes all states and objects, of one moment, into a file, whole or not at all. Returns a
// sentence about objects that it does not have, and copies that are not equal; empty where there
// are none. kNotFound with the system's reason; else what Engine::TakeSnapshot() returns.
Result<std::string> SaveStates(const std::string& path, Engine& engine,
                               const StatesMetadata& metadata = {});
// The same, for a file that is written together with others.
Result<std::string> AddStates(OutputFiles& files, const std::string& path, Engine& engine,
                              const StatesMetadata& metadata = {});

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_ENGINE_STATES_SAVED_STATES_H_
