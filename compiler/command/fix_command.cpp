// `cgc fix`: rewrites calls of what is deprecated, as the fixes of those warnings say.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/output.h"
#include "compiler/driver/compile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"
#include "runtime/base/text.h"
#include "runtime/base/usage_text.h"

namespace cgraph::command {
namespace {

constexpr int kMostRounds = 20;  // calls inside calls, or of what is deprecated again

struct FixFlags {
  OutputFlags output;
  std::vector<std::string> files, import_dirs;
};

// Returns the fixes of the named file that hold no other: those around them are of the next round,
// whose text has what these write.
std::vector<Fix> InnermostFixes(const Diagnostics& diagnostics, SourceId main) {
  std::vector<Fix> all;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const bool applies = diagnostic.code == Code::kW0304 && !diagnostic.fixes.empty();
    if (applies && diagnostic.range.source == main) all.push_back(diagnostic.fixes[0]);
  }
  std::sort(all.begin(), all.end(), [](const Fix& a, const Fix& b) {
    return std::pair(a.range.begin, b.range.end) < std::pair(b.range.begin, a.range.end);
  });
  std::vector<Fix> innermost;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i + 1 == all.size() || all[i + 1].range.begin >= all[i].range.end) {
      innermost.push_back(all[i]);
    }
  }
  return innermost;
}

class Fixer {
 public:
  explicit Fixer(const FixFlags& flags) : flags_(flags) {}

  ExitCode Run() {
    if (!flags_.output.json) return FixAll(nullptr);
    ExitCode exit_code = kSuccess;
    WriteJsonOutput([&](llvm::json::OStream& json) {
      json.object([&] {
        json.attributeArray("diagnostics", [&] { exit_code = FixAll(&json); });
        json.attribute("files", std::move(results_));
      });
    });
    return exit_code;
  }

 private:
  ExitCode FixAll(llvm::json::OStream* json) {
    ExitCode worst = kSuccess;
    for (const std::string& file : flags_.files) worst = std::max(worst, FixFile(file, json));
    return worst;
  }

  static Status Undo(const std::string& path, const std::string& original, bool circle) {
    CGRAPH_RETURN_IF_ERROR(WriteText(path, original));
    Say(fmt::format("cgc fix: {} is as it was: with its fixes written, {}; write them by hand. Of "
                    "the rewritten text:\n",
                    path, circle ? "as many are left" : "it does not compile"));
    return Status::Ok();
  }

  // Rewrites in rounds until nothing is left; each round writes the file, which the next one reads.
  // A file that does not compile any more, or in which something is always left, gets its text
  // back.
  ExitCode FixFile(const std::string& path, llvm::json::OStream* json) {
    int64_t written = 0;
    std::string original;
    for (int round = 0;; ++round) {
      Sources sources;
      Diagnostics diagnostics(sources);
      diagnostics.set_suppressed_warnings(flags_.output.suppressed_warnings());
      CompileOptions options;
      options.path = path;
      options.import_dirs = flags_.import_dirs;
      options.stop_after = Phase::kProgram;
      const ExitCode exit_code = Compile(options, sources, diagnostics).exit_code;
      std::vector<Fix> fixes;
      if (exit_code == kSuccess) fixes = InnermostFixes(diagnostics, SourceId(0));
      // What is written instead may itself be deprecated, in a circle.
      const bool circle = round == kMostRounds && !fixes.empty();
      if ((round > 0 && exit_code != kSuccess) || circle) {
        if (Status status = Undo(path, original, circle); !status.ok()) return ReportStatus(status);
        written = 0;
      }
      if (fixes.empty() || circle) {
        if (json != nullptr)
          WriteJson(diagnostics, *json);
        else
          diagnostics.Print(llvm::errs(), flags_.output.use_color(), flags_.output.max_errors);
        results_.push_back(llvm::json::Object{{"file", path}, {"fixes", written}});
        return exit_code;
      }
      std::string text = sources[SourceId(0)].text;
      if (round == 0) original = text;
      for (auto fix = fixes.rbegin(); fix != fixes.rend(); ++fix) {
        text.replace(fix->range.begin, fix->range.end - fix->range.begin, fix->text);
      }
      if (Status status = WriteText(path, text); !status.ok()) return ReportStatus(status);
      written += static_cast<int64_t>(fixes.size());
    }
  }

  const FixFlags& flags_;
  llvm::json::Array results_;
};

ExitCode RunFix(const FixFlags& flags) {
  for (const std::string& file : flags.files) {
    if (const std::string plan = PlanForSourceText(file); !plan.empty()) return UsageError(plan);
    if (file == "-") return UsageError("fix: it rewrites files, and standard input is none");
  }
  return Fixer(flags).Run();
}

}  // namespace

Command AddFixCommand(CLI::App& cgc) {
  auto flags = std::make_shared<FixFlags>();
  CLI::App* command =
      cgc.add_subcommand("fix", "rewrite calls of what is deprecated, in the files");
  command->add_option("FILE", flags->files, "the .cgraph files")->required();
  command->add_option("-I", flags->import_dirs, "folder that imports are looked up in")
      ->type_name("DIR")
      ->allow_extra_args(false);
  AddOutputFlags(*command, flags->output);
  return [flags] { return RunFix(*flags); };
}

}  // namespace cgraph::command
