// Bytes to a plan and back. FlatBuffers' verifier bounds every offset. What it does not see:
// vectors of 8-byte things that are not aligned to 8, and sharing (a small file may point a million
// times at one table, and unpacking would copy it a million times). So a census walks the plan
// first: vectors are aligned, the bytes that unpacking copies fit in the file (our own writer
// shares nothing), and text is UTF-8, since it is printed and becomes JSON.
#include "runtime/plan/load.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <type_traits>

#include <fmt/format.h>

namespace cgraph::plan {
namespace {

// A table is at least a vtable offset and the offset that points at it.
constexpr size_t kMinTableBytes = 8;
constexpr size_t kMaxTableDepth = 16;  // Plan, Kernel, Primitive, Attribute: 4
constexpr size_t kMaxPlanBytes = std::numeric_limits<int32_t>::max();  // FlatBuffers' own limit

Status Invalid(std::string message) { return Status(StatusCode::kInvalid, std::move(message)); }

bool IsUtf8(const uint8_t* text, size_t size) {
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

// Walks a verified plan and counts what unpacking copies.
class Census {
 public:
  explicit Census(size_t limit) : left_(limit) {}

  bool too_much() const { return too_much_; }
  bool misaligned() const { return misaligned_; }
  bool bad_text() const { return bad_text_; }

  void Text(const flatbuffers::String* text) {
    if (text == nullptr || too_much_) return;
    Spend(text->size());
    if (!too_much_ && !IsUtf8(text->Data(), text->size())) bad_text_ = true;
  }
  template <typename T>
  void Flat(const flatbuffers::Vector<T>* vector) {  // of scalars, or of pointers to structs
    using Element = std::remove_pointer_t<T>;
    if (vector == nullptr) return;
    misaligned_ |= reinterpret_cast<uintptr_t>(vector->Data()) % alignof(Element) != 0;
    Spend(uint64_t{vector->size()} * sizeof(Element));
  }
  template <typename T, typename Visit>
  void Each(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector, Visit visit) {
    if (vector == nullptr) return;
    for (flatbuffers::uoffset_t i = 0; i < vector->size() && !too_much_; ++i) {
      Spend(sizeof(flatbuffers::uoffset_t));
      visit(*vector->Get(i));
    }
  }
  void Texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
    Each(texts, [this](const flatbuffers::String& text) { Text(&text); });
  }

 private:
  void Spend(uint64_t bytes) {
    too_much_ = too_much_ || bytes > left_;
    if (!too_much_) left_ -= bytes;
  }
  uint64_t left_;
  bool too_much_ = false;
  bool misaligned_ = false;
  bool bad_text_ = false;
};

void CountPorts(const flatbuffers::Vector<flatbuffers::Offset<wire::Port>>* ports, Census& census) {
  census.Each(ports, [&](const wire::Port& port) { census.Text(port.name()); });
}

void CountGraph(const wire::Graph& graph, Census& census) {
  census.Text(graph.name());
  CountPorts(graph.inputs(), census);
  CountPorts(graph.outputs(), census);
  census.Flat(graph.programs());
  census.Flat(graph.instructions());
  census.Flat(graph.operands());
  census.Flat(graph.parts());
  census.Flat(graph.waits());
  census.Flat(graph.calls());
  census.Flat(graph.call_indices());
  census.Flat(graph.values());
  census.Flat(graph.dims());
  census.Flat(graph.symbols());
  census.Flat(graph.extents());
  census.Flat(graph.arenas());
  census.Flat(graph.buffers());
  census.Flat(graph.channels());
  census.Each(graph.collectives(), [&](const wire::Collective& collective) {
    census.Text(collective.kind());
    census.Text(collective.reduction());
    census.Text(collective.algorithm());
  });
  census.Flat(graph.constants());
  census.Flat(graph.constant_data());
}

void CountKernel(const wire::Kernel& kernel, Census& census) {
  census.Text(kernel.name());
  census.Text(kernel.library());
  census.Text(kernel.symbol());
  census.Flat(kernel.inplace());
  census.Each(kernel.body(), [&](const wire::Primitive& primitive) {
    census.Text(primitive.op());
    census.Flat(primitive.operands());
    census.Each(primitive.attributes(), [&](const wire::Attribute& attribute) {
      census.Text(attribute.name());
      census.Flat(attribute.ints());
      census.Text(attribute.text());
      census.Flat(attribute.bits());
    });
  });
}

void CountPlan(const wire::Plan& plan, Census& census) {
  census.Text(plan.compiler());
  census.Flat(plan.source_digest());
  census.Each(plan.parameters(), [&](const wire::Parameter& parameter) {
    census.Text(parameter.name());
    census.Text(parameter.value());
  });
  census.Texts(plan.names());
  census.Texts(plan.files());
  census.Flat(plan.sites());
  census.Each(plan.devices(), [](const wire::Device&) {});
  census.Flat(plan.lanes());
  census.Each(plan.actors(), [&](const wire::Actor& actor) {
    census.Text(actor.name());
    census.Text(actor.class_name());
    census.Each(actor.states(), [&](const wire::State& state) {
      census.Text(state.name());
      census.Flat(state.dims());
    });
  });
  census.Each(plan.kernels(), [&](const wire::Kernel& kernel) { CountKernel(kernel, census); });
  census.Flat(plan.communicators());
  census.Flat(plan.members());
  census.Each(plan.weights(), [&](const wire::WeightFile& weight) {
    census.Text(weight.name());
    census.Text(weight.tensor());
    census.Flat(weight.first());
    census.Flat(weight.count());
  });
  CountGraph(*plan.start(), census);
  census.Each(plan.graphs(), [&](const wire::Graph& graph) { CountGraph(graph, census); });
  census.Text(plan.topology());
}

bool BeginsAsPlan(std::span<const uint8_t> bytes) {
  return bytes.size() >= 16 &&
         flatbuffers::BufferHasIdentifier(bytes.data(), wire::PlanIdentifier());
}

// Where a file of that name is to be made whole before it takes the name: where a link leads to,
// and nothing where the name is a device or a pipe, which must stay what it is.
std::optional<std::string> ReplaceableFile(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found) return path;
  if (type != std::filesystem::file_type::regular) return std::nullopt;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

Result<std::unique_ptr<Plan>> FromBytes(std::span<const uint8_t> bytes) {
  if (!BeginsAsPlan(bytes) || bytes.size() > kMaxPlanBytes) {
    return Invalid("not a plan (it lacks the file identifier \"CGPL\"); `cgc compile` makes one of "
                   "a .cgraph");
  }
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(std::max_align_t) != 0) {
    return FromBytes(std::vector<uint8_t>(bytes.begin(), bytes.end()));
  }
  flatbuffers::Verifier::Options limits;
  limits.max_depth = kMaxTableDepth;
  limits.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / kMinTableBytes + 1);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), limits);
  if (!wire::VerifyPlanBuffer(verifier)) {
    return Invalid("the plan is damaged: its offsets and sizes do not fit together");
  }
  const wire::Plan* plan = wire::GetPlan(bytes.data());
  if (plan->format() != kFormat) {
    return Invalid(
        fmt::format("the plan has format {}, and this program reads format {}: compile "
                    "the source again",
                    plan->format(), kFormat));
  }
  if (plan->start() == nullptr) return Invalid("the plan has no start graph");
  Census census(bytes.size());
  CountPlan(*plan, census);
  if (census.too_much()) return Invalid("the plan is damaged: its tables share memory");
  if (census.misaligned()) return Invalid("the plan is damaged: its vectors are not aligned");
  if (census.bad_text()) return Invalid("the plan is damaged: it has text that is not UTF-8");
  auto unpacked = std::make_unique<Plan>();
  plan->UnPackTo(unpacked.get());
  return unpacked;
}

