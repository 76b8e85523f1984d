#include "runtime/device/cuda/libraries/nvrtc.h"

#include <fmt/format.h>

#include "runtime/device/cuda/libraries/shared_library.h"

namespace cgraph::cuda {
namespace {

// PTX for it runs on every GPU that we support.
constexpr const char* kOldestVirtual = "--gpu-architecture=compute_80";

Result<Nvrtc> OpenNvrtc() {
  const SharedLibrary shared{{"libnvrtc.so.13", "libnvrtc.so.12"},
                             "compiles chains of elementwise operations into one kernel",
                             "NVRTC, by `pip install " CGRAPH_NVRTC_PACKAGE
                             "` or with a CUDA toolkit"};
  const Result<void*> library = shared.Open();
  if (!library.ok()) return library.status();
  Nvrtc functions;
  const char* missing = nullptr;
#define FUNCTION(name, parameters)                                                              \
  functions.name = reinterpret_cast<decltype(functions.name)>(FindSymbol(*library, #name));     \
  if (functions.name == nullptr) missing = #name;
#include "runtime/device/cuda/libraries/nvrtc.def"
#undef FUNCTION
  if (missing != nullptr) return shared.Unusable(fmt::format("has no function {}", missing));
  int major = 0, minor = 0;
  if (functions.nvrtcVersion(&major, &minor) != 0) {
    return shared.Unusable("does not say its version");
  }
  functions.version = 1000 * major + 10 * minor;
  if (functions.version < kOldestNvrtc) {
    return shared.Unusable(fmt::format("is of version {}.{}, and {}.{} or newer is needed", major,
                                       minor, kOldestNvrtc / 1000, kOldestNvrtc % 1000 / 10));
  }
  return functions;
}

// Compilation: one program of NVRTC's.
class Compilation {
 public:
  Compilation(const Nvrtc& nvrtc, const std::string& source, const std::vector<RtcHeader>& headers)
      : nvrtc_(nvrtc) {
    std::vector<const char*> texts, names;
    for (const RtcHeader& header : headers) {
      texts.push_back(header.text);
      names.push_back(header.name);
    }
    if (nvrtc_.nvrtcCreateProgram(&program_, source.c_str(), "chain.cu",
                                  static_cast<int>(headers.size()), texts.data(),
                                  names.data()) != 0) {
      program_ = nullptr;
    }
  }
  ~Compilation() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // Returns NVRTC's status.
  int Run(const std::string& architecture) {
    if (program_ == nullptr) return rtc::kCompilation;
    std::vector<const char*> options = RtcOptions();
    options.push_back(architecture.c_str());
    return nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
  }
  std::string Cubin() const { return Text(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN); }
  std::string Ptx() const { return Text(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX); }
  std::string Log() const { return Text(nvrtc_.nvrtcGetProgramLogSize, nvrtc_.nvrtcGetProgramLog); }

 private:
  std::string Text(int (*size)(RtcProgram, size_t*), int (*get)(RtcProgram, char*)) const {
    size_t bytes = 0;
    if (program_ == nullptr || size(program_, &bytes) != 0 || bytes == 0) return "";
    std::string text(bytes, '\0');
    return get(program_, text.data()) == 0 ? text : "";
  }

  const Nvrtc& nvrtc_;
  RtcProgram program_ = nullptr;
};

}  // namespace

Result<const Nvrtc*> Nvrtc::Get() {
  static const Result<Nvrtc> opened = OpenNvrtc();
  if (!opened.ok()) return opened.status();
  return &*opened;
}

Result<std::string> Nvrtc::Compile(const std::string& source,
                                   const std::vector<RtcHeader>& headers, int capability) const {
  std::string code, log;
  {
    Compilation compilation(*this, source, headers);
    const int status = compilation.Run(fmt::format("--gpu-architecture=sm_{}", capability));
    if (status == 0) code = compilation.Cubin();
    log = compilation.Log();
    if (status != rtc::kInvalidOption) {
      if (!code.empty()) return code;
      return Status(StatusCode::kFailed, fmt::format("NVRTC compiles nothing: {}", log));
    }
  }
  Compilation compilation(*this, source, headers);
  if (compilation.Run(kOldestVirtual) == 0) code = compilation.Ptx();
  if (!code.empty()) return code;
  return Status(StatusCode::kFailed, fmt::format("NVRTC compiles nothing: {}", compilation.Log()));
}

// -fmad=false: results have the CPU's bits; what is to be fused says so. Functions that device code
// shares with the CPU say nothing of where they run. 1097: attributes of GCC's; 186: unsigned
// numbers that code for all types compares with 0.
const std::vector<const char*>& RtcOptions() {
  static const std::vector<const char*> kOptions = {
      "--std=c++20", "-fmad=false", "--device-as-default-execution-space",
      "-diag-suppress=1097,186"};
  return kOptions;
}

}  // namespace cgraph::cuda
