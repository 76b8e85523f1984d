// The drawing of memory: each arena is a band, its bytes from bottom to top, time to the right; a
// buffer is the box of its bytes over the time from its first access to its last. Free bytes are
// grey, and a red line marks the moment when most bytes are in use. Next to a band stands how large
// it is, and why it is larger than the bytes in use then. The box of a buffer with few bytes is
// drawn higher than to scale, so that its name can be read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "compiler/inspect/draw/drawings.h"
#include "compiler/inspect/draw/facts/facts.h"
#include "compiler/inspect/draw/facts/lifetimes.h"
#include "compiler/inspect/draw/facts/operations.h"
#include "compiler/inspect/draw/facts/tooltip_writer.h"
#include "compiler/inspect/draw/formats/svg.h"
#include "compiler/inspect/draw/palette.h"
#include "runtime/base/text.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

constexpr double kWidth = 760, kLine = 13, kGap = 12, kAxis = 30, kMinHeight = 3 * kLine,
                 kMaxHeight = 220, kMaxWidth = 2000, kMaxPage = 8000;
constexpr size_t kMaxBands = 60;

// ByteAxis: the bytes of an arena from bottom to top. A step is where a buffer begins or ends. The
// space between two steps is drawn in proportion to its bytes, but at least high enough for a name
// if there is a buffer in it, and at most that high if there is none.
class ByteAxis {
 public:
  ByteAxis(const plan::Graph& graph, uint32_t arena, const std::vector<uint32_t>& buffers) {
    std::map<uint64_t, int> changes = {{0, 0}, {graph.arenas[arena].bytes(), 0}};
    for (uint32_t id : buffers) {  // in how many buffers the bytes from here on are
      const plan::Buffer& buffer = graph.buffers[id];
      ++changes[buffer.offset()];
      --changes[buffer.offset() + buffer.bytes()];
    }
    int depth = 0;
    for (const auto& [at, change] : changes) {
      depth += change;
      boundaries_.push_back({at, depth > 0, 0});
    }
  }

  // Returns how many spaces between steps are in use, each of which should be a line high.
  size_t lines() const {
    return std::count_if(boundaries_.begin(), boundaries_.end(),
                         [](const Boundary& step) { return step.used; });
  }

  // Places the steps so that the axis is at least `least` high, and a line no higher than `line`.
  void Place(double least, double line) {
    const double to_scale =
        std::clamp(1.5 * kLine * static_cast<double>(lines()), least, kMaxHeight);
    double bytes = 0;
    for (size_t i = 0; i + 1 < boundaries_.size(); ++i)
      bytes += boundaries_[i].used ? BytesOf(i) : 0;
    for (size_t i = 0; i + 1 < boundaries_.size(); ++i) {
      const double height = to_scale * BytesOf(i) / std::max(bytes, 1.0);
      const bool used = boundaries_[i].used;
      stretched_ = stretched_ || (used && height < line);
      boundaries_[i + 1].above =
          boundaries_[i].above + (used ? std::max(height, line) : std::min(height, line));
    }
    height_ = std::max(boundaries_.back().above, least);
  }

  double height() const { return height_; }
  bool stretched() const { return stretched_; }
  // Returns the height at which a buffer begins or ends.
  double Above(uint64_t byte) const {
    return std::lower_bound(boundaries_.begin(), boundaries_.end(), byte,
                            [](const Boundary& step, uint64_t at) { return step.at < at; })
        ->above;
  }

 private:
  struct Boundary {
    uint64_t at;
    bool used;     // from here to the next one there are buffers
    double above;  // the bottom
  };
  double BytesOf(size_t step) const {
    return static_cast<double>(boundaries_[step + 1].at - boundaries_[step].at);
  }

  std::vector<Boundary> boundaries_;
  double height_ = 0;
  bool stretched_ = false;
};

struct Band {
  uint32_t arena = 0;
  std::vector<uint32_t> buffers;
  ByteAxis axis;
  Peak peak;
  std::vector<std::string> title;  // two to four lines
  std::string told;
};

