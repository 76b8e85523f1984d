// The commands of cgc, one function each: adds itself to the command line and says what to run.
#ifndef CGRAPH_COMPILER_COMMAND_COMMANDS_H_
#define CGRAPH_COMPILER_COMMAND_COMMANDS_H_

#include <functional>

#include "runtime/base/exit_code.h"

namespace CLI {
class App;
}

namespace cgraph::command {

// Reads the command line of cgc and runs the subcommand that it names.
ExitCode RunCommandLine(int argc, char** argv);

// What RunCommandLine() runs after the command line was read.
using Command = std::function<ExitCode()>;

// Each keeps its flags alive inside the returned function.
Command AddCompileCommand(CLI::App& cgc);         // text -> proved .cgplan
Command AddCheckCommand(CLI::App& cgc);           // diagnostics only
Command AddFmtCommand(CLI::App& cgc);             // the one layout of a source
Command AddFixCommand(CLI::App& cgc);             // calls of deprecated names, rewritten
Command AddVerifyCommand(CLI::App& cgc);          // the prover alone
Command AddPlanCommand(CLI::App& cgc);            // a plan as text or JSON, and back
Command AddSimulateCommand(CLI::App& cgc);        // predicted times
Command AddVizCommand(CLI::App& cgc);             // drawings
Command AddImportScheduleCommand(CLI::App& cgc);  // a pipeline's order from CSV, as a schedule
Command AddExplainCommand(CLI::App& cgc);         // the long text of a diagnostic

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_COMMANDS_H_
