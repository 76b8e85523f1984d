// States of an engine's actors as a .safetensors file: written after some execution, read before
// others, by this engine or by a later one. A tensor of the file is named as its state:
// "stage[0].w".
#ifndef CGRAPH_RUNTIME_ENGINE_STATES_SAVED_STATES_H_
#define CGRAPH_RUNTIME_ENGINE_STATES_SAVED_STATES_H_

#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/status/output_files.h"
#include "runtime/status/status.h"

namespace cgraph {

// Sets the states that the file has. Returns the names of those that it lacks, which keep their
// values. kNotFound when the file cannot be read; kInvalid when it has a tensor that is no state of
// the plan, or one of another type, which is looked for before the first state is set; else what
// Engine::WriteState() returns.
Result<std::vector<std::string>> LoadStates(const std::string& path, Engine& engine);

// Writes all states into a file, whole or not at all. kNotFound with the system's reason; else what
// Engine::ReadState() returns.
Status SaveStates(const std::string& path, Engine& engine);
// The same, for a file that is written together with others.
Status AddStates(OutputFiles& files, const std::string& path, Engine& engine);

// Returns a sentence about what such a file does not have; empty where there is nothing.
std::string NoteOfObjects(const std::string& path, const Engine& engine);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_ENGINE_STATES_SAVED_STATES_H_
