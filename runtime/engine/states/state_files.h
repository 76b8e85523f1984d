// States of actors as files: read before the first execution, written after the last one; for
// programs that execute graphs.
#ifndef CGRAPH_RUNTIME_ENGINE_STATES_STATE_FILES_H_
#define CGRAPH_RUNTIME_ENGINE_STATES_STATE_FILES_H_

#include <string>

#include "runtime/engine/engine.h"
#include "runtime/status/output_files.h"
#include "runtime/status/status.h"

namespace cgraph::engine {

// Sets the states that a .safetensors file has, by their names: "stage[0].w". Returns the sentence
// about those that it lacks, which keep their initial values; empty where it has all. kNotFound
// when the file cannot be read; kInvalid when it has a tensor that is no state of the plan, or one
// of another type.
Result<std::string> LoadStates(const std::string& path, Engine& engine);

// Adds a file with all states to those that are written together. Returns a sentence about what is
// not in it; empty where there is nothing.
Result<std::string> AddStates(OutputFiles& files, const std::string& path, Engine& engine);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_STATES_STATE_FILES_H_
