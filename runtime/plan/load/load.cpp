// Conversion of bytes to a plan and back. FlatBuffers' verifier bounds every offset. What the
// verifier does not see is found by counting (unpacked_size.cpp) before anything is unpacked.
#include "runtime/plan/load.h"

#include <cerrno>
#include <cstddef>
#include <limits>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/output_files.h"
#include "runtime/base/text.h"
#include "runtime/plan/plan_tables.h"

namespace cgraph::plan {

namespace {

// A table is at least a vtable offset and the offset that points at it.
constexpr size_t kMinTableBytes = 8;
constexpr size_t kMaxTableDepth = 16;  // Plan, Kernel, Primitive, Attribute: 4
constexpr size_t kMaxPlanBytes = std::numeric_limits<int32_t>::max();  // FlatBuffers' own limit

Status Invalid(std::string message) { return Status(StatusCode::kInvalid, std::move(message)); }

bool BeginsAsPlan(std::span<const uint8_t> bytes) {
  return bytes.size() >= 16 &&
         flatbuffers::BufferHasIdentifier(bytes.data(), wire::PlanIdentifier());
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
  const UnpackedSize unpacked_size = MeasureUnpacked(*plan, bytes.size());
  if (unpacked_size.bytes > bytes.size())
    return Invalid("the plan is damaged: its tables share memory");
  if (unpacked_size.misaligned) return Invalid("the plan is damaged: its vectors are not aligned");
  if (unpacked_size.bad_text) return Invalid("the plan is damaged: it has text that is not UTF-8");
  auto unpacked = std::make_unique<Plan>();
  plan->UnPackTo(unpacked.get());
  return unpacked;
}

std::vector<uint8_t> ToBytes(const Plan& plan) {
  flatbuffers::FlatBufferBuilder builder(4096);
  wire::FinishPlanBuffer(builder, wire::CreatePlan(builder, &plan));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

Result<std::unique_ptr<Plan>> ReadFile(const std::string& path, Patience patience) {
  std::vector<uint8_t> bytes;
  // A file that does not begin as a plan is not read to its end, which it may not have.
  const auto take = [&](std::span<const char> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return BeginsAsPlan(bytes) && bytes.size() <= kMaxPlanBytes;
  };
  if (const std::error_code error = ReadPieces(path, take, patience)) {
    const bool late = error.value() == ETIMEDOUT;
    return Status(late ? StatusCode::kTimeout : StatusCode::kNotFound,
                  fmt::format("{}: {}", path, ReadErrorText(error.value(), patience)));
  }
  auto plan = FromBytes(bytes);
  if (!plan.ok()) return Invalid(fmt::format("{}: {}", path, plan.status().message()));
  return plan;
}

Status WriteFile(const Plan& plan, const std::string& path) {
  OutputFiles files;
  CGRAPH_RETURN_IF_ERROR(files.Add(path, {ToBytes(plan)}));
  return files.Commit();
}

bool IsBefore(const Plan& plan, uint32_t graph) {
  return std::any_of(plan.graphs.begin(), plan.graphs.end(), [&](const auto& other) {
    return other->repeat != nullptr && other->repeat->before == graph;
  });
}

Result<uint32_t> FindGraph(const Plan& plan, const std::string& name, const char* flag) {
  std::vector<std::string> names;
  uint32_t last = 0;
  for (uint32_t i = 0; i < plan.graphs.size(); ++i) {
    if (!name.empty() && plan.graphs[i]->name == name) return i;
    if (IsBefore(plan, i)) continue;
    names.push_back(plan.graphs[i]->name);
    last = i;
  }
  if (name.empty() && names.size() == 1) return last;
  const auto wrong = [](std::string why) { return Status(StatusCode::kInvalid, std::move(why)); };
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (names.empty()) return wrong("the plan has no graph");
  if (name.empty()) {
    return wrong(fmt::format("there are several graphs; pick one with {}: {}", flag, all));
  }
  return wrong(fmt::format("{} {}: there is no such graph{}; there are {}", flag, name,
                           DidYouMeanHint(name, names), all));
}

}  // namespace cgraph::plan
