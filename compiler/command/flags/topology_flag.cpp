#include "compiler/command/flags/flags.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/check/check.h"
#include "compiler/command/output.h"
#include "compiler/driver/compile.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/inspect/simulate/movements.h"
#include "compiler/syntax/parse.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"
#include "runtime/base/text.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::command {
namespace {

std::vector<std::string> LibraryNames(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  llvm::sys::fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const llvm::StringRef path = entry->path();
    if (path.endswith(".cgraph")) names.push_back(llvm::sys::path::stem(path).str());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the file in which the topology stands; empty where an error was reported.
std::string FileOf(llvm::StringRef text) {
  if (text.endswith(".cgraph")) return text.str();
  const std::string name = text.take_until([](char c) { return c == '('; }).rtrim().str();
  llvm::SmallString<256> folder(LibraryDir());
  llvm::sys::path::append(folder, "topologies");
  const std::vector<std::string> names = LibraryNames(folder.str().str());
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    llvm::sys::path::append(folder, name + ".cgraph");
    return folder.str().str();
  }
  (void)UsageError(fmt::format("--topology {}: there is no such topology{}; there are {}, and "
                               "files: --topology FILE.cgraph",
                               text.str(), DidYouMeanHint(name, names), fmt::join(names, ", ")));
  return "";
}

}  // namespace

ExitCode ReadTopology(const CompileFlags& flags, const OutputFlags& output, const plan::Plan& plan,
                      std::optional<cost::Topology>& topology) {
  const std::string path = FileOf(flags.topology);
  if (path.empty()) return kUsage;
  Result<std::string> text = ReadText(path, kMaxSourceBytes);
  if (!text.ok()) return ReportStatus(text.status());
  Sources sources;
  Diagnostics diagnostics(sources);
  diagnostics.set_warnings_are_errors(output.warnings_are_errors);
  diagnostics.set_suppressed_warnings(output.suppressed_warnings());
  const SourceId main = sources.Add(path, std::move(*text));
  const program::Program program =
      Check(Parse(main, diagnostics), sources,
            {.import_dirs = flags.import_dirs,
             .library_dir = LibraryDir(),
             .topology = flags.topology},
            diagnostics);
  if (!diagnostics.has_errors()) topology = ElaborateTopology(program, {}, diagnostics);
  diagnostics.Print(llvm::errs(), output.use_color(), output.max_errors);
  if (diagnostics.has_errors() || !topology) return kFailure;
  for (uint32_t device = 0; device < plan.devices.size(); ++device) {
    if (topology->machine->Has(plan::LogicalDeviceOf(*plan.devices[device]))) continue;
    return ReportStatus(
        {StatusCode::kInvalid,
         fmt::format("the topology `{}` has no {}, on which the plan runs", topology->name,
                     plan::DeviceName(plan, device))});
  }
  return kSuccess;
}

}  // namespace cgraph::command
