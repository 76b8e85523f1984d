// The walk over the schema; hostile_plan_test compares it with the schema's reflection.
#include "runtime/plan/load.h"

#include <cstddef>
#include <type_traits>

#include "runtime/plan/plan_tables.h"

namespace cgraph::plan {
namespace {

// Texts of a plan are also used as C strings, so none has a zero byte.
bool IsUtf8WithoutZero(const uint8_t* text, size_t size) {
  size_t i = 0;
  while (i < size) {
    const uint8_t first = text[i];
    if (first < 0x80) {
      if (first == 0) return false;
      ++i;
      continue;
    }
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || size - i <= static_cast<size_t>(more)) return false;
    uint32_t code = first & (0x3f >> more);
    for (int k = 1; k <= more; ++k) {
      if ((text[i + k] & 0xc0) != 0x80) return false;
      code = code << 6 | (text[i + k] & 0x3f);
    }
    static constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return false;
    i += more + 1;
  }
  return true;
}

class Counter {
 public:
  explicit Counter(uint64_t limit) : limit_(limit) {}

  const UnpackedSize& unpacked_size() const { return unpacked_; }

  void Text(const flatbuffers::String* text) {
    if (text == nullptr || too_much()) return;
    Add(text->size());
    if (!too_much() && !IsUtf8WithoutZero(text->Data(), text->size())) unpacked_.bad_text = true;
  }
  template <typename T>
  void Flat(const flatbuffers::Vector<T>* vector) {  // of scalars, or of pointers to structs
    using Element = std::remove_pointer_t<T>;
    if (vector == nullptr) return;
    unpacked_.misaligned |= reinterpret_cast<uintptr_t>(vector->Data()) % alignof(Element) != 0;
    Add(uint64_t{vector->size()} * sizeof(Element));
  }
  template <typename T, typename Visit>
  void Each(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector, Visit visit) {
    if (vector == nullptr) return;
    for (flatbuffers::uoffset_t i = 0; i < vector->size() && !too_much(); ++i) {
      Add(sizeof(flatbuffers::uoffset_t));
      visit(*vector->Get(i));
    }
  }
  void Texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
    Each(texts, [this](const flatbuffers::String& text) { Text(&text); });
  }

 private:
  bool too_much() const { return unpacked_.bytes > limit_; }
  void Add(uint64_t bytes) {
    if (!too_much()) unpacked_.bytes += bytes;  // at most 2^32 * 64: no overflow
  }

  const uint64_t limit_;
  UnpackedSize unpacked_;
};

void CountPorts(const flatbuffers::Vector<flatbuffers::Offset<wire::Port>>* ports,
                Counter& counter) {
  counter.Each(ports, [&](const wire::Port& port) { counter.Text(port.name()); });
}

void CountGraph(const wire::Graph& graph, Counter& counter) {
  counter.Text(graph.name());
  CountPorts(graph.inputs(), counter);
  CountPorts(graph.outputs(), counter);
  counter.Flat(graph.programs());
  counter.Flat(graph.instructions());
  counter.Flat(graph.operands());
  counter.Flat(graph.parts());
  counter.Flat(graph.waits());
  counter.Flat(graph.calls());
  counter.Flat(graph.call_indices());
  counter.Flat(graph.values());
  counter.Flat(graph.dims());
  counter.Flat(graph.symbols());
  counter.Flat(graph.extents());
  counter.Flat(graph.arenas());
  counter.Flat(graph.buffers());
  counter.Flat(graph.channels());
  counter.Each(graph.collectives(),
               [&](const wire::Collective& collective) { counter.Text(collective.algorithm()); });
  counter.Flat(graph.constants());
  counter.Flat(graph.constant_data());
  if (graph.repeat() != nullptr) counter.Flat(graph.repeat()->carries());
}

void CountKernel(const wire::Kernel& kernel, Counter& counter) {
  counter.Text(kernel.name());
  counter.Text(kernel.library());
  counter.Text(kernel.symbol());
  counter.Flat(kernel.inplace());
  counter.Flat(kernel.temporaries());
  counter.Each(kernel.body(), [&](const wire::Primitive& primitive) {
    counter.Text(primitive.op());
    counter.Flat(primitive.operands());
    counter.Each(primitive.attributes(), [&](const wire::Attribute& attribute) {
      counter.Text(attribute.name());
      counter.Flat(attribute.ints());
      counter.Text(attribute.text());
      counter.Flat(attribute.bits());
    });
  });
}

void CountPlan(const wire::Plan& plan, Counter& counter) {
  counter.Text(plan.compiler());
  counter.Flat(plan.source_digest());
  counter.Each(plan.parameters(), [&](const wire::Parameter& parameter) {
    counter.Text(parameter.name());
    counter.Text(parameter.value());
  });
  counter.Texts(plan.names());
  counter.Texts(plan.files());
  counter.Flat(plan.sites());
  counter.Each(plan.devices(), [](const wire::Device&) {});
  counter.Flat(plan.lanes());
  counter.Each(plan.actors(), [&](const wire::Actor& actor) {
    counter.Text(actor.name());
    counter.Text(actor.class_name());
    counter.Each(actor.states(), [&](const wire::State& state) {
      counter.Text(state.name());
      counter.Flat(state.dims());
      counter.Text(state.copies());
    });
  });
  counter.Each(plan.kernels(), [&](const wire::Kernel& kernel) { CountKernel(kernel, counter); });
  counter.Flat(plan.communicators());
  counter.Flat(plan.members());
  counter.Each(plan.weights(), [&](const wire::WeightFile& weight) {
    counter.Text(weight.name());
    counter.Text(weight.tensor());
    counter.Flat(weight.first());
    counter.Flat(weight.count());
  });
  CountGraph(*plan.start(), counter);
  counter.Each(plan.graphs(), [&](const wire::Graph& graph) { CountGraph(graph, counter); });
  counter.Text(plan.topology());
  counter.Each(plan.partitions(), [&](const wire::Partition& partition) {
    counter.Flat(partition.worker_of_lane());
    counter.Each(partition.certificates(), [&](const wire::Certificate& certificate) {
      counter.Flat(certificate.positions());
    });
  });
}

}  // namespace

UnpackedSize MeasureUnpacked(const wire::Plan& plan, uint64_t limit) {
  Counter counter(limit);
  CountPlan(plan, counter);
  return counter.unpacked_size();
}

}  // namespace cgraph::plan
