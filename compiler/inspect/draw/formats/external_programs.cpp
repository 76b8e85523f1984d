#include "compiler/inspect/draw/formats/external_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {
namespace {

// TemporaryFile: a file that is removed with this object, however the function ends, and with the
// process when a signal ends that.
class TemporaryFile {
 public:
  static Result<TemporaryFile> Create(const std::string& content) {
    TemporaryFile file;
    int descriptor = -1;
    llvm::SmallString<128> path;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("cgraph", "tmp", descriptor, path)) {
      return Status{StatusCode::kNotFound, "no temporary file can be made: " + error.message()};
    }
    file.path_ = path.str().str();
    file.remover_ = std::make_unique<llvm::FileRemover>(path);
    llvm::sys::RemoveFileOnSignal(path);
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << content;
    out.close();
    if (out.has_error()) {
      const std::string message = out.error().message();
      out.clear_error();
      return Status{StatusCode::kNotFound, "cannot write a temporary file: " + message};
    }
    return file;
  }
  const std::string& path() const { return path_; }
  Result<std::string> Read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path_);
    if (buffer) return (*buffer)->getBuffer().str();
    return Status{StatusCode::kNotFound,
                  "cannot read a temporary file: " + buffer.getError().message()};
  }

 private:
  std::string path_;
  std::unique_ptr<llvm::FileRemover> remover_;
};

// The most seconds for a layout, whose time grows much faster than the graph: no user waits for
// minutes.
constexpr unsigned kMaxSeconds = 30;

// Returns what `program` writes to its standard output when it reads `input`.
Result<std::string> RunFilter(const std::string& program, const std::vector<std::string>& arguments,
                              const std::string& package, const std::string& input) {
  const llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(program);
  if (!found) {
    return Status{StatusCode::kNotFound,
                  fmt::format("the program `{}` draws this and is not installed; on Debian it is "
                              "in the package {}", program, package)};
  }
  Result<TemporaryFile> in = TemporaryFile::Create(input);
  if (!in.ok()) return in.status();
  Result<TemporaryFile> out = TemporaryFile::Create("");
  if (!out.ok()) return out.status();
  Result<TemporaryFile> complaints = TemporaryFile::Create("");
  if (!complaints.ok()) return complaints.status();

  std::vector<llvm::StringRef> command = {program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const llvm::Optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(in->path()), llvm::StringRef(out->path()),
      llvm::StringRef(complaints->path())};
  std::string error;
  const int exit_code = llvm::sys::ExecuteAndWait(*found, command, llvm::None, redirects,
                                                  kMaxSeconds, /*MemoryLimit=*/0, &error);
  if (exit_code == -2) {
    return Status{
        StatusCode::kInvalid,
        fmt::format("`{}` could not draw this in {} seconds; a drawing of another kind may "
                    "show it, or `--format dot` for a tool of your own",
                    program, kMaxSeconds)};
  }
  if (exit_code != 0) {
    const Result<std::string> said = complaints->Read();
    return Status{StatusCode::kNotFound, fmt::format("`{}` failed with exit code {}: {}{}", program,
                                                     exit_code, error, said.ok() ? *said : "")};
  }
  Result<std::string> made = out->Read();
  if (!made.ok() || !made->empty()) return made;
  return Status{StatusCode::kNotFound, fmt::format("`{}` made nothing", program)};
}

}  // namespace

namespace {

// Returns the number of `attribute="123.4pt"` in the head of an SVG.
double SizeOf(const std::string& svg, const std::string& attribute) {
  const size_t at = svg.find(attribute + "=\"", svg.find("<svg"));
  return at == std::string::npos ? 0
                                 : std::strtod(svg.c_str() + at + attribute.size() + 2, nullptr);
}

}  // namespace

Result<std::string> LayOut(const std::string& dot) {
  return RunFilter("dot", {"-Tsvg"}, "graphviz", dot);
}

Result<std::string> Render(const std::string& svg, const std::string& format, bool has_width) {
  std::vector<std::string> arguments = {"--format=" + format};
  if (format == "png") {
    // Letters of 11 points need more than a screen's dots to be read; no side of a picture can have
    // more than 32767 of them.
    const double longest = std::max({SizeOf(svg, " width"), SizeOf(svg, " height"), 1.0});
    const double wanted = has_width ? 1 : 1.5;
    arguments.push_back(fmt::format("--zoom={:.3f}", std::min(wanted, 20'000 / longest)));
  } else {
    const bool across = SizeOf(svg, " width") > SizeOf(svg, " height");
    const std::string width = across ? "29.7cm" : "21cm", height = across ? "21cm" : "29.7cm";
    const std::string inner_width = across ? "27.7cm" : "19cm";
    const std::string inner_height = across ? "19cm" : "27.7cm";
    arguments.insert(arguments.end(),
                     {"--page-width=" + width, "--page-height=" + height, "--left=1cm", "--top=1cm",
                      "--width=" + inner_width, "--height=" + inner_height, "--keep-aspect-ratio"});
  }
  return RunFilter("rsvg-convert", arguments, "librsvg2-bin", svg);
}

}  // namespace cgraph
