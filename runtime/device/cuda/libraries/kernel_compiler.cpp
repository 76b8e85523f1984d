#include "runtime/device/cuda/libraries/kernel_compiler.h"

#include <optional>

#include <fmt/format.h>

#include "runtime/device/cuda/libraries/nvrtc.h"
#include "runtime/device/cuda/libraries/shared_library.h"
#include "runtime/device/cuda/module/module.h"

namespace cgraph::cuda {
namespace {

// Returns all that the code depends on.
std::string KeyOf(const Nvrtc& nvrtc, const std::string& source, int capability) {
  std::string key = fmt::format("nvrtc {} sm_{}", nvrtc.version, capability);
  for (const char* option : RtcOptions()) key += fmt::format(" {}", option);
  for (const RtcHeader& header : DeviceHeaders()) {
    key += fmt::format("\n// {}\n{}", header.name, header.text);
  }
  return key + "\n// the source\n" + source;
}

}  // namespace

KernelCompiler::~KernelCompiler() {
  for (CUmodule module : modules_) driver_.cuModuleUnload(module);
}

Result<CUfunction> KernelCompiler::Compile(const std::string& source, const std::string& name) {
  const auto found = made_.find(source);
  if (found != made_.end()) return found->second;
  Result<CUfunction> made = Make(source, name);
  if (made.status().code() != StatusCode::kFailed) {
    WarnUnused("NVRTC", made.status());
  } else {
    Warn("NVRTC", "makes no kernel of a chain of operations, which run one after another",
             made.status());
  }
  return made_.emplace(source, std::move(made)).first->second;
}

Result<CUfunction> KernelCompiler::Make(const std::string& source, const std::string& name) {
  const Result<const Nvrtc*> nvrtc = Nvrtc::Get();
  if (!nvrtc.ok()) return nvrtc.status();
  const std::string key = KeyOf(**nvrtc, source, capability_);
  if (const std::optional<std::string> kept = cache_.Find(key)) {
    Result<CUfunction> loaded = Load(*kept, name);
    if (loaded.ok()) return loaded;  // else a driver that is older than the code, perhaps
  }
  const Result<std::string> code = (*nvrtc)->Compile(source, DeviceHeaders(), capability_);
  if (!code.ok()) return code.status();
  Result<CUfunction> loaded = Load(*code, name);
  if (loaded.ok()) cache_.Keep(key, *code);  // what this driver does not load is of no use later
  return loaded;
}

Result<CUfunction> KernelCompiler::Load(const std::string& code, const std::string& name) {
  modules_.reserve(modules_.size() + 1);  // first: push_back() must not fail on a loaded module
  CUmodule module = nullptr;
  const std::string what = fmt::format("loading the kernel `{}`", name);
  CGRAPH_RETURN_IF_ERROR(driver_.Check(driver_.cuModuleLoadData(&module, code.data()), what));
  modules_.push_back(module);
  CUfunction function = nullptr;
  CGRAPH_RETURN_IF_ERROR(
      driver_.Check(driver_.cuModuleGetFunction(&function, module, name.c_str()), what));
  CGRAPH_RETURN_IF_ERROR(driver_.Check(driver_.cuFuncLoad(function), what));
  return function;
}

}  // namespace cgraph::cuda
