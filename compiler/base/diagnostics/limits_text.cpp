// The limits and lists that explanations name, as people write them.
#include <string>
#include <utility>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/base/limits.h"
#include "compiler/base/transport.h"
#include "llvm/Support/MathExtras.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph {
namespace {

std::string Mebibytes(int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }
std::string PowerOfTwo(int64_t bytes) {
  return "2^" + std::to_string(llvm::Log2_64(bytes)) + " bytes";
}

}  // namespace

std::string CodeExplanation(Code code) {
  static const std::pair<const char*, std::string> kLimits[] = {
      {"{kMaxSourceBytes}", Mebibytes(kMaxSourceBytes)},
      {"{kMaxTokens}", std::to_string(kMaxTokens)},
      {"{kMaxNesting}", std::to_string(kMaxNesting)},
      {"{kMaxTreeDepth}", std::to_string(kMaxTreeDepth)},
      {"{kMaxSyntaxErrors}", std::to_string(kMaxSyntaxErrors)},
      {"{kMaxCallDepth}", std::to_string(kMaxCallDepth)},
      {"{kMaxElaborationSteps}", std::to_string(kMaxElaborationSteps)},
      {"{kMaxListElements}", std::to_string(kMaxListElements)},
      {"{kMaxStringBytes}", Mebibytes(kMaxStringBytes)},
      {"{kMaxOperands}", std::to_string(kMaxOperands)},
      {"{kMaxRounds}", std::to_string(kMaxRounds)},
      {"{kMaxInflight}", std::to_string(kMaxInflight)},
      {"{kMaxRank}", std::to_string(kMaxRank)},
      {"{kMaxNamedTypeDepth}", std::to_string(kMaxNamedTypeDepth)},
      {"{kMaxNamedTypeParts}", std::to_string(kMaxNamedTypeParts)},
      {"{kMaxTensorBytes}", PowerOfTwo(kMaxTensorBytes)},
      {"{kDevices}", DevicesText("and")},
      {"{kMaxDeviceIndex}", std::to_string(kMaxDeviceIndex)},
      {"{kMaxNodes}", std::to_string(kMaxNodes)},
      {"{kMaxDevices}", std::to_string(kMaxDevices)},
      {"{transports}", TransportList()},
  };
  std::string text = WrittenExplanation(code);
  for (const auto& [name, limit] : kLimits) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) {
      text.replace(at, std::char_traits<char>::length(name), limit);
    }
  }
  return text;
}

}  // namespace cgraph