class MemoryDrawer {
 public:
  MemoryDrawer(const plan::Plan& plan, const plan::Graph& graph, const Simulation& simulation,
               const DrawOptions& options)
      : plan_(plan), graph_(graph), simulation_(simulation),
        operations_(FindOperations(plan, graph, options.color_by)),
        lifetimes_(FindLifetimes(plan, graph, simulation)), tooltips_(plan, graph, options.source),
        palette_(FamiliesOf(plan, graph, operations_), options.color_by == ColorBy::kMicroBatch),
        width_(options.width) {}

  std::string Draw() {
    CollectBands();
    double left = 0;
    for (const Band& band : bands_) {
      for (const std::string& line : band.title) left = std::max(left, TextWidth(line));
    }
    axis_ = TimeAxis(simulation_.makespan, kSvgMargin + left + 12,
                     width_ > 0 ? AxisWidthFor(width_, kSvgMargin + left + 12) : ChooseWidth());
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
    return SvgPage(fmt::format("memory of {}, one execution{}", graph_.name,
                               stretched_ ? "; small buffers higher than to scale" : ""),
                   width_ > 0 ? width_ : axis_.left() + axis_.width() + kSvgRight,
                   y + kAxis + legend.height + 10,
                   grounds_ + grid + svg_ + peaks_ + names_ + legend.svg, width_ > 0);
  }

 private:
  // Chooses a width at which an ordinary buffer can carry its name, within bounds.
  double ChooseWidth() const {
    std::vector<double> wanted;
    for (const Band& band : bands_) {
      for (uint32_t id : band.buffers) {
        const Lifetime& life = lifetimes_[id];
        if (life.from >= life.to) continue;
        const double share = static_cast<double>(life.to - life.from) /
                             static_cast<double>(simulation_.makespan);
        wanted.push_back((TextWidth(NameOf(id)) + 8) / share);
      }
    }
    std::sort(wanted.begin(), wanted.end());
    return wanted.empty() ? kWidth : std::clamp(wanted[wanted.size() / 2], kWidth, kMaxWidth);
  }

