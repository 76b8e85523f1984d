// An emulated libnvrtc.so.13: compiles device code with the host's compiler, as the build compiles
// kernels for the emulated grid, to a HostObject that the emulated driver loads. That takes
// seconds, so it compiles only where the environment's CGRAPH_EMULATED_NVRTC says so, for example
// "compile=1,report=1"; otherwise every compilation fails.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/device/cuda/libraries/nvrtc.h"
#include "tests/emulation/driver/host_object.h"

namespace cgraph::cuda {

// What a program is here.
struct RtcProgramObject {
  std::string source, log, code;
  std::vector<std::pair<std::string, std::string>> headers;  // names, texts
};

#define FUNCTION(name, parameters) extern "C" int name parameters;
#include "runtime/device/cuda/libraries/nvrtc.def"
#undef FUNCTION

namespace {

namespace fs = std::filesystem;

enum Outcome : int { kDone = 0, kInvalidInput = 3, kInvalidProgram = 4 };

struct Options {
  int compile = 0;         // 0: every compilation fails
  int version = 13000;     // as 1000 * major + 10 * minor
  int newest = 100;        // the newest compute capability that it knows
  int report = 0;          // says at the end on stderr how often it compiled
};

Options ParseOptions(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    int* const option = name == "compile"   ? &options.compile
                        : name == "version" ? &options.version
                        : name == "newest"  ? &options.newest
                        : name == "report"  ? &options.report
                                            : nullptr;
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (option == nullptr ||
        std::from_chars(value.data(), value.data() + value.size(), *option).ptr == value.data()) {
      fmt::print(stderr, "emulated NVRTC: CGRAPH_EMULATED_NVRTC says {}, which is no option\n",
                 word);
      std::fflush(stderr);
      std::_Exit(2);
    }
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return options;
}

const Options& TheOptions() {
  static const Options options = [] {
    const char* text = std::getenv("CGRAPH_EMULATED_NVRTC");
    return ParseOptions(text == nullptr ? "" : text);
  }();
  return options;
}

struct Report {
  int compiled = 0, failed = 0;
  ~Report() {
    if (TheOptions().report == 0) return;
    fmt::print(stderr, "emulated NVRTC: {} programs compiled, {} failed\n", compiled, failed);
  }
} report;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void WriteAll(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A folder of its own, removed at the end.
struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "emulated-nvrtc-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path.empty()) fs::remove_all(path, error);
  }
};

// The headers are those of the program and, of the source tree, the grid's alone. Those of the
// C++ library are the host's.
std::string CommandFor(const fs::path& folder) {
  return fmt::format(
      "cd '{}' && {} -x c++ -std=c++20 -O1 -fPIC -shared -w -ffp-contract=off "
      "-mtls-dialect=gnu2 -DCGRAPH_EMULATED_GRID='\"tests/emulation/grid/host_grid.h\"' -I. "
      "chain.cu -x none '{}' -o chain.so > log 2>&1",
      folder.string(), CGRAPH_CXX, CGRAPH_EMULATED_DRIVER);
}

int Compile(RtcProgramObject& program, int capability) {
  const TemporaryFolder folder;
  if (folder.path.empty()) return kInvalidProgram;
  for (const auto& [name, text] : program.headers) {
    if (name.find('/') != name.npos) WriteAll(folder.path / name, text);
  }
  fs::create_directories(folder.path / "tests");
  fs::create_symlink(CGRAPH_SOURCE_DIR "/tests/emulation", folder.path / "tests" / "emulation");
  WriteAll(folder.path / "chain.cu", program.source);
  const int ended = std::system(CommandFor(folder.path).c_str());
  program.log = ReadAll(folder.path / "log");
  if (ended != 0) return rtc::kCompilation;
  const std::string object = ReadAll(folder.path / "chain.so");
  const emulation::HostObject header{.magic = emulation::kHostObject,
                                     .capability = static_cast<uint32_t>(capability),
                                     .bytes = object.size()};
  program.code.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  program.code += object;
  return kDone;
}

}  // namespace

int nvrtcVersion(int* major, int* minor) {
  *major = TheOptions().version / 1000;
  *minor = TheOptions().version % 1000 / 10;
  return kDone;
}

int nvrtcCreateProgram(RtcProgram* program, const char* source, const char*, int headers,
                       const char* const* texts, const char* const* names) {
  *program = new RtcProgramObject{.source = source, .log = {}, .code = {}, .headers = {}};
  for (int i = 0; i < headers; ++i) (*program)->headers.emplace_back(names[i], texts[i]);
  return kDone;
}

int nvrtcDestroyProgram(RtcProgram* program) {
  delete *program;
  *program = nullptr;
  return kDone;
}

// Refuses options that it does not know, and wants those that decide about bits.
int nvrtcCompileProgram(RtcProgram program, int count, const char* const* options) {
  int capability = 0;
  bool fuses = true;
  for (int i = 0; i < count; ++i) {
    const std::string_view option = options[i];
    constexpr std::string_view kReal = "--gpu-architecture=sm_";
    constexpr std::string_view kVirtual = "--gpu-architecture=compute_";
    const size_t prefix = option.starts_with(kReal)      ? kReal.size()
                          : option.starts_with(kVirtual) ? kVirtual.size()
                                                         : 0;
    if (prefix != 0) {
      std::from_chars(option.data() + prefix, option.data() + option.size(), capability);
    } else if (option == "-fmad=false") {
      fuses = false;
    } else if (option != "--std=c++20" && option != "--device-as-default-execution-space" &&
               !option.starts_with("-diag-suppress=")) {
      return rtc::kInvalidOption;
    }
  }
  if (capability < 50 || capability > TheOptions().newest) return rtc::kInvalidOption;
  const int outcome = TheOptions().compile == 0 || fuses ? int{rtc::kCompilation}
                                                         : Compile(*program, capability);
  ++(outcome == kDone ? report.compiled : report.failed);
  if (outcome != kDone && program->log.empty()) program->log = "nothing is compiled here";
  return outcome;
}

namespace {

int Size(const std::string& text, size_t* bytes) {
  *bytes = text.size();
  return kDone;
}
int Get(const std::string& text, char* to) {
  std::memcpy(to, text.data(), text.size());
  return kDone;
}

}  // namespace

int nvrtcGetCUBINSize(RtcProgram program, size_t* bytes) { return Size(program->code, bytes); }
int nvrtcGetCUBIN(RtcProgram program, char* code) { return Get(program->code, code); }
int nvrtcGetPTXSize(RtcProgram program, size_t* bytes) { return Size(program->code, bytes); }
int nvrtcGetPTX(RtcProgram program, char* code) { return Get(program->code, code); }
int nvrtcGetProgramLogSize(RtcProgram program, size_t* bytes) { return Size(program->log, bytes); }
int nvrtcGetProgramLog(RtcProgram program, char* log) { return Get(program->log, log); }

}  // namespace cgraph::cuda
