// `bench/schedule buffers FILE.csv...`: packing problems in MiniMalloc's form, columns id, lower,
// upper (half-open) and size, solved by the offset assignment that gives a plan's slots their
// offsets. A file is an instance; NAME.CAPACITY.csv states its capacity, and the search ends when
// that is kept.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <vector>

#include "bench/schedule_harness/commands.h"
#include "bench/schedule_harness/csv.h"
#include "compiler/schedule/offsets/offset_assignment.h"

namespace cgraph::bench {
namespace {

constexpr int64_t kCapacity = 1 << 20;  // of the published instances
constexpr int64_t kMostTime = int64_t{1} << 60;
constexpr int64_t kMostSize = int64_t{1} << 46;  // what a plan may have; the sum of all, too

struct BuffersFlags {
  std::vector<std::string> files;
  int64_t capacity = 0;
  int64_t effort = int64_t{1} << 35;
};

struct Instance {
  std::string name;
  int64_t capacity = 0;  // 0: not stated
  schedule::OffsetProblem problem;
};

// Reads the capacity from NAME.CAPACITY.csv.
void ReadName(const std::string& path, Instance& instance) {
  const std::filesystem::path stem = std::filesystem::path(path).stem();
  const std::string last = stem.extension();
  instance.name = stem;
  const bool number = last.size() > 1 && last.size() < 16 &&
                      last.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!number) return;
  instance.name = stem.stem();
  instance.capacity = std::stoll(last.substr(1));
}

Result<Instance> ReadInstance(const std::string& path) {
  Result<Csv> csv = ReadCsv(path);
  if (!csv.ok()) return csv.status();
  std::array<size_t, 3> columns;
  constexpr std::array<const char*, 3> kNames = {"lower", "upper", "size"};
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto found = csv->Column(kNames[i]);
    if (!found) {
      return Status(StatusCode::kInvalid,
                    fmt::format("{}: the first line names no column `{}`", path, kNames[i]));
    }
    columns[i] = *found;
  }
  Instance instance;
  ReadName(path, instance);
  int64_t sum = 0;
  for (size_t row = 0; row < csv->rows.size(); ++row) {
    const auto begin = csv->Whole(row, columns[0], kMostTime);
    const auto end = csv->Whole(row, columns[1], kMostTime);
    const auto bytes = csv->Whole(row, columns[2], kMostSize - sum);
    for (const auto* field : {&begin, &end, &bytes}) {
      if (!field->ok()) return field->status();
    }
    if (*begin >= *end) {
      return Status(StatusCode::kInvalid,
                    fmt::format("{}:{}: lower {} is not below upper {}; lifetimes are half-open",
                                path, csv->lines[row], *begin, *end));
    }
    sum += *bytes;
    instance.problem.items.push_back({*bytes, *begin, *end});
  }
  return instance;
}

ExitCode Run(const BuffersFlags& flags) {
  fmt::print("instance,height,capacity,seconds\n");
  for (const std::string& file : flags.files) {
    const Result<Instance> instance = ReadInstance(file);
    if (!instance.ok()) return Fail(instance.status());
    const int64_t stated = flags.capacity > 0 ? flags.capacity : instance->capacity;
    const auto begin = std::chrono::steady_clock::now();
    const schedule::OffsetAssignment assignment =
        schedule::Pack(instance->problem, {.capacity = stated, .effort = flags.effort});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fmt::print("{},{},{},{:.3f}\n", instance->name, assignment.height,
               stated > 0 ? stated : kCapacity, took.count());
    std::fflush(stdout);
  }
  return kSuccess;
}

}  // namespace

void AddBuffersCommand(CLI::App& app, ExitCode& exit_code) {
  auto flags = std::make_shared<BuffersFlags>();
  CLI::App* command = app.add_subcommand(
      "buffers", "Packs buffers of known lifetimes: instance,height,capacity,seconds");
  command->add_option("files", flags->files, "CSV with columns id, lower, upper, size")->required();
  command->add_option("--capacity", flags->capacity,
                      "A height that will do; else what NAME.CAPACITY.csv says, else the least")
      ->check(CLI::PositiveNumber);
  command->add_option("--effort", flags->effort, "Items that the search may look at, some 10^9/s")
      ->check(CLI::NonNegativeNumber);
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

}  // namespace cgraph::bench
