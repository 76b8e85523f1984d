#include "tests/emulation/driver/work.h"

#include <fmt/format.h>

#include <cstring>

#include "tests/emulation/grid/run_grid.h"

namespace cgraph::emulation {
namespace {

constexpr size_t kSlot = 16;  // between arguments

size_t RoundUp(size_t bytes) { return (bytes + kSlot - 1) / kSlot * kSlot; }

Range WordAt(const uint64_t* address) {
  return {reinterpret_cast<std::byte*>(const_cast<uint64_t*>(address)), sizeof(uint64_t)};
}

void Carry(const LaunchGrid& launch, uint64_t seed) {
  // The kernel may write to its copies.
  std::vector<std::byte> values = launch.arguments;
  std::vector<void*> arguments;
  size_t at = 0;
  for (const size_t bytes : launch.kernel->parameters) {
    arguments.push_back(values.data() + at);
    at += RoundUp(bytes);
  }
  RunGrid(*launch.kernel, launch.grid, launch.block, launch.shared_bytes, arguments.data(), seed);
}

void Carry(const Copy& copy, uint64_t) {
  std::memmove(copy.to.start, copy.from != nullptr ? copy.from : copy.staged.data(),
               copy.to.bytes);
}

void Carry(const Fill& fill, uint64_t) { std::memset(fill.to.start, fill.value, fill.to.bytes); }

void Carry(const WriteValue& write, uint64_t) {
  __atomic_store_n(write.address, write.value, __ATOMIC_RELEASE);
}

void Carry(const WaitForValue&, uint64_t) {}
void Carry(const RecordEvent&, uint64_t) {}
void Carry(const WaitForEvent&, uint64_t) {}
void Carry(const RunGraph&, uint64_t) {}
void Carry(const LibraryWork& work, uint64_t seed) { work.run(seed); }

std::string Name(const LaunchGrid& launch) { return "the kernel " + launch.kernel->name; }
std::string Name(const Copy& copy) { return fmt::format("a copy of {} bytes", copy.to.bytes); }
std::string Name(const Fill& fill) { return fmt::format("a fill of {} bytes", fill.to.bytes); }
std::string Name(const WriteValue& write) {
  return fmt::format("a write of {} to {}", write.value, static_cast<const void*>(write.address));
}
std::string Name(const WaitForValue& wait) {
  return fmt::format("a wait for {} at {}", wait.value, static_cast<const void*>(wait.address));
}
std::string Name(const RecordEvent&) { return "the record of an event"; }
std::string Name(const WaitForEvent&) { return "a wait for an event"; }
std::string Name(const RunGraph&) { return "a graph"; }
std::string Name(const LibraryWork& work) { return work.name; }

}  // namespace

std::string NameOf(const Work& work) {
  return std::visit([](const auto& what) { return Name(what); }, work.what);
}

std::vector<Range> RangesOf(const Work& work) {
  if (const auto* copy = std::get_if<Copy>(&work.what)) {
    if (copy->from == nullptr) return {copy->to};
    return {copy->to, {const_cast<std::byte*>(copy->from), copy->to.bytes}};
  }
  if (const auto* fill = std::get_if<Fill>(&work.what)) return {fill->to};
  if (const auto* write = std::get_if<WriteValue>(&work.what)) return {WordAt(write->address)};
  if (const auto* wait = std::get_if<WaitForValue>(&work.what)) return {WordAt(wait->address)};
  std::vector<Range> ranges;
  if (const auto* library = std::get_if<LibraryWork>(&work.what)) {
    for (const auto& [start, bytes] : library->memory) {
      ranges.push_back({static_cast<std::byte*>(const_cast<void*>(start)), bytes});
    }
  }
  return ranges;
}

std::vector<const void*> AddressesOf(const Work& work) {
  const auto* launch = std::get_if<LaunchGrid>(&work.what);
  if (launch == nullptr) return {};
  std::vector<const void*> addresses;
  for (size_t at = 0; at + sizeof(void*) <= launch->arguments.size(); at += sizeof(void*)) {
    void* address;
    std::memcpy(&address, launch->arguments.data() + at, sizeof(address));
    if (address != nullptr) addresses.push_back(address);
  }
  return addresses;
}

bool Arrived(const WaitForValue& wait) {
  const uint64_t value = __atomic_load_n(wait.address, __ATOMIC_ACQUIRE);
  switch (wait.comparison) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return value == wait.value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (value & wait.value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
      return ~(value | wait.value) != 0;
    default:
      return static_cast<int64_t>(value - wait.value) >= 0;
  }
}

void CarryOut(const Work& work, uint64_t seed) {
  std::visit([&](const auto& what) { Carry(what, seed); }, work.what);
}

}  // namespace cgraph::emulation
