#include "runtime/base/hardware.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/read_file.h"
#include "runtime/base/sync/cores.h"
#include "runtime/base/text.h"

namespace cgraph {
namespace {

// Returns what stands behind the colon in the first line that begins with `name`; empty: none does.
std::string ValueOf(const std::string& path, std::string_view name) {
  constexpr int64_t kMost = 1 << 24;  // /proc/cpuinfo has a part for each core
  std::string text;
  if (ReadFile(path, kMost, text)) return "";
  for (const std::string& line : SplitLines(text)) {
    const size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == line.npos) continue;
    const size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == line.npos ? "" : line.substr(first);
  }
  return "";
}

}  // namespace

Hardware ThisHardware() {
  Hardware hardware{ValueOf("/proc/cpuinfo", "model name"), Cores(), {}};
  std::error_code error;
  for (std::filesystem::directory_iterator gpu("/proc/driver/nvidia/gpus", error), end;
       !error && gpu != end; gpu.increment(error)) {
    const std::string name = ValueOf(gpu->path() / "information", "Model");
    const bool is_new = std::count(hardware.gpus.begin(), hardware.gpus.end(), name) == 0;
    if (!name.empty() && is_new) hardware.gpus.push_back(name);
  }
  return hardware;
}

bool Differs(const Hardware& measured, const Hardware& here) {
  if (!measured.cpu.empty() && !here.cpu.empty() && measured.cpu != here.cpu) return true;
  if (measured.cores != 0 && here.cores != 0 && measured.cores != here.cores) return true;
  const auto is_here = [&](const std::string& gpu) {
    return std::find(here.gpus.begin(), here.gpus.end(), gpu) != here.gpus.end();
  };
  return !here.gpus.empty() && !std::all_of(measured.gpus.begin(), measured.gpus.end(), is_here);
}

std::string HardwareText(const Hardware& hardware) {
  std::vector<std::string> parts;
  if (!hardware.cpu.empty()) parts.push_back(hardware.cpu);
  if (hardware.cores != 0) parts.push_back(Counted(hardware.cores, "core"));
  parts.insert(parts.end(), hardware.gpus.begin(), hardware.gpus.end());
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace cgraph
