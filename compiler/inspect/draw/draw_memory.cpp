// The memory: each arena a band, its bytes from bottom to top, time to the right; a buffer is the
// box of its bytes over the time from its first access to its last. What is free is grey, and a red
// line marks the moment when most is held.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/base/bytes_text.h"
#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/facts/lifetimes.h"
#include "compiler/inspect/draw/facts/operations.h"
#include "compiler/inspect/draw/palette.h"
#include "compiler/inspect/draw/formats/svg.h"
#include "compiler/inspect/draw/facts/teller.h"
#include "compiler/inspect/draw/formats/text.h"
#include "runtime/plan/print.h"
#include "runtime/status/text.h"

namespace cgraph {
namespace {

constexpr double kWidth = 760, kLine = 13, kGap = 10, kAxis = 30, kMinHeight = 3 * kLine,
                 kMaxHeight = 220;
constexpr size_t kMaxBands = 60;

struct Band {
  uint32_t arena = 0;
  std::vector<uint32_t> buffers;
  Peak peak;
  std::vector<std::string> title;  // two or three lines
};

class MemoryDrawer {
 public:
  MemoryDrawer(const plan::Plan& plan, const plan::Graph& graph, const Simulation& simulation,
               const SourceLines& source)
      : plan_(plan), graph_(graph), simulation_(simulation), operations_(FindOperations(graph)),
        lifetimes_(FindLifetimes(plan, graph, simulation)), teller_(plan, graph, source),
        palette_(FamiliesOf(plan, graph, operations_)) {}

  std::string Draw() {
    CollectBands();
    double left = 0;
    for (const Band& band : bands_) {
      for (const std::string& line : band.title) left = std::max(left, TextWidth(line));
    }
    axis_ = TimeAxis(simulation_.makespan, kSvgMargin + left + 12, kWidth);
    double y = kSvgTop;
    uint32_t device = plan::kNone;
    for (const Band& band : bands_) {
      const uint32_t its_device = graph_.arenas[band.arena].device();
      y += device != plan::kNone && device != its_device ? kGap : 0;
      device = its_device;
      y += AddBand(band, y) + kGap;
    }
    if (left_out_ > 0) {
      svg_ += SvgText(axis_.left(), y + 10, fmt::format("and {} smaller arenas", left_out_));
      y += 2 * kLine;
    }
    const std::string grid = axis_.Grid(kSvgTop - 6, y);
    const SvgBlock legend = SvgLegend(Legend(), axis_.left(), y + kAxis, axis_.width());
    return SvgPage(fmt::format("memory of {}, one execution", graph_.name),
                   axis_.left() + axis_.width() + 60, y + kAxis + legend.height + 10,
                   grounds_ + grid + svg_ + legend.svg);
  }

 private:
  // Device by device, the largest first; of very many only the largest.
  void CollectBands() {
    std::vector<std::vector<uint32_t>> buffers(graph_.arenas.size());
    for (uint32_t id = 0; id < graph_.buffers.size(); ++id) {
      if (lifetimes_[id].is_used) buffers[graph_.buffers[id].arena()].push_back(id);
    }
    std::vector<uint32_t> arenas;
    for (uint32_t arena = 0; arena < graph_.arenas.size(); ++arena) {
      if (!buffers[arena].empty()) arenas.push_back(arena);
    }
    std::stable_sort(arenas.begin(), arenas.end(), [&](uint32_t a, uint32_t b) {
      return graph_.arenas[a].bytes() > graph_.arenas[b].bytes();
    });
    left_out_ = arenas.size() - std::min(arenas.size(), kMaxBands);
    arenas.resize(arenas.size() - left_out_);
    std::stable_sort(arenas.begin(), arenas.end(), [&](uint32_t a, uint32_t b) {
      return graph_.arenas[a].device() < graph_.arenas[b].device();
    });
    for (uint32_t arena : arenas) {
      Band band{arena, std::move(buffers[arena]), {}, {}};
      band.peak = FindPeak(graph_, lifetimes_, band.buffers);
      band.title = TitleOf(band);
      bands_.push_back(std::move(band));
    }
  }

  std::vector<std::string> TitleOf(const Band& band) const {
    const plan::Arena& arena = graph_.arenas[band.arena];
    std::string whose = wire::EnumNameSpace(arena.space());
    if (arena.space() == plan::Space::state && arena.owner() != plan::kNone) {
      whose = "state of " + plan_.actors[arena.owner()]->name;
    }
    std::string size = BytesText(arena.bytes());
    if (arena.copies() > 1) size += fmt::format(", {} copies", arena.copies());
    std::vector<std::string> lines = {plan::DeviceName(plan_, arena.device()) + " " + whose, size};
    if (HasPeak(band)) {
      lines.push_back(fmt::format("peak {} at {}", BytesText(band.peak.bytes),
                                  TimeText(band.peak.time)));
    }
    return lines;
  }

  // Of an arena whose use changes.
  bool HasPeak(const Band& band) const {
    const plan::Space space = graph_.arenas[band.arena].space();
    return space == plan::Space::slot || space == plan::Space::scratch;
  }

