// The flags of a training, by themselves: options.h has what they say.
#ifndef CGRAPH_RUNTIME_COMMAND_TRAINING_FLAGS_H_
#define CGRAPH_RUNTIME_COMMAND_TRAINING_FLAGS_H_

#include <string>

#include "runtime/command/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cgraph::command {

void AddTrainingFlags(CLI::App& app, TrainingOptions& training);

// Takes names that stand in one word apart, `loss,rate`. Returns what is wrong with the flags of
// `app`, one with another; empty: nothing.
std::string UnderstandTraining(const CLI::App& app, Options& options);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_TRAINING_FLAGS_H_
