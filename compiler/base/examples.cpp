// What `cgc explain` prints; a test compiles each example and sees exactly its code.
#include "compiler/base/examples.h"

namespace cgraph {
namespace {

struct Example {
  Code code;
  const char* text;
};

constexpr Example kExamples[] = {
#define EXAMPLE(code, text) {Code::k##code, text},
#include "compiler/base/examples/arguments.def"
#include "compiler/base/examples/bodies.def"
#include "compiler/base/examples/elaboration.def"
#include "compiler/base/examples/names.def"
#include "compiler/base/examples/syntax.def"
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
