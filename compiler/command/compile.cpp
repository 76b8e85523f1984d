#include "compiler/command/compile.h"

#include <chrono>
#include <functional>

#include "compiler/check/check.h"
#include "compiler/cost/profile.h"
#include "compiler/emit/emit.h"
#include "compiler/graph/elaborate.h"
#include "compiler/graph/print.h"
#include "compiler/program/print.h"
#include "compiler/schedule/print.h"
#include "compiler/schedule/schedule.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/print.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"

namespace cgraph {
namespace {

// Prints how long each phase took, when asked.
class PhaseClock {
 public:
  explicit PhaseClock(bool print) : print_(print), start_(std::chrono::steady_clock::now()) {}
  void Done(const char* phase) {
    const auto now = std::chrono::steady_clock::now();
    if (print_) {
      const double ms = std::chrono::duration<double, std::milli>(now - start_).count();
      llvm::errs() << llvm::formatv("{0,-10} {1,9:f3} ms\n", phase, ms);
    }
    start_ = now;
  }

 private:
  bool print_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace
}  // namespace cgraph
