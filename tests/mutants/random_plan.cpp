#include "tests/mutants/random_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/mutants/certify.h"
#include "tests/support/plans/plan_builder.h"

namespace cgraph::mutants {
namespace {

using plan::DType;
using plan::LaneKind;
using plan::testing::Dims;
using plan::testing::GraphBuilder;
using plan::testing::PlanBuilder;

const Dims kRow = {4};
constexpr uint64_t kRowBytes = 16;

class RandomPlanMaker {
 public:
  explicit RandomPlanMaker(Random& random)
      : random_(random),
        inflight_(1 + random.Below(3)),
        copies_(random.OneIn(4) ? 1 + random.Below(3) : inflight_),
        careless_(random.OneIn(2)),
        g_(plan_.Graph("main", inflight_)) {}

  std::unique_ptr<plan::Plan> Make() {
    g_.Copies(static_cast<uint16_t>(copies_));
    MakeDevices();
    OpenRound();
    if (takes_) Take();
    if (has_rows_) MakeExtents();
    for (uint32_t steps = 3 + random_.Below(7); steps > 0; --steps) {
      first_written_.push_back(Written());
      Step();
    }
    first_written_.push_back(Written());
    if (takes_ || random_.OneIn(2)) Give();
    CloseRound();
    std::unique_ptr<plan::Plan> made = plan_.Build();
    plan::Graph& graph = *made->graphs[0];
    for (uint32_t capture = 1; capture <= 2 && random_.OneIn(3); ++capture) {
      Capture(*made, graph, capture);
    }
    Certify(graph);
    return made;
  }

 private:
  // Made: a value, and how others learn that it is there. Rows: as many as the symbol says.
  struct Made {
    uint32_t value, device, lane, event, lag;
    bool rows = false;
  };
  struct Device {
    uint32_t id = 0;
    std::vector<uint32_t> lanes;     // that call
    uint32_t comm = 0;               // that communicates; perhaps one of those
    std::optional<uint32_t> state;   // its value
    uint32_t state_lag = 0;          // of all that touches it
    std::optional<Made> extent;      // how many rows there are
  };
  struct LaneLags {
    uint32_t least = UINT32_MAX, most = 0;
  };
  struct RoundWait {
    uint32_t from, to, wait;
  };

  uint32_t Written() const { return g_.Last() + 1; }

  void MakeDevices() {
    takes_ = random_.OneIn(2);
    take_ = plan_.Lane(PlanBuilder::kCaller, LaneKind::host);
    give_ = plan_.Lane(PlanBuilder::kCaller, LaneKind::host);
    kernel_ = plan_.Kernel("scale");
    update_ = plan_.Kernel("update", {.inplace = {plan::Inplace(0, 0)}});
    const uint32_t devices = 1 + random_.Below(3);
    std::vector<uint32_t> comms;
    for (uint32_t i = 0; i < devices; ++i) {
      Device device;
      device.id = plan_.Device(plan::DeviceKind::gpu, i);
      device.lanes.push_back(plan_.Lane(device.id, LaneKind::compute));
      if (random_.OneIn(4)) device.lanes.push_back(plan_.Lane(device.id, LaneKind::compute));
      device.comm = random_.OneIn(2) ? plan_.Lane(device.id, LaneKind::comm) : device.lanes[0];
      if (random_.OneIn(3)) {
        const uint32_t actor = plan_.Actor("a" + std::to_string(i), device.id, {{"s", 4}});
        device.state = g_.State(actor, 0);
        device.state_lag = random_.Below(inflight_);
      }
      comms.push_back(device.comm);
      devices_.push_back(device);
    }
    if (devices > 1) world_ = plan_.Communicator(comms);
    lags_.resize(plan_.plan().lanes.size());
    has_rows_ = random_.OneIn(3);
  }

