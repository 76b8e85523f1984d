#include "compiler/inspect/draw/facts/tooltip_writer.h"

#include <fmt/format.h>

#include "llvm/ADT/StringRef.h"
#include "runtime/base/text.h"
#include "runtime/plan/print.h"

namespace cgraph {

std::string TooltipWriter::Tell(const Operation& operation) const {
  std::string text = OperationName(plan_, graph_, operation);
  text += "\non " + plan::LaneName(plan_, operation.lane);
  constexpr size_t kMaxKernels = 6;
  size_t kernels = 0;
  for (uint32_t i : operation.instructions) {
    const plan::Instruction& instruction = graph_.instructions[i];
    if (instruction.kind() != plan::Kind::call || kernels > kMaxKernels) continue;
    text += kernels == 0 ? "\nkernels: " : ", ";
    text += kernels++ == kMaxKernels ? "..." : plan_.kernels[instruction.subject()]->name;
  }
  return text + TellSite(graph_.instructions[operation.instructions.front()].call());
}

std::string TooltipWriter::TellValue(uint32_t value) const {
  return fmt::format("{}: {}, {}", ValueName(plan_, graph_, value),
                     plan::TypeText(plan_, graph_, value),
                     BytesText(graph_.values[value].bytes()));
}

std::string TooltipWriter::TellSite(uint32_t call) const {
  if (call == plan::kNone || graph_.calls[call].site() == plan::kNone) {
    return "";
  }
  const plan::Site& site = plan_.sites[graph_.calls[call].site()];
  std::string text = "\n" + plan::SiteText(plan_, graph_.calls[call].site());
  const std::string line = source_ ? source_(plan_.files[site.file()], site.line()) : "";
  const llvm::StringRef trimmed = llvm::StringRef(line).trim();
  return trimmed.empty() ? text : text + "\n    " + trimmed.str();
}

}  // namespace cgraph