std::vector<uint8_t> ToBytes(const Plan& plan) {
  flatbuffers::FlatBufferBuilder builder(4096);
  wire::FinishPlanBuffer(builder, wire::CreatePlan(builder, &plan));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

Result<std::unique_ptr<Plan>> ReadFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return Status(StatusCode::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  // In pieces: a size that the file system reports may be a lie (a pipe, /proc). What does not
  // begin as a plan is not read to its end, which it may not have.
  std::vector<uint8_t> bytes;
  uint8_t piece[1 << 16];
  size_t got;
  while ((got = std::fread(piece, 1, sizeof piece, file)) > 0 && bytes.size() <= kMaxPlanBytes) {
    bytes.insert(bytes.end(), piece, piece + got);
    if (!BeginsAsPlan(bytes)) break;
  }
  const bool failed = std::ferror(file) != 0;
  const int error = errno;
  std::fclose(file);
  if (failed) {
    return Status(StatusCode::kNotFound, fmt::format("{}: {}", path, std::strerror(error)));
  }
  auto plan = FromBytes(bytes);
  if (!plan.ok()) return Invalid(fmt::format("{}: {}", path, plan.status().message()));
  return plan;
}

Status WriteFile(const Plan& plan, const std::string& path) {
  const std::vector<uint8_t> bytes = ToBytes(plan);
  const std::optional<std::string> target = ReplaceableFile(path);
  const std::string written = target ? fmt::format("{}.{}.tmp", *target, getpid()) : path;
  std::FILE* file = std::fopen(written.c_str(), "wb");
  if (file == nullptr) {
    return Status(StatusCode::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  bool good = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  good = std::fclose(file) == 0 && good;
  good = good && (!target || std::rename(written.c_str(), target->c_str()) == 0);
  if (good) return Status::Ok();
  const int error = errno;
  if (target) std::remove(written.c_str());
  return Status(StatusCode::kNotFound, fmt::format("{}: {}", path, std::strerror(error)));
}

}  // namespace cgraph::plan
