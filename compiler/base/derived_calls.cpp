#include "compiler/base/derived_calls.h"

#include "llvm/ADT/StringRef.h"

namespace cgraph {

const char* SuffixOf(Half half) {
  switch (half) {
    case Half::kWhole:
      return "";
    case Half::kInput:
      return "_input";
    case Half::kWeight:
      return "_weight";
  }
  return "";
}

std::string DerivedName(const std::string& method, Half half) {
  return (method == "forward" ? "backward" : method + "_backward") + SuffixOf(half);
}

std::optional<DerivedFrom> ParseDerivedName(const std::string& name) {
  llvm::StringRef method = name;
  Half found = Half::kWhole;
  for (Half half : {Half::kInput, Half::kWeight}) {
    if (method.consume_back(SuffixOf(half))) {
      found = half;
      break;
    }
  }
  if (method == "backward") return DerivedFrom{"forward", found};
  if (!method.consume_back("_backward") || method == "forward") return std::nullopt;
  return DerivedFrom{method.str(), found};
}

}  // namespace cgraph
