#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/kinds/native.h"
#include "runtime/base/text.h"
#include "runtime/command/child.h"
#include "runtime/command/messages.h"
#include "runtime/command/phases.h"
#include "runtime/device/tensor.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "runtime/plan/load.h"

namespace cgraph::command {
namespace {

namespace fs = std::filesystem;

// How an execution is ordered, and how a message says it.
struct Order {
  const char* schedule;  // nullptr: as it is scheduled
  const char* text;
};
constexpr Order kOrders[] = {{"program", "in program order"},
                             {"reversed", "in the opposite order"},
                             {nullptr, "as it is scheduled"}};

// Folder: files of the executions, which go with it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "cgraph-effects-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  const fs::path& path() const { return path_; }
  std::string Of(size_t order, const std::string& file) const {
    return (path_ / fmt::format("{}.{}", order, file)).string();
  }

 private:
  fs::path path_;
};

// Returns the words of this command for one order.
std::vector<std::string> LineOf(int argc, char** argv, size_t order, const Folder& folder,
                                const std::vector<std::string>& outputs) {
  std::vector<std::string> line = {"/proc/self/exe"};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--check-effects") continue;
    const bool replaced = kOrders[order].schedule != nullptr;
    if (replaced && word.starts_with("--schedule=")) continue;
    if (replaced && word == "--schedule") {
      ++i;
      continue;
    }
    line.emplace_back(word);
  }
  if (kOrders[order].schedule != nullptr) {
    line.insert(line.end(), {"--schedule", kOrders[order].schedule});
  }
  line.insert(line.end(), {"-q", "--save-state", folder.Of(order, "safetensors")});
  for (size_t i = 0; i < outputs.size(); ++i) {
    line.insert(line.end(), {"--output", fmt::format("{}={}", outputs[i],
                                                     folder.Of(order, fmt::format("{}.npy", i)))});
  }
  return line;
}

// Executes; returns the exit code, after which the execution has said what is wrong.
ExitCode ExecuteIn(const std::vector<std::string>& line, const Options& options, Signals& signals) {
  int status = 0;
  if (const int error = RunChild(line, {}, signals, status); error != 0) {
    return Report(options, kEnvironment,
                  fmt::format("cannot start {} again: {}", line[0], std::strerror(error)));
  }
  return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : kFailure;
}

// By how much sums in another order may differ, of the greatest element.
double ToleranceOf(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f64: return 1e-11;
    case plan::DType::f32: return 1e-4;
    default: return 2e-2;  // f16, bf16
  }
}

// Comparison: of what two orders have made.
class Comparison {
 public:
  // Notes a tensor that both have; `what` names it.
  void Add(const std::string& what, const files::Array& first, const files::Array& second) {
    ++count_;
    const bool alike = first.dtype == second.dtype && first.dims == second.dims;
    if (alike && first.bytes == second.bytes) return;
    if (!alike || !plan::IsFloat(first.dtype)) {
      Differ(what, "its bytes are others");
      return;
    }
    const double apart = Apart(first, second);
    const std::string by = fmt::format("{:.1e} of the greatest element", apart);
    if (apart <= ToleranceOf(first.dtype)) rounded_.push_back(fmt::format("{} by {}", what, by));
    else Differ(what, "up to " + by);
  }
  // Notes what an object keeps, in a form that only its class knows.
  void AddObject(const std::string& what, const files::Array& first, const files::Array& second) {
    ++count_;
    if (first.bytes != second.bytes) objects_.push_back(what);
  }

  size_t count() const { return count_; }
  const std::vector<std::string>& rounded() const { return rounded_; }
  const std::vector<std::string>& objects() const { return objects_; }
  const std::string& wrong() const { return wrong_; }  // the first; empty: none

 private:
  void Differ(const std::string& what, const std::string& how) {
    if (wrong_.empty()) wrong_ = fmt::format("{} ({})", what, how);
  }

  static double Apart(const files::Array& first, const files::Array& second) {
    const auto tensor_of = [](const files::Array& array) {
      device::Tensor tensor{};
      tensor.data = const_cast<uint8_t*>(array.bytes.data());
      tensor.dtype = array.dtype;
      return tensor;
    };
    const device::Tensor a = tensor_of(first), b = tensor_of(second);
    const auto bytes = static_cast<int64_t>(first.bytes.size());
    const int64_t count = bytes / plan::TraitsOf(first.dtype).bytes;
    double most = 0, greatest = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double x = device::ElementAsDouble(a, i), y = device::ElementAsDouble(b, i);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x != y && !(std::isfinite(x) && std::isfinite(y))) return HUGE_VAL;
      if (std::isfinite(x)) greatest = std::max({greatest, std::abs(x), std::abs(y)});
      if (x != y) most = std::max(most, std::abs(x - y));
    }
    return most == 0 ? 0 : most / greatest;
  }

  size_t count_ = 0;
  std::vector<std::string> rounded_, objects_;
  std::string wrong_;
};

