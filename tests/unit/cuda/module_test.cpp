// The device code in the library, and how it is loaded: the images of all .cu files for all GPUs
// that were asked for, and the module over a driver that is a table of functions of this test.
#include <catch2/catch.hpp>

#include <cstring>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/device/cuda/module/module.h"

namespace cgraph::cuda {
namespace {

template <typename T>
T Read(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Returns what a fatbin holds: "sm_90" machine code, "compute_90" PTX. Its header is magic,
// version, own size and the size of the entries; an entry's is kind, flags, own size, size, and at
// byte 28 the GPU.
std::multiset<std::string> CodeOf(const unsigned char* image) {
  constexpr uint16_t kPtx = 1, kElf = 2;
  REQUIRE(Read<uint32_t>(image) == kImageMagic);
  const unsigned char* entry = image + Read<uint16_t>(image + 6);
  const unsigned char* end = entry + Read<uint64_t>(image + 8);
  std::multiset<std::string> code;
  while (entry < end) {
    const auto kind = Read<uint16_t>(entry);
    REQUIRE((kind == kPtx || kind == kElf));
    code.insert((kind == kPtx ? "compute_" : "sm_") + std::to_string(Read<uint32_t>(entry + 28)));
    entry += Read<uint32_t>(entry + 4) + Read<uint64_t>(entry + 8);
  }
  REQUIRE(entry == end);
  return code;
}

TEST_CASE("every image has code for each GPU that was asked for, and PTX for later ones") {
  REQUIRE(!Images().empty());
  std::istringstream words(CGRAPH_CUDA_CODE);  // "sm_80 sm_90 sm_100 compute_80"
  const std::multiset<std::string> wanted{std::istream_iterator<std::string>(words), {}};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // those have headers alone
  REQUIRE(!wanted.empty());
#endif
  for (const Image& image : Images()) {
    INFO(image.file);
    REQUIRE(CodeOf(image.data) == wanted);
  }
}

// The driver of this test. A module is the address of its image.
struct Calls {
  std::vector<const void*> loaded, unloaded, functions;
  CUresult load = CUDA_SUCCESS;
  size_t loads_before_failure = 0;
  const void* has_kernel = nullptr;  // the module that knows `pass_poison`
  CUresult find = CUDA_ERROR_NOT_FOUND;
} calls;

CUresult Load(CUmodule* module, const void* image) {
  if (calls.load != CUDA_SUCCESS && calls.loaded.size() == calls.loads_before_failure) {
    return calls.load;
  }
  calls.loaded.push_back(image);
  *module = static_cast<CUmodule>(const_cast<void*>(image));
  return CUDA_SUCCESS;
}
CUresult Unload(CUmodule module) {
  calls.unloaded.push_back(module);
  return CUDA_SUCCESS;
}
CUresult GetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (module != calls.has_kernel || name != std::string("pass_poison")) return calls.find;
  *function = reinterpret_cast<CUfunction>(module);
  return CUDA_SUCCESS;
}
CUresult LoadFunction(CUfunction function) {
  calls.functions.push_back(function);
  return CUDA_SUCCESS;
}
CUresult ErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_SOME";
  return CUDA_SUCCESS;
}
CUresult ErrorString(CUresult, const char** text) {
  *text = "some error";
  return CUDA_SUCCESS;
}

Driver TestDriver() {
  calls = {};
  Driver driver;
  driver.cuModuleLoadData = Load;
  driver.cuModuleUnload = Unload;
  driver.cuModuleGetFunction = GetFunction;
  driver.cuFuncLoad = LoadFunction;
  driver.cuGetErrorName = ErrorName;
  driver.cuGetErrorString = ErrorString;
  return driver;
}

CheckFunction CheckBy(const Driver& driver) {
  return [&driver](CUresult result, const std::string& what) { return driver.Check(result, what); };
}

TEST_CASE("a kernel is found in whichever image has it, and all images are unloaded") {
  const Driver driver = TestDriver();
  {
    auto kernels = LoadKernels(driver, CheckBy(driver));
    REQUIRE(kernels.ok());
    REQUIRE(calls.loaded.size() == Images().size());
    for (const Image& image : Images()) {
      calls.has_kernel = image.data;
      const auto found = (*kernels)->Find("pass_poison");
      REQUIRE(found.ok());
      REQUIRE(static_cast<const void*>(*found) == image.data);
      REQUIRE(calls.functions.back() == image.data);
    }
    const auto absent = (*kernels)->Find("no_kernel");
    REQUIRE(absent.status().code() == StatusCode::kUnsupported);
    REQUIRE(absent.status().message() == "there is no CUDA kernel `no_kernel`");
    calls.find = CUDA_ERROR_OUT_OF_MEMORY;
    const auto failed = (*kernels)->Find("no_kernel");
    REQUIRE(failed.status().code() == StatusCode::kFailed);
    REQUIRE(failed.status().message() ==
            "loading the kernel `no_kernel`: CUDA_ERROR_SOME (some error)");
    REQUIRE(calls.unloaded.empty());
  }
  REQUIRE(calls.unloaded == calls.loaded);
}

TEST_CASE("a GPU that is too old is told apart from other errors; what was loaded is unloaded") {
  const Driver driver = TestDriver();
  calls.load = CUDA_ERROR_NO_BINARY_FOR_GPU;
  const Status too_old = LoadKernels(driver, CheckBy(driver)).status();
  REQUIRE(too_old.code() == StatusCode::kNotFound);
  REQUIRE(too_old.message().find("CUDA_ERROR_SOME (some error); the oldest GPU that the kernels "
                                 "are compiled for is of compute capability ") !=
          std::string::npos);
  calls.load = CUDA_ERROR_OUT_OF_MEMORY;
  calls.loads_before_failure = Images().size() - 1;
  calls.loaded.clear();
  const Status failed = LoadKernels(driver, CheckBy(driver)).status();
  REQUIRE(failed.code() == StatusCode::kFailed);
  REQUIRE(failed.message().starts_with("loading the kernels of "));
  REQUIRE(failed.message().ends_with(": CUDA_ERROR_SOME (some error)"));
  REQUIRE(calls.loaded.size() == Images().size() - 1);
  REQUIRE(calls.unloaded == calls.loaded);
}

}  // namespace
}  // namespace cgraph::cuda