  // Opens a round: a lane first waits until the others are through with the execution that had the
  // same memory. For how many rounds that is depends on their lags, which are not known yet.
  void OpenRound() {
    const auto lanes = static_cast<uint32_t>(plan_.plan().lanes.size());
    for (uint32_t lane = 0; lane < lanes; ++lane) ends_.push_back(g_.Event());
    for (uint32_t to = 0; to < lanes; ++to) {
      GraphBuilder::Handle wait = plan::kNone;
      for (uint32_t from = 0; from < lanes; ++from) {
        if (from == to || (careless_ && random_.OneIn(12))) continue;
        if (wait == plan::kNone) {
          wait = g_.Wait(to, ends_[from], 1);
        } else {
          g_.graph().waits.emplace_back(ends_[from], 1);
          g_.At(wait).mutate_inputs(static_cast<uint16_t>(g_.At(wait).inputs() + 1));
        }
        round_waits_.push_back({from, to, static_cast<uint32_t>(g_.graph().waits.size() - 1)});
      }
    }
  }
  void CloseRound() {
    for (uint32_t lane = 0; lane < ends_.size(); ++lane) g_.Signal(lane, ends_[lane]);
    for (const RoundWait& at : round_waits_) {
      const LaneLags& from = lags_[at.from];
      const LaneLags& to = lags_[at.to];
      const int64_t least = to.least == UINT32_MAX ? 0 : to.least;
      int64_t lag = int64_t{copies_} + least - from.most;
      if (careless_ && random_.OneIn(12)) lag += random_.OneIn(2) ? 1 : -1;
      g_.graph().waits[at.wait].mutate_lag(static_cast<uint16_t>(std::max<int64_t>(lag, 1)));
    }
  }

  // The latest instruction works for an execution of `lag` rounds before.
  void Lag(uint32_t lane, uint32_t lag) {
    g_.Lag(static_cast<uint16_t>(lag));
    lags_[lane].least = std::min(lags_[lane].least, lag);
    lags_[lane].most = std::max(lags_[lane].most, lag);
  }
  void Reads(uint32_t lane, const Made& made, uint32_t lag) {
    if (lane == made.lane || (careless_ && random_.OneIn(12))) return;
    g_.Wait(lane, made.event, static_cast<uint16_t>(lag - made.lag));
  }
  void Wrote(uint32_t device, uint32_t lane, uint32_t value, uint32_t lag, bool rows = false) {
    values_.push_back({value, device, lane, g_.Event(), lag, rows});
    g_.Signal(lane, values_.back().event);
  }
  uint32_t NewValue(uint32_t device, bool rows = false) {
    const Dims dims = rows ? Dims{{4, symbol_}} : kRow;
    const bool again = random_.OneIn(5);
    for (uint32_t tries = 0; again && tries < 3 && !values_.empty(); ++tries) {
      const Made& before = values_[random_.Below(values_.size())];
      const uint32_t buffer = g_.graph().values[before.value].buffer();
      if (before.device != device) continue;
      const uint64_t offset = g_.graph().buffers[buffer].offset();
      return g_.ValueAt("v", device, offset + (random_.OneIn(3) ? kRowBytes / 2 : 0), DType::f32,
                        dims);
    }
    return g_.Value("v", device, DType::f32, dims);
  }

