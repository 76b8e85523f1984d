// Writes what was measured in the language: parts, one a line, with units that it reads.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/output_files.h"
#include "runtime/base/read_file.h"
#include "runtime/base/text.h"
#include "runtime/command/discover/discover.h"

namespace cgraph::command {
namespace {

// What a file of ours begins with. No other file is written over.
const std::string kFirstWords = "// This machine, as cgrun --discover measured it";

// Returns three or four digits of a number, without an exponent: "3.351", "412.3", "12".
std::string Digits(double number) {
  const int whole = number >= 1 ? static_cast<int>(std::log10(number)) + 1 : 1;
  return fmt::format("{:.{}f}", number, std::max(0, 4 - whole));
}

std::string Bandwidth(double bytes_a_second) { return Digits(bytes_a_second / 1e9) + "GB/s"; }
std::string Rate(double flops) { return Digits(flops / 1e9) + "GFLOPS"; }
std::string Time(double seconds) { return Digits(seconds * 1e9) + "ns"; }
std::string Bytes(uint64_t bytes) { return fmt::format("{}MiB", bytes >> 20); }

const char* Generation(int major) {
  switch (major) {
    case 7: return "volta";
    case 8: return "ampere";
    case 9: return "hopper";
    default: return "blackwell";
  }
}

std::string Properties(const MeasuredProcessor& processor) {
  return fmt::format("    memory: {},\n    rate_f32: {},\n    rate_f16: {},\n    rate_f64: {},\n"
                     "    bandwidth: {},\n    launch: {}",
                     Bytes(processor.memory), Rate(processor.rate_f32), Rate(processor.rate_f16),
                     Rate(processor.rate_f64), Bandwidth(processor.bandwidth),
                     Time(processor.launch));
}

std::string LinkText(const std::string& from, const std::string& to, const MeasuredLink& link,
                     const std::string& through = "") {
  return fmt::format("  link {} -> {} {{ bandwidth: {}, latency: {}{} }}\n", from, to,
                     Bandwidth(link.bandwidth), Time(link.latency),
                     through.empty() ? "" : ", through: " + through);
}

// Copies to and from the host at once: two of them pass where they hinder each other little, else
// one after the other.
std::string HostCopiesText(const MeasuredGpu& gpu, const std::string& name) {
  constexpr double kLittle = 0.75;  // of the slower direction's rate alone; half: no overlap
  const double slower = std::min(gpu.to_host.bandwidth, gpu.from_host.bandwidth);
  const double faster = std::max(gpu.to_host.bandwidth, gpu.from_host.bandwidth);
  const bool pass = gpu.both_ways >= kLittle * slower;
  return fmt::format(
      "  // {}; {} each way while the host is copied to and from at once.\n"
      "  resource {} {{ bandwidth: {}, capacity: {} }}\n",
      Counted(static_cast<uint64_t>(gpu.copy_engines), "copy engine"), Bandwidth(gpu.both_ways),
      name, Bandwidth(faster), pass ? 2 : 1);
}

std::string GpuText(const MeasuredMachine& machine, size_t i) {
  const MeasuredGpu& gpu = machine.gpus[i];
  const std::string name = fmt::format("gpu[{}]", i);
  std::string text = fmt::format("  // {}\n  device {} {{\n{},\n    generation: \"{}\"\n  }}\n",
                                 gpu.name, name, Properties(gpu.processor), Generation(gpu.major));
  const std::string copies = fmt::format("host_copies_{}", i);
  text += HostCopiesText(gpu, copies);
  text += LinkText(name, "cpu[0]", gpu.to_host, copies);
  text += LinkText("cpu[0]", name, gpu.from_host, copies);
  for (size_t from = 0; from < machine.gpus.size(); ++from) {
    if (from == i) continue;
    text += fmt::format("  // Through the memory of the host: {}.\n",
                        Bandwidth(gpu.from_via_host[from]));
    text += LinkText(fmt::format("gpu[{}]", from), name, gpu.from[from]);
  }
  return text;
}

// Programs have names of the same ending: a slip must not cost one.
Status CheckName(const std::string& path) {
  if (!path.ends_with(".cgraph")) {
    return {StatusCode::kInvalid,
            fmt::format("{} does not end in .cgraph, as files that cgc --topology takes do; give "
                        "--discover {}.cgraph", Quoted(path), path)};
  }
  CGRAPH_RETURN_IF_ERROR(CheckWritable(path));
  std::string text;
  if (ReadFile(path, static_cast<int64_t>(kFirstWords.size()), text)) return Status::Ok();
  if (text.empty() || text.starts_with(kFirstWords)) return Status::Ok();
  return {StatusCode::kInvalid,
          fmt::format("{} exists, and cgrun --discover did not write it; give another name, or "
                      "remove it", Quoted(path))};
}

}  // namespace

std::string TopologyText(const MeasuredMachine& machine) {
  std::string text = kFirstWords + fmt::format(
      ".\n"
      "// Figures are medians of five rounds. Rates are those of products, in operations a\n"
      "// second (1 GFLOPS is 1e9). Bandwidths are those of copies, in bytes a second (1 GB/s is\n"
      "// 1e9), in a device's own memory of bytes read and written. The launch of a kernel is the\n"
      "// time that one more small one takes. {}\n"
      "topology discovered() {{\n  device cpu[i] [i in 0..{}] {{\n{}\n  }}\n",
      machine.gpus.empty() ? "There is no GPU." : "GPUs and the host copy pinned memory.",
      machine.cores, Properties(machine.core));
  // Cores share one memory; between devices that are cores alone messages are what counts.
  if (machine.gpus.empty() && machine.cores > 1) {
    text += fmt::format("  link cpu[i] -> cpu[j] [i in 0..{0}, j in 0..{0}] if i != j {{\n"
                        "    bandwidth: {1},\n    latency: {2}\n  }}\n",
                        machine.cores, Bandwidth(machine.between_cores.bandwidth),
                        Time(machine.between_cores.latency));
  }
  for (size_t i = 0; i < machine.gpus.size(); ++i) text += GpuText(machine, i);
  return text + "}\n";
}

Status Discover(const DiscoverOptions& options, MeasuredMachine& machine) {
  CGRAPH_RETURN_IF_ERROR(CheckName(options.path));
  CGRAPH_RETURN_IF_ERROR(MeasureCores(machine));
  CGRAPH_RETURN_IF_ERROR(MeasureGpus(options, machine));
  OutputFiles files;
  CGRAPH_RETURN_IF_ERROR(files.Add(options.path, TopologyText(machine)));
  return files.Commit();
}

std::string DiscoveredText(const std::string& path, const MeasuredMachine& machine) {
  std::string summary = fmt::format("{}: {} and {}; cgc takes it by --topology {}\n", path,
                        Counted(machine.cores, "core"), Counted(machine.gpus.size(), "GPU"), path);
  if (machine.gpus.empty()) summary += fmt::format("no GPU was measured: {}\n", machine.no_gpus);
  return summary;
}

nlohmann::ordered_json DiscoveredJson(const std::string& path, const MeasuredMachine& machine) {
  using Json = nlohmann::ordered_json;
  Json gpus = Json::array();
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    gpus.push_back({{"device", fmt::format("cuda:{}", i)}, {"name", machine.gpus[i].name}});
  }
  return {{"topology", path},
          {"cores", machine.cores},
          {"gpus", std::move(gpus)},
          {"problem", machine.no_gpus.empty() ? Json() : Json(machine.no_gpus)},
          {"exit_code", 0}};
}

}  // namespace cgraph::command
