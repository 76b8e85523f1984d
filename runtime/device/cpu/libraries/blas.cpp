// Finds OpenBLAS by its path in Debian's package, else by its name wherever the loader looks.
#include "runtime/device/cpu/libraries/blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace cgraph::device {
namespace {

constexpr const char* kPaths[] = {
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "libopenblas.so.0",
};

bool OnlyThreadOfProcess() {
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/self/task", error);
  return !error && std::distance(begin(threads), end(threads)) == 1;
}

// Sets the environment so that the library starts no threads. It starts a thread per core while it
// is loaded, unless the environment says one. The environment may be changed only while no other
// thread can read it: beside the threads of a program that embeds the engine it stays as it is, and
// the library's threads sleep for ever.
class OneThread {
 public:
  OneThread() : alone_(OnlyThreadOfProcess()) {
    if (!alone_) return;
    if (const char* value = std::getenv(kName)) before_ = value;
    setenv(kName, "1", 1);
  }
  ~OneThread() {
    if (!alone_) return;
    if (before_) setenv(kName, before_->c_str(), 1);
    else unsetenv(kName);
  }

 private:
  static constexpr const char* kName = "OPENBLAS_NUM_THREADS";
  const bool alone_;
  std::optional<std::string> before_;
};

// RTLD_LAZY: the library calls 2,000 functions, of which a plan needs two or three.
// RTLD_DEEPBIND: its tables name 14,000 functions of its own. The loader finds them sooner where it
// looks there first, and takes none of another BLAS that the program is linked to. Sanitizers
// refuse the flag, since the library's memory would be taken past them; clang defines no macro that
// tells of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__) || \
    !defined(RTLD_DEEPBIND)
constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL;
#else
constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

Result<Blas> OpenBlasLibrary() {
  const OneThread one_thread;
  bool serial = false;
  for (const char* path : kPaths) {
    void* library = dlopen(path, kFlags);
    if (library == nullptr) continue;
    Blas blas;
    blas.sgemm = reinterpret_cast<Gemm<float>>(dlsym(library, "cblas_sgemm"));
    blas.dgemm = reinterpret_cast<Gemm<double>>(dlsym(library, "cblas_dgemm"));
    const auto parallel = reinterpret_cast<int (*)()>(dlsym(library, "openblas_get_parallel"));
    const auto set_threads =
        reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    if (!blas.sgemm || !blas.dgemm || !parallel || !set_threads) continue;
    if (parallel() == 0) {
      serial = true;
      continue;
    }
    set_threads(1);
    return blas;
  }
  return Status(
      StatusCode::kNotFound,
      std::string("the plan multiplies matrices or convolves, which needs OpenBLAS, and ") +
          (serial ? "the one here is built without locks, for a single thread"
                  : "`libopenblas.so.0` cannot be loaded") +
          "; install libopenblas0-pthread");
}

}  // namespace

void Blas::WarmUp() const {
  static const bool done = [this] {
    constexpr int kSize = 128;
    const std::vector<float> ones(kSize * kSize, 1);
    std::vector<float> result(kSize * kSize);
    sgemm(kRowMajor, kNoTranspose, kNoTranspose, kSize, kSize, kSize, 1, ones.data(), kSize,
          ones.data(), kSize, 0, result.data(), kSize);
    return true;
  }();
  (void)done;
}

Result<const Blas*> LoadBlas() {
  static const Result<Blas> loaded = OpenBlasLibrary();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace cgraph::device