Result<files::Array> ReadTensor(const files::Safetensors& file, const std::string& name) {
  const files::Safetensors::Entry& entry = file.entries().at(name);
  files::Array array{entry.dtype, entry.dims, std::vector<uint8_t>(entry.bytes)};
  const std::vector<int64_t> first(entry.dims.size(), 0);
  CGRAPH_RETURN_IF_ERROR(file.Read(name, first, entry.dims, array.bytes));
  return array;
}

Status CompareStates(const Folder& folder, size_t order, Comparison& comparison) {
  auto first = files::Safetensors::Open(folder.Of(0, "safetensors"));
  auto second = files::Safetensors::Open(folder.Of(order, "safetensors"));
  if (!first.ok()) return first.status();
  if (!second.ok()) return second.status();
  for (const auto& [name, entry] : (*first)->entries()) {
    auto a = ReadTensor(**first, name);
    if (!a.ok()) return a.status();
    auto b = ReadTensor(**second, name);
    if (!b.ok()) return b.status();
    if (name.ends_with(kNativeObjectState)) {
      comparison.AddObject(fmt::format("`{}`", name), *a, *b);
    } else {
      comparison.Add(fmt::format("the state `{}`", name), *a, *b);
    }
  }
  return Status::Ok();
}

}  // namespace

ExitCode CheckEffects(const Options& options, int argc, char** argv, Signals& signals) {
  const plan::PlanOrExit loaded = LoadPlan(options, signals);
  if (loaded.plan == nullptr) return loaded.exit_code;
  const Result<uint32_t> graph =
      plan::FindGraph(*loaded.plan, options.graphs.empty() ? "" : options.graphs[0]);
  if (!graph.ok()) return Fail(options, kUsage, graph.status().message());
  std::vector<std::string> outputs;
  const plan::Graph& described = *loaded.plan->graphs[*graph];
  for (const auto& port : described.outputs) {
    if (described.repeat && outputs.size() == described.repeat->outputs) break;  // of rounds alone
    outputs.push_back(port->name);
  }
  const Folder folder;
  if (folder.path().empty()) {
    return Fail(options, kEnvironment, fmt::format("cannot make a folder in {}: {}",
                                                   fs::temp_directory_path().string(),
                                                   std::strerror(errno)));
  }
  Comparison comparison;
  for (size_t order = 0; order < std::size(kOrders); ++order) {
    const ExitCode code = ExecuteIn(LineOf(argc, argv, order, folder, outputs), options, signals);
    if (signals.interrupted()) return Fail(options, kInterrupted, "interrupted");
    if (code != kSuccess) {
      return Fail(options, code, fmt::format("--check-effects: it fails {}", kOrders[order].text));
    }
    if (order == 0) continue;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto first = files::ReadNpy(folder.Of(0, fmt::format("{}.npy", i)));
      const auto second = files::ReadNpy(folder.Of(order, fmt::format("{}.npy", i)));
      for (const auto* read : {&first, &second}) {
        if (!read->ok()) return Fail(options, kEnvironment, read->status().message());
      }
      comparison.Add(fmt::format("the output `{}`", outputs[i]), *first, *second);
    }
    if (const Status read = CompareStates(folder, order, comparison); !read.ok()) {
      return Fail(options, kEnvironment, read.message());
    }
    if (comparison.wrong().empty()) continue;
    return Fail(options, kFailure,
                fmt::format("--check-effects: {} differs between program order and the execution "
                            "{}; `reads object`, `adds object` and `keyed by` allow calls to be "
                            "exchanged, and here one changes what another reads: write `writes "
                            "object`, or no clause",
                            comparison.wrong(), kOrders[order].text));
  }
  if (options.quiet) return kSuccess;
  std::string text = fmt::format("cgrun: effects: the same {} in three orders",
                                 Counted(comparison.count() / 2, "result"));
  if (!comparison.rounded().empty()) {
    text += fmt::format(", but for {}, as sums in another order differ",
                        fmt::join(comparison.rounded(), ", "));
  }
  if (!comparison.objects().empty()) {
    text += fmt::format("; bytes of objects differ, which only their classes can compare: {}",
                        fmt::join(comparison.objects(), ", "));
  }
  Say(text + "\n");
  return kSuccess;
}

}  // namespace cgraph::command