  // One device makes the number; from there it goes to all others.
  void MakeExtents() {
    symbol_ = g_.Symbol("n", 4);
    const uint32_t home = random_.Below(devices_.size());
    if (devices_.size() > 1 && random_.OneIn(4)) return BroadcastExtents(home);
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      Device& device = devices_[(home + i) % devices_.size()];
      const uint32_t extent = g_.Extent(symbol_, device.id);
      if (i == 0 || (careless_ && random_.OneIn(12))) {
        MakeExtent(device, device.lanes[0], extent);
      } else {
        BringExtent(devices_[(home + random_.Below(i)) % devices_.size()], device, extent);
      }
    }
  }
  // Broadcasts extents. The root leaves its own where it is, or gets it back.
  void BroadcastExtents(uint32_t root) {
    const Device& from = devices_[root];
    const bool left = random_.OneIn(2);
    const uint32_t made = g_.Value("made", from.id, DType::i64, {});
    g_.Call(from.lanes[0], kernel_, {}, {made});
    Lag(from.lanes[0], 0);
    const Made number{made, from.id, from.lanes[0], g_.Event(), 0};
    g_.Signal(from.lanes[0], number.event);
    Reads(from.comm, number, 0);
    const uint32_t collective =
        g_.Collective("broadcast", world_, "", static_cast<int32_t>(root));
    std::vector<uint32_t> extents;
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      const bool has = i == root && left;
      extents.push_back(g_.Extent(symbol_, devices_[i].id, has ? made : plan::kNone));
      g_.Part(devices_[i].comm, collective,
              i == root ? std::vector{made} : std::vector<uint32_t>(),
              has ? std::vector<uint32_t>() : std::vector{extents[i]});
      Lag(devices_[i].comm, 0);
    }
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      const bool has = i == root && left;
      HasExtent(devices_[i], has ? from.lanes[0] : devices_[i].comm, extents[i]);
    }
  }
  void MakeExtent(Device& device, uint32_t lane, uint32_t extent) {
    g_.Call(lane, kernel_, {}, {extent});
    HasExtent(device, lane, extent);
  }
  void BringExtent(const Device& from, Device& to, uint32_t extent) {
    const bool copies = random_.OneIn(2);
    const uint32_t lane = copies ? to.lanes[0] : to.comm;
    Reads(copies ? lane : from.comm, *from.extent, 0);
    if (copies) {
      g_.Copy(lane, from.extent->value, extent);
    } else {
      const uint32_t channel = ChannelOf(from.comm, to.comm);
      g_.Send(channel, {from.extent->value}, transfers_);
      Lag(from.comm, 0);
      g_.Receive(channel, {extent}, transfers_++);
    }
    HasExtent(to, lane, extent);
  }
  void HasExtent(Device& device, uint32_t lane, uint32_t extent) {
    Lag(lane, 0);
    device.extent = Made{extent, device.id, lane, g_.Event(), 0};
    g_.Signal(lane, device.extent->event);
  }
  // Brings an extent once more, or overwrites it: harmless if nobody reads it from then on.
  void SpoilExtent() {
    Device& device = devices_[random_.Below(devices_.size())];
    const Device& other = devices_[random_.Below(devices_.size())];
    const uint32_t extent = device.extent->value;
    if (device.id == other.id) return MakeExtent(device, device.lanes[0], extent);
    BringExtent(other, device, extent);
  }
  // Notes a use of a value: a lane that touches rows reads how many there are.
  void Touches(const Device& device, uint32_t lane, bool rows, uint32_t lag) {
    if (rows) Reads(lane, *device.extent, lag);
  }

  // Returns a value on the device; makes one if there is none.
  Made Pick(const Device& device, bool also_rows = true) {
    std::vector<Made> found;
    for (const Made& made : values_) {
      if (made.device == device.id && (also_rows || !made.rows)) found.push_back(made);
    }
    if (!found.empty()) return found[random_.Below(found.size())];
    Call(device, device.lanes[0], {}, also_rows);
    return values_.back();
  }
  uint32_t LagBehind(const std::vector<Made>& inputs) {
    uint32_t lag = 0;
    for (const Made& made : inputs) lag = std::max(lag, made.lag);
    return lag + 1 < inflight_ && random_.OneIn(5) ? lag + 1 : lag;
  }

  void Step() {
    const Device& device = devices_[random_.Below(devices_.size())];
    const uint32_t lane = device.lanes[random_.Below(device.lanes.size())];
    if (has_rows_ && random_.OneIn(careless_ ? 8 : 24)) return SpoilExtent();
    switch (random_.Below(devices_.size() > 1 ? 8 : 4)) {
      case 0: return CopyValue(device, lane);
      case 1: return device.state ? Update(device, lane) : CallSome(device, lane);
      case 2: case 3: return CallSome(device, lane);
      case 4: case 5: return Group(1);
      case 6: return Group(2 + random_.Below(2));
      default: return Collective();
    }
  }

  void CallSome(const Device& device, uint32_t lane) {
    std::vector<Made> inputs;
    for (uint32_t count = random_.Below(3); count > 0; --count) inputs.push_back(Pick(device));
    Call(device, lane, inputs);
  }
  void Call(const Device& device, uint32_t lane, const std::vector<Made>& inputs,
            bool may_make_rows = true) {
    const uint32_t lag = LagBehind(inputs);
    const bool makes_rows = has_rows_ && may_make_rows && random_.OneIn(2);
    bool rows = makes_rows;
    std::vector<uint32_t> read;
    for (const Made& made : inputs) {
      Reads(lane, made, lag);
      read.push_back(made.value);
      rows = rows || made.rows;
    }
    Touches(device, lane, rows, lag);
    if (taken_ && random_.OneIn(3)) {
      Reads(lane, *taken_, lag);
      read.push_back(taken_->value);
    }
    const uint32_t value = NewValue(device.id, makes_rows);
    g_.Call(lane, kernel_, read, {value});
    Lag(lane, lag);
    Wrote(device.id, lane, value, lag, makes_rows);
  }
  void CopyValue(const Device& device, uint32_t lane) {
    const Made from = Pick(device);
    const uint32_t lag = LagBehind({from});
    Reads(lane, from, lag);
    Touches(device, lane, from.rows, lag);
    const uint32_t value = NewValue(device.id, from.rows);
    g_.Copy(lane, from.value, value);
    Lag(lane, lag);
    Wrote(device.id, lane, value, lag, from.rows);
  }
  // State is touched on one lane and at one lag, if nobody is careless.
  void Update(const Device& device, uint32_t lane) {
    const bool here = careless_ && random_.OneIn(4);
    const uint32_t at = here ? lane : device.lanes[0];
    g_.Call(at, update_, {*device.state}, {*device.state});
    Lag(at, device.state_lag);
  }

  // Sends some messages at once: each device does its ends of them as one instruction.
  void Group(uint32_t messages) {
    struct Part {
      bool sends;
      uint32_t channel, value, transfer;
      bool rows;
    };
    std::map<uint32_t, std::vector<Part>> parts;  // by device
    std::vector<std::pair<uint32_t, Made>> sent;  // by which device
    std::vector<Made> made;
    for (uint32_t m = 0; m < messages; ++m) {
      const uint32_t from = random_.Below(devices_.size());
      sent.emplace_back(from, Pick(devices_[from]));
      made.push_back(sent.back().second);
    }
    const uint32_t lag = LagBehind(made);
    for (const auto& [from, value] : sent) {
      const auto devices = static_cast<uint32_t>(devices_.size());
      const uint32_t to = (from + 1 + random_.Below(devices - 1)) % devices;
      const uint32_t channel = ChannelOf(devices_[from].comm, devices_[to].comm);
      const bool rows = value.rows;
      Reads(devices_[from].comm, value, lag);
      Touches(devices_[from], devices_[from].comm, rows, lag);
      Touches(devices_[to], devices_[to].comm, rows, lag);
      parts[from].push_back({true, channel, value.value, transfers_, rows});
      parts[to].push_back({false, channel, NewValue(devices_[to].id, rows), transfers_++, rows});
    }
    const uint32_t program_order = Written();
    for (const auto& [device, own] : parts) {
      const uint32_t comm = devices_[device].comm;
      GraphBuilder::Handle handle = plan::kNone;
      for (const Part& part : own) {
        const std::vector<uint32_t> value = {part.value}, none;
        if (handle != plan::kNone) {
          g_.Group(handle, part.sends ? plan::Part::send : plan::Part::recv, part.channel,
                   part.sends ? value : none, part.sends ? none : value, part.transfer);
        } else {
          handle = part.sends ? g_.Send(part.channel, value, part.transfer)
                              : g_.Receive(part.channel, value, part.transfer);
        }
      }
      g_.At(handle).mutate_program_order(program_order);
      Lag(comm, lag);
    }
    for (const auto& [device, own] : parts) {
      for (const Part& part : own) {
        if (part.sends) continue;
        Wrote(devices_[device].id, devices_[device].comm, part.value, lag, part.rows);
      }
    }
  }
  uint32_t ChannelOf(uint32_t from, uint32_t to) {
    const auto [known, is_new] = channels_.emplace(std::pair(from, to), 0);
    if (is_new) known->second = g_.Channel(from, to, random_.OneIn(2) ? 0 : random_.Below(3));
    return known->second;
  }

  void Collective() {
    const uint32_t kind = random_.Below(3);
    const uint32_t root = random_.Below(devices_.size());
    const uint32_t collective =
        g_.Collective(kind == 0 ? "all_reduce" : kind == 1 ? "broadcast" : "reduce", world_,
                      kind == 1 ? "" : "sum", kind == 0 ? 0 : static_cast<int32_t>(root));
    std::vector<Made> given;
    for (const Device& device : devices_) given.push_back(Pick(device, false));
    const uint32_t lag = LagBehind(given);
    std::vector<std::optional<uint32_t>> got;
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      const Device& device = devices_[i];
      const bool gives = kind != 1 || i == root;
      if (gives) Reads(device.comm, given[i], lag);
      got.push_back(kind != 2 || i == root ? std::optional(NewValue(device.id)) : std::nullopt);
    }
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      const bool gives = kind != 1 || i == root;
      g_.Part(devices_[i].comm, collective,
              gives ? std::vector{given[i].value} : std::vector<uint32_t>(),
              got[i] ? std::vector{*got[i]} : std::vector<uint32_t>());
      Lag(devices_[i].comm, lag);
    }
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      if (got[i]) Wrote(devices_[i].id, devices_[i].comm, *got[i], lag);
    }
  }

  void Take() {
    const uint32_t x = g_.Input("x", DType::f32, kRow);
    g_.Take(take_, x);
    Lag(take_, 0);
    Wrote(PlanBuilder::kCaller, take_, x, 0);
    taken_ = values_.back();
  }
  void Give() {
    const Device& device = devices_[random_.Below(devices_.size())];
    const Made from = Pick(device);
    const uint32_t lane = device.lanes[0];
    const uint32_t y = g_.Output("y", DType::f32, kRow);
    Reads(lane, from, from.lag);
    Touches(device, lane, from.rows, from.lag);
    g_.Call(lane, kernel_, {from.value}, {y});
    Lag(lane, from.lag);
    Wrote(PlanBuilder::kCaller, lane, y, from.lag);
    const Made made = values_.back();
    Reads(give_, made, made.lag);
    g_.Give(give_, y);
    Lag(give_, made.lag);
  }

  // Captures what one device does in a few steps, on one of its lanes or on all.
  void Capture(const plan::Plan& made, plan::Graph& graph, uint32_t capture) {
    const Device& device = devices_[random_.Below(devices_.size())];
    const uint32_t first = random_.Below(first_written_.size() - 1);
    const auto last = static_cast<uint32_t>(
        std::min<size_t>(first_written_.size() - 1, first + 1 + random_.Below(3)));
    const bool all = random_.OneIn(2);
    for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
      if (made.lanes[lane].device() != device.id || (!all && lane != device.lanes[0])) continue;
      const plan::Range& program = graph.programs[lane];
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        plan::Instruction& instruction = graph.instructions[i];
        const bool inside = instruction.program_order() >= first_written_[first] &&
                            instruction.program_order() < first_written_[last];
        if (inside && instruction.capture_id() == 0) instruction.mutate_capture_id(capture);
      }
    }
  }

  Random& random_;
  const uint32_t inflight_, copies_;
  const bool careless_;
  PlanBuilder plan_;
  GraphBuilder& g_;
  bool takes_ = false, has_rows_ = false;
  uint32_t take_ = 0, give_ = 0, kernel_ = 0, update_ = 0, world_ = 0, transfers_ = 0, symbol_ = 0;
  std::vector<Device> devices_;
  std::vector<Made> values_;
  std::optional<Made> taken_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> channels_;  // by its lanes
  std::vector<LaneLags> lags_;                                  // by lane
  std::vector<uint32_t> ends_;                                  // events, by lane
  std::vector<RoundWait> round_waits_;
  std::vector<uint32_t> first_written_;  // by step, and of what follows the last
};

}  // namespace

std::unique_ptr<plan::Plan> RandomPlan(Random& random) { return RandomPlanMaker(random).Make(); }

}  // namespace cgraph::mutants
