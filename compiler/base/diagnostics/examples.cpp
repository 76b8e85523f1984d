// The text of `cgc explain`; a test compiles each example and gets exactly its code.
#include "compiler/base/diagnostics/diagnostics.h"

namespace cgraph {
namespace {

struct Example {
  Code code;
  const char* text;
};

constexpr Example kExamples[] = {
#define EXAMPLE(code, text) {Code::k##code, text},
#include "compiler/base/diagnostics/examples/arguments.def"
#include "compiler/base/diagnostics/examples/bodies.def"
#include "compiler/base/diagnostics/examples/elaboration.def"
#include "compiler/base/diagnostics/examples/gradients.def"
#include "compiler/base/diagnostics/examples/names.def"
#include "compiler/base/diagnostics/examples/schedules.def"
#include "compiler/base/diagnostics/examples/syntax.def"
#include "compiler/base/diagnostics/examples/topologies.def"
#undef EXAMPLE
};

}  // namespace

llvm::StringRef CodeExample(Code code) {
  for (const Example& example : kExamples) {
    if (example.code == code) return llvm::StringRef(example.text).ltrim('\n');
  }
  return "";
}

}  // namespace cgraph
