// `cgc fmt`: prints sources in their one layout, rewrites them in place, or only compares them with
// it.
#include <memory>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/output.h"
#include "compiler/format/format.h"
#include "compiler/syntax/parse.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"
#include "runtime/base/text.h"
#include "runtime/base/usage_text.h"

namespace cgraph::command {
namespace {

struct FmtFlags {
  OutputFlags output;
  std::vector<std::string> files;
  bool check = false, in_place = false;
};

class Formatter {
 public:
  explicit Formatter(const FmtFlags& flags) : flags_(flags), diagnostics_(sources_) {
    diagnostics_.set_warnings_are_errors(flags.output.warnings_are_errors);
    diagnostics_.set_suppressed_warnings(flags.output.suppressed_warnings());
  }

  ExitCode Run() {
    for (const std::string& file : flags_.files) {
      exit_code_ = std::max(exit_code_, Handle(file));
    }
    if (flags_.output.json) {
      WriteJsonOutput([&](llvm::json::OStream& json) {
        json.object([&] {
          json.attribute("files", std::move(results_));
          json.attributeArray("diagnostics", [&] { WriteJson(diagnostics_, json); });
        });
      });
    } else {
      diagnostics_.Print(llvm::errs(), flags_.output.use_color(), flags_.output.max_errors);
    }
    return exit_code_;
  }

 private:
  ExitCode Handle(const std::string& path) {
    auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
    if (!buffer) {
      diagnostics_.Report(Code::kE0101, {},
                          "cannot read " + path + ": " + buffer.getError().message());
      return kEnvironment;
    }
    const std::string text = (*buffer)->getBuffer().str();
    const size_t errors = diagnostics_.errors();
    const syntax::File file =
        Parse(sources_.Add(path == "-" ? "<stdin>" : path, text), diagnostics_);
    if (diagnostics_.errors() > errors) return kFailure;
    return Deliver(path, text, Format(file, diagnostics_));
  }

  ExitCode Deliver(const std::string& path, const std::string& text, const std::string& laid_out) {
    const bool differs = text != laid_out;
    if (flags_.output.json) {
      llvm::json::Object result{{"file", path}, {"changed", differs}};
      if (!flags_.check && !flags_.in_place) result["text"] = laid_out;
      results_.push_back(std::move(result));
    } else if (flags_.check) {
      if (differs && !flags_.output.quiet) llvm::outs() << Printable(path) << "\n";
    } else if (!flags_.in_place) {
      llvm::outs() << ForStandardOutput(laid_out);
    }
    if (flags_.check) return differs ? kFailure : kSuccess;
    if (!flags_.in_place || !differs) return kSuccess;
    if (Status status = WriteText(path, laid_out); !status.ok()) return ReportStatus(status);
    return kSuccess;
  }

  const FmtFlags& flags_;
  Sources sources_;
  Diagnostics diagnostics_;
  llvm::json::Array results_;
  ExitCode exit_code_ = kSuccess;
};

ExitCode RunFmt(const FmtFlags& flags) {
  for (const std::string& file : flags.files) {
    if (const std::string plan = PlanForSourceText(file); !plan.empty()) return UsageError(plan);
    if (file != "-" || !flags.in_place) continue;
    return UsageError(
        "fmt: -i needs files; what comes from standard input goes to standard output");
  }
  return Formatter(flags).Run();
}

}  // namespace

Command AddFmtCommand(CLI::App& cgc) {
  auto flags = std::make_shared<FmtFlags>();
  CLI::App* command = cgc.add_subcommand("fmt", "lay files out in the one canonical way");
  command->add_option("FILE", flags->files, "the .cgraph files; - is standard input")->required();
  auto* in_place = command->add_flag("-i,--in-place", flags->in_place, "rewrite the files");
  command->add_flag("--check", flags->check, "write nothing; name the files that differ, and fail")
      ->excludes(in_place);
  AddOutputFlags(*command, flags->output);
  AddWerrorFlag(*command, flags->output);
  return [flags] { return RunFmt(*flags); };
}

}  // namespace cgraph::command