  // As high as its buffers need to carry names; returns the height.
  double AddBand(const Band& band, double y) {
    const plan::Arena& arena = graph_.arenas[band.arena];
    std::set<uint64_t> offsets;
    for (uint32_t id : band.buffers) offsets.insert(graph_.buffers[id].offset());
    const double height =
        std::clamp(1.5 * kLine * static_cast<double>(offsets.size()), kMinHeight, kMaxHeight);
    for (size_t i = 0; i < band.title.size(); ++i) {
      svg_ += SvgText(axis_.left() - 8, y + kLine * (static_cast<double>(i) + 0.8), band.title[i],
                      i == 0 ? "text-anchor=\"end\"" : "text-anchor=\"end\" fill=\"#555555\"");
    }
    grounds_ += SvgRect(axis_.left(), y, axis_.width(), height,
                        fmt::format("fill=\"{}\"", kGround));
    if (HasPeak(band)) {
      const double x = axis_.X(band.peak.time);
      svg_ += fmt::format(
          "<line x1=\"{0:.2f}\" y1=\"{1:.1f}\" x2=\"{0:.2f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
          "stroke-width=\"1.6\" stroke-dasharray=\"5,3\"/>\n",
          x, y - 4, y + height + 4, kAlarmColor);
    }
    const double scale = height / static_cast<double>(std::max<uint64_t>(arena.bytes(), 1));
    for (uint32_t id : band.buffers) {
      AddBuffer(id, y + height, scale);
    }
    return height;
  }

  void AddBuffer(uint32_t id, double bottom, double scale) {
    constexpr double kThinnest = 1.5;
    const plan::Buffer& buffer = graph_.buffers[id];
    const Lifetime& life = lifetimes_[id];
    const double x = axis_.X(life.from);
    const double width = std::max(axis_.X(life.to) - x, kThinnest);
    const double height = std::max(scale * static_cast<double>(buffer.bytes()), kThinnest);
    const double y = bottom - scale * static_cast<double>(buffer.offset()) - height;
    std::string content =
        SvgRect(x, y, width, height,
                FilledStyle(palette_.ColorOf(FamilyOf(id))) + " fill-opacity=\"0.8\"");
    const std::string name = life.values.empty() ? "" : ValueName(plan_, graph_, life.values[0]);
    if (TextWidth(name) <= width - 4 && height >= kLine - 1) {
      content += SvgText(x + width / 2, y + height / 2 + 4, name, "text-anchor=\"middle\"");
    }
    svg_ += SvgItem(Told(id), content);
  }

  // The colour of who makes it.
  std::string FamilyOf(uint32_t buffer) const {
    const plan::Space space = graph_.arenas[graph_.buffers[buffer].arena()].space();
    if (space == plan::Space::state) return "state";
    const uint32_t maker = lifetimes_[buffer].maker;
    if (maker == plan::kNone) return "constant";
    return OperationFamily(plan_, graph_, operations_.all[operations_.of[maker]]);
  }

  std::string Told(uint32_t id) const {
    const plan::Buffer& buffer = graph_.buffers[id];
    const Lifetime& life = lifetimes_[id];
    constexpr size_t kMaxValues = 5;
    std::string text;
    for (size_t i = 0; i < std::min(life.values.size(), kMaxValues); ++i) {
      text += (i == 0 ? "" : "\n") + teller_.TellValue(life.values[i]);
    }
    if (life.values.size() > kMaxValues) {
      text += fmt::format("\nand {} values more", life.values.size() - kMaxValues);
    }
    text += fmt::format("\nbytes {} to {} of the arena\n{} to {}", buffer.offset(),
                        buffer.offset() + buffer.bytes(), TimeText(life.from), TimeText(life.to));
    if (life.maker != plan::kNone) {
      text += "\nmade by " + teller_.Tell(operations_.all[operations_.of[life.maker]]);
    }
    return text;
  }

  std::vector<std::pair<std::string, std::string>> Legend() {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& family : palette_.families()) {
      entries.emplace_back(FilledStyle(palette_.ColorOf(family)), "by " + family);
      if (family == "state" || family == "constant") entries.back().second = family;
    }
    entries.emplace_back(fmt::format("fill=\"{}\" stroke=\"#cccccc\"", kGround), "free");
    entries.emplace_back(fmt::format("fill=\"white\" stroke=\"{}\" stroke-width=\"1.6\" "
                                     "stroke-dasharray=\"5,3\"", kAlarmColor), "peak");
    return entries;
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Simulation& simulation_;
  const Operations operations_;
  const std::vector<Lifetime> lifetimes_;
  const Teller teller_;
  std::vector<Band> bands_;
  size_t left_out_ = 0;
  TimeAxis axis_{0, 0, 0};
  Palette palette_;
  std::string grounds_, svg_;  // from back to front
};

}  // namespace

std::string MemorySvg(const plan::Plan& plan, const plan::Graph& graph,
                      const Simulation& simulation, const SourceLines& source) {
  return MemoryDrawer(plan, graph, simulation, source).Draw();
}

}  // namespace cgraph
