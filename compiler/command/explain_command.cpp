// `cgc explain CODE`: the catalogue's long text.
#include <memory>

#include "compiler/command/commands.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {
namespace {

ExitCode RunExplain(const std::string& name) {
  if (const std::optional<Code> code = ParseCode(name)) {
    llvm::outs() << CodeName(*code) << ": " << CodeTitle(*code) << "\n\n"
                 << CodeExplanation(*code) << "\n";
    return kSuccess;
  }
  std::vector<std::string> names;
  for (Code code : AllCodes()) names.push_back(CodeName(code).str());
  llvm::errs() << "cgc: there is no diagnostic " << name;
  if (std::string near = DidYouMean(name, names); !near.empty()) {
    llvm::errs() << "; did you mean " << near << "?";
  }
  llvm::errs() << "\n";
  return kUsage;
}

}  // namespace

Command AddExplainCommand(CLI::App& cgc) {
  auto code = std::make_shared<std::string>();
  CLI::App* command = cgc.add_subcommand("explain", "the long text of a diagnostic");
  command->add_option("CODE", *code, "such as E0302")->required();
  return [code] { return RunExplain(*code); };
}

}  // namespace cgraph