  // Collects the bands device by device, the largest first; of very many only the largest.
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
    left_out_ = arenas.size() - ShownOf(arenas.size(), kMaxBands);
    arenas.resize(arenas.size() - left_out_);
    std::stable_sort(arenas.begin(), arenas.end(), [&](uint32_t a, uint32_t b) {
      return graph_.arenas[a].device() < graph_.arenas[b].device();
    });
    for (uint32_t arena : arenas) {
      Band band{arena, buffers[arena], ByteAxis(graph_, arena, buffers[arena]), {}, {}, ""};
      band.peak = FindPeak(graph_, lifetimes_, band.buffers);
      Describe(band);
      bands_.push_back(std::move(band));
    }
    PlaceBytes();
  }

  // Makes room for a line for every name, as far as the page is high.
  void PlaceBytes() {
    size_t lines = 0;
    for (const Band& band : bands_) lines += band.axis.lines();
    const double line =
        std::min(kLine + 1, kMaxPage / static_cast<double>(std::max<size_t>(lines, 1)));
    for (Band& band : bands_) {
      band.axis.Place(std::max(kMinHeight, kLine * static_cast<double>(band.title.size())), line);
      stretched_ = stretched_ || band.axis.stretched();
    }
  }

  void Describe(Band& band) const {
    const plan::Arena& arena = graph_.arenas[band.arena];
    std::string whose =
        arena.space() == plan::Space::slot ? "values" : wire::EnumNameSpace(arena.space());
    if (arena.space() == plan::Space::state && arena.owner() != plan::kNone) {
      whose = "state of " + plan_.actors[arena.owner()]->name;
    }
    std::string size = BytesText(arena.bytes());
    if (arena.copies() > 1) size += fmt::format(", {} copies", arena.copies());
    band.title = {plan::DeviceName(plan_, arena.device()) + " " + whose, size};
    band.told = fmt::format("{}: {} B", band.title[0], arena.bytes());
    if (arena.copies() > 1) {
      band.told += fmt::format(" in each of {} copies, one for each execution in progress",
                               arena.copies());
    }
    if (arena.space() == plan::Space::state) band.title.push_back("kept between executions");
    Explain(band);
  }

  // Explains why an arena is larger than the bytes in use.
  void Explain(Band& band) const {
    const ArenaUse use = FindUse(plan_, graph_, lifetimes_, band.arena, band.buffers, band.peak);
    if (HasPeak(band)) {
      band.title.push_back(fmt::format("peak {} at {}", BytesText(band.peak.bytes),
                                       TimeText(band.peak.time)));
      band.told += fmt::format("\n{} B of it are live at the peak, {}", use.live,
                               TimeText(band.peak.time));
    }
    std::string more;
    if (use.other > 0) {
      more = "+ " + BytesText(use.other) + " not live then";
      band.told += fmt::format("\n{} B are of buffers that live at other moments, and found no "
                               "room among those bytes", use.other);
    }
    if (use.state > 0) {
      more = "+ " + BytesText(use.state) + " not used here";
      band.told += fmt::format("\n{} B are of state that this graph does not use", use.state);
    }
    if (use.gaps > 0) {
      more += (more.empty() ? "+ " : ", ") + BytesText(use.gaps) + " to align";
      band.told += fmt::format("\n{} B are gaps, since buffers begin at round addresses", use.gaps);
    }
    if (!more.empty()) band.title.push_back(more);
  }

  // Returns whether the use of an arena changes, so that it has a peak.
  bool HasPeak(const Band& band) const {
    const plan::Space space = graph_.arenas[band.arena].space();
    return space == plan::Space::slot || space == plan::Space::scratch;
  }

  // Adds a band as high as its buffers need to carry names; returns the height.
  double AddBand(const Band& band, double y) {
    const ByteAxis& bytes = band.axis;
    const double height = bytes.height();
    std::string title;
    for (size_t i = 0; i < band.title.size(); ++i) {
      title += SvgText(axis_.left() - 8, y + kLine * (static_cast<double>(i) + 0.8), band.title[i],
                       i == 0 ? "text-anchor=\"end\"" : "text-anchor=\"end\" fill=\"#555555\"");
    }
    svg_ += SvgItem(band.told, title);
    grounds_ += SvgRect(axis_.left(), y, axis_.width(), height,
                        fmt::format("fill=\"{}\"", kGround));
    for (uint32_t id : band.buffers) {
      AddBuffer(id, y + height, bytes, HasPeak(band) ? axis_.X(band.peak.time) : 0);
    }
    if (HasPeak(band)) {
      const double x = axis_.X(band.peak.time);
      peaks_ += fmt::format(
          "<line x1=\"{0:.2f}\" y1=\"{1:.1f}\" x2=\"{0:.2f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
          "stroke-width=\"1.6\" stroke-dasharray=\"5,3\" pointer-events=\"none\"/>\n",
          x, y - 4, y + height + 4, kAlarmColor);
    }
    return height;
  }

  // Adds a buffer. `peak`: where the line of the peak is, which a name keeps clear of.
  void AddBuffer(uint32_t id, double bottom, const ByteAxis& bytes, double peak) {
    constexpr double kThinnest = 1.5, kRoom = 3;  // for a border, else there is nothing inside it
    const plan::Buffer& buffer = graph_.buffers[id];
    const Lifetime& life = lifetimes_[id];
    const double x = axis_.X(life.from);
    const double width = std::max(axis_.X(life.to) - x, kThinnest);
    const double low = bytes.Above(buffer.offset());
    const double height = std::max(bytes.Above(buffer.offset() + buffer.bytes()) - low, kThinnest);
    const double y = bottom - low - height;
    svg_ += SvgItem(Told(id), SvgRect(x, y, width, height,
                                      FilledStyle(ColorOf(id), width >= kRoom) +
                                          " fill-opacity=\"0.8\""));
    double left = x, right = x + width;
    if (std::abs(peak - x - width / 2) < TextWidth(NameFor(id, width - 4)) / 2 + 3) {
      (peak - left > right - peak ? right : left) = peak;
    }
    AddName(id, (left + right) / 2, y + height / 2, right - left - 4, height);
  }

  // Adds a name; in a box that is high and narrow it stands from bottom to top.
  void AddName(uint32_t id, double x, double y, double width, double height) {
    const std::string style = "text-anchor=\"middle\" pointer-events=\"none\"";
    const std::string name = NameOf(id);
    const bool upright = TextWidth(name) > width && TextWidth(name) <= height - 4;
    if (!upright && height >= kLine - 1) {
      const std::string text = NameFor(id, width);
      if (!text.empty()) names_ += SvgText(x, y + 4, text, style);
    } else if (upright && width >= kLine - 4) {
      names_ += SvgText(x + 4, y, name,
                        style + fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x + 4, y));
    }
  }

  // Returns the name that the program gives the buffer, if it does.
  std::string NameOf(uint32_t id) const {
    for (uint32_t value : lifetimes_[id].values) {
      // The compiler's own names have a colon or a percent sign.
      std::string name = ValueName(plan_, graph_, value);
      if (name.find_first_of(":%") == std::string::npos) return name;
    }
    return lifetimes_[id].values.empty() ? ""
                                         : ValueName(plan_, graph_, lifetimes_[id].values[0]);
  }

  // Returns as much of a name as fits, tried in this order: values and size, values, the value that
  // the program names, a part of that name.
  std::string NameFor(uint32_t id, double width) const {
    std::vector<std::string> names;
    for (uint32_t value : lifetimes_[id].values) {
      const std::string name = ValueName(plan_, graph_, value);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    if (names.empty()) return "";
    const std::string one = NameOf(id);
    const std::string all = fmt::format("{}", fmt::join(names, ", "));
    const std::string size = ", " + BytesText(graph_.buffers[id].bytes());
    for (const std::string& text : {all + size, one + size, one}) {
      if (TextWidth(text) <= width) return text;
    }
    return FittedText(one, width);
  }

  // The one of its maker.
  std::string ColorOf(uint32_t buffer) {
    const plan::Space space = graph_.arenas[graph_.buffers[buffer].arena()].space();
    if (space == plan::Space::state) return palette_.ColorOf("state");
    const uint32_t maker = lifetimes_[buffer].maker;
    if (maker == plan::kNone) return palette_.ColorOf("constant");
    const Operation& operation = operations_.all[operations_.of[maker]];
    return palette_.ColorOf(OperationFamily(plan_, graph_, operation), operation.shade);
  }

  std::string Told(uint32_t id) const {
    const plan::Buffer& buffer = graph_.buffers[id];
    const Lifetime& life = lifetimes_[id];
    constexpr size_t kMaxValues = 5;
    std::string text;
    for (size_t i = 0; i < std::min(life.values.size(), kMaxValues); ++i) {
      text += (i == 0 ? "" : "\n") + tooltips_.TellValue(life.values[i]);
    }
    if (life.values.size() > kMaxValues) {
      text += fmt::format("\nand {} values more", life.values.size() - kMaxValues);
    }
    text += fmt::format("\nbytes {} to {} of the arena\n{} to {}", buffer.offset(),
                        buffer.offset() + buffer.bytes(), TimeText(life.from), TimeText(life.to));
    if (life.maker != plan::kNone) {
      text += "\nmade by " + tooltips_.Tell(operations_.all[operations_.of[life.maker]]);
    }
    return text;
  }

  std::vector<std::pair<std::string, std::string>> Legend() {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& family : palette_.families()) {
      entries.emplace_back(FilledStyle(palette_.ColorOf(family)), "by " + family);
      if (family == "state" || family == "constant") entries.back().second = family;
    }
    for (const auto& [shade, method] : ShadesOf(plan_, graph_, operations_)) {
      entries.emplace_back(FilledStyle(ShadeSample(shade)), "of this shade: " + method);
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
  const TooltipWriter tooltips_;
  std::vector<Band> bands_;
  size_t left_out_ = 0;
  TimeAxis axis_{0, 0, 0};
  Palette palette_;
  const double width_;  // of the page, as it was asked for; 0: not asked for
  bool stretched_ = false;
  std::string grounds_, svg_, peaks_, names_;  // from back to front
};

}  // namespace

std::string MemorySvg(const plan::Plan& plan, const plan::Graph& graph,
                      const Simulation& simulation, const DrawOptions& options) {
  return MemoryDrawer(plan, graph, simulation, options).Draw();
}

}  // namespace cgraph
