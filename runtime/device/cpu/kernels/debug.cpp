// The kernels of std.debug: errors, delays, and a look at values.
#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/rules.h"
#include "runtime/device/tensor.h"

namespace cgraph::device {
namespace {

// Sleeps until an absolute moment, so that a signal that interrupts it does not make it longer.
void SleepFor(int64_t ms) {
  ms = std::clamp<int64_t>(ms, 0, kLongestSleepMs);
  timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1'000'000;
  if (until.tv_nsec >= 1'000'000'000) {
    until.tv_nsec -= 1'000'000'000;
    ++until.tv_sec;
  }
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

void Probe(const std::string& name, const Tensor& x) {
  const std::string elements = FormatTensor(x);
  const char* separator = elements.find('\n') == std::string::npos ? " " : "\n";
  Say(fmt::format("probe {}: {}{}{}\n", name, TensorTypeText(x), separator, elements));
}

}  // namespace

KernelResult MakeCheck(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 0));
  CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[0], DType::bool_));
  Result<std::string> message = TextAttribute(request, "message");
  if (!message.ok()) return message.status();
  return KernelOf([message = *message](std::span<const Tensor> in, std::span<const Tensor>,
                                       std::string& error) {
    if (*in[0].as<uint8_t>() != 0) return true;
    error = message;
    return false;
  });
}

KernelResult MakeSleep(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 0));
  CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[0], DType::i64));
  return KernelOf([](std::span<const Tensor> in, std::span<const Tensor>) {
    SleepFor(*in[0].as<int64_t>());
  });
}

KernelResult MakeProbe(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 0));
  Result<std::string> name = TextAttribute(request, "name");
  if (!name.ok()) return name.status();
  return KernelOf([name = *name](std::span<const Tensor> in, std::span<const Tensor>) {
    Probe(name, in[0]);
  });
}

}  // namespace cgraph::device
