#include "compiler/inspect/draw/facts/facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/base/byte_intervals.h"
#include "compiler/inspect/graph_messages.h"
#include "runtime/base/kinds/transport.h"
#include "runtime/plan/print.h"

namespace cgraph {
namespace {

// Origin: where a value comes from: its maker, and its way since.
struct Origin {
  uint32_t instruction = 0;
  uint32_t value = 0;
  std::vector<std::string> transports;
  bool is_copied = false;
};

class Finder {
 public:
  Finder(const plan::Plan& plan, const plan::Graph& graph, const Operations& operations)
      : plan_(plan), graph_(graph), operations_(operations),
        index_(IndexMessages(plan, graph)), writers_(graph.buffers.size()) {
    for (uint32_t channel = 0; channel < graph.channels.size(); ++channel) {
      const auto sends = index_.sends(channel), receives = index_.receives(channel);
      for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
        send_of_[receives[j].part] = sends[j];
      }
    }
    for (const plan::Extent& extent : graph.extents) {
      extents_.insert(extent.value());
    }
  }

  std::vector<Flow> Find() {
    std::vector<uint32_t> order(graph_.instructions.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return graph_.instructions[a].program_order() < graph_.instructions[b].program_order();
    });
    for (uint32_t i : order) {
      switch (graph_.instructions[i].kind()) {
        case plan::Kind::signal:
        case plan::Kind::wait: break;
        case plan::Kind::copy: PassOn(i); break;
        case plan::Kind::comm: Communicate(i); break;
        default:
          index_.ForEachOperand(i, [&](uint32_t value, bool write, uint32_t) {
            write ? Write(value, {i, value, {}, false}) : Use(i, value);
          });
      }
    }
    return std::move(flows_);
  }

 private:
  bool IsState(uint32_t value) const {
    const plan::Buffer& buffer = graph_.buffers[graph_.values[value].buffer()];
    return graph_.arenas[buffer.arena()].space() == plan::Space::state;
  }

  std::vector<Origin> OriginsOf(uint32_t value_index) const {
    const plan::Value& value = graph_.values[value_index];
    std::vector<Origin> origins;
    writers_[value.buffer()].ForEach(value.offset(), value.offset() + value.bytes(),
                                     [&](uint32_t origin) { origins.push_back(origins_[origin]); });
    return origins;
  }

  void Write(uint32_t value_index, Origin origin) {
    if (IsState(value_index)) {
      return;
    }
    const plan::Value& value = graph_.values[value_index];
    writers_[value.buffer()].Assign(value.offset(), value.offset() + value.bytes(),
                                    static_cast<uint32_t>(origins_.size()));
    origins_.push_back(std::move(origin));
  }

  void Use(uint32_t instruction, uint32_t input) {
    if (extents_.count(input) > 0) {
      return;
    }
    for (Origin& origin : OriginsOf(input)) {
      const uint32_t from = operations_.of[origin.instruction];
      const uint32_t to = operations_.of[instruction];
      if (from == to) {
        continue;
      }
      if (origin.transports.empty() &&
          index_.device(origin.instruction) != index_.device(instruction)) {
        origin.transports.push_back(NameOf(TransportKind::kLocal));
      }
      // Where a part of a value is read, the part is shown; where a value was written in parts,
      // each part is.
      const bool reads_part = graph_.values[input].bytes() < graph_.values[origin.value].bytes();
      const uint32_t value = reads_part ? input : origin.value;
      if (seen_.insert({from, to, value}).second) {
        flows_.push_back({from, to, value, std::move(origin.transports), origin.is_copied});
      }
    }
  }

  // Passes origins on: a copied or received value is the value that went in at the other end.
  void PassOn(uint32_t instruction) {
    const plan::Instruction& at = graph_.instructions[instruction];
    for (uint32_t i = 0; i < std::min(at.inputs(), at.outputs()); ++i) {
      const uint32_t from = graph_.operands[at.first() + i];
      const uint32_t to = graph_.operands[at.first() + at.inputs() + i];
      const uint32_t output = operations_.all[operations_.of[instruction]].output;
      if (DeviceOf(from) == DeviceOf(to) || output != plan::kNone) {
        Copy(from, to);
      } else {
        Travel(from, to, NameOf(TransportKind::kHost));
      }
    }
  }

  uint32_t DeviceOf(uint32_t value) const {
    return graph_.arenas[graph_.buffers[graph_.values[value].buffer()].arena()].device();
  }

  // Between memories that both its maker and its reader reach.
  void Copy(uint32_t from, uint32_t to) {
    for (Origin& origin : OriginsOf(from)) {
      origin.is_copied = true;
      Write(to, std::move(origin));
    }
  }

  void Travel(uint32_t from, uint32_t to, const std::string& transport) {
    for (Origin& origin : OriginsOf(from)) {
      std::vector<std::string>& way = origin.transports;
      if (way.empty() || !way.back().starts_with(transport)) {
        way.push_back(transport);
      } else if (transport != NameOf(TransportKind::kHost)) {  // always two legs between gpus
        way.back() += " through " + plan::DeviceName(plan_, DeviceOf(from));
      }
      Write(to, std::move(origin));
    }
  }

  void Communicate(uint32_t instruction) {
    const plan::Instruction& comm = graph_.instructions[instruction];
    for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
      const plan::CommPart& part = graph_.parts[p];
      if (part.part() == plan::Part::collective) {
        for (uint32_t i = 0; i < part.inputs() + part.outputs(); ++i) {
          const uint32_t value = graph_.operands[part.first() + i];
          i < part.inputs() ? Use(instruction, value)
                            : Write(value, {instruction, value, {}, false});
        }
        continue;
      }
      const auto send = send_of_.find(p);
      if (part.part() == plan::Part::recv && send != send_of_.end()) {
        const plan::CommPart& sent = graph_.parts[send->second.part];
        const char* by = wire::EnumNameTransportKind(graph_.channels[part.subject()].transport());
        for (uint32_t i = 0; i < std::min(sent.inputs(), part.outputs()); ++i) {
          Travel(graph_.operands[sent.first() + i], graph_.operands[part.first() + i], by);
        }
      }
    }
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations& operations_;
  const plan::GraphIndex index_;
  std::map<uint32_t, plan::Message> send_of_;  // by the receiving part
  std::set<uint32_t> extents_;
  std::vector<ByteIntervals<uint32_t>> writers_;  // by buffer; into origins_
  std::vector<Origin> origins_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> seen_;
  std::vector<Flow> flows_;
};

}  // namespace

std::string WayText(const Flow& flow) {
  std::string text;
  for (const std::string& transport : flow.transports) {
    text += (text.empty() ? "by " : ", ") + transport;
  }
  return flow.is_copied ? text + (text.empty() ? "copied" : ", copied") : text;
}

std::vector<Flow> FindFlows(const plan::Plan& plan, const plan::Graph& graph,
                            const Operations& operations) {
  return Finder(plan, graph, operations).Find();
}

}  // namespace cgraph
