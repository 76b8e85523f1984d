#include "runtime/command/outcome/outcome.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/text.h"

namespace cgraph::command {
namespace {

std::string LatencyText(uint64_t ns) { return TimeText(ns * 1000); }

}  // namespace

void Measurements::AddFailure(const std::string& message, uint64_t execution) {
  ++errors;
  for (Failure& failure : failures) {
    if (failure.message != message) continue;
    ++failure.count;
    return;
  }
  if (failures.size() == kMessages) ++other_failures;
  else failures.push_back({message, 1, execution});
}

std::string EndedEarlyText(const Outcome& outcome) {
  if (outcome.rounds) {
    return fmt::format("{} {} over", Counted(outcome.rounds->made, "round"),
                       outcome.rounds->made == 1 ? "is" : "are");
  }
  const Measurements& m = outcome.measurements;
  if (m.wanted <= 1) return "";
  std::string text = fmt::format("{} of {} {} {}", m.executions, Counted(m.wanted, "execution"),
                                 m.executions == 1 ? "is" : "are",
                                 m.errors == 0 ? "complete" : "over");
  if (m.errors > 0) {
    text += fmt::format(", {} of them {} failed", m.errors, m.errors == 1 ? "has" : "have");
  }
  if (m.lost() == 0) return text;
  const std::string which = m.executions == 0 ? "first" : "next";
  return text + (m.lost() == 1 ? fmt::format(", the {} one is lost", which)
                               : fmt::format(", the {} {} are lost", which, m.lost()));
}

std::string RateText(double per_second) {
  return per_second < 100 ? fmt::format("{:.3g}", per_second) : fmt::format("{:.0f}", per_second);
}

std::string SummaryText(const Measurements& m) {
  const std::string lost = m.lost() == 0 ? "" : fmt::format("{} lost, ", m.lost());
  std::string text =
      fmt::format("{}, {}, {}{}, {} executions/s", Counted(m.executions, "execution"),
                  Counted(m.errors, "error"), lost, TimeText(m.wall_ns * 1000),
                  RateText(m.per_second()));
  if (m.latencies.count() > 0) {
    text +=
        fmt::format("; latency p50 {}, p90 {}, p99 {}, max {}",
                    LatencyText(m.latencies.Quantile(0.5)), LatencyText(m.latencies.Quantile(0.9)),
                    LatencyText(m.latencies.Quantile(0.99)), LatencyText(m.latencies.max()));
  }
  return text;
}

nlohmann::ordered_json SummaryJson(const Measurements& m) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const Failure& failure : m.failures) {
    failures.push_back({{"message", failure.message},
                        {"count", failure.count},
                        {"first", failure.first}});
  }
  // Without a successful execution there is no latency.
  nlohmann::ordered_json latency;
  if (m.latencies.count() > 0) {
    latency = {{"p50", m.latencies.Quantile(0.5)},
               {"p90", m.latencies.Quantile(0.9)},
               {"p99", m.latencies.Quantile(0.99)},
               {"max", m.latencies.max()}};
  }
  return {{"executions", m.executions},
          {"errors", m.errors},
          {"lost", m.lost()},
          {"failures", failures},
          {"other_failures", m.other_failures},
          {"seconds", static_cast<double>(m.wall_ns) / 1e9},
          {"executions_per_second", m.per_second()},
          {"latency_ns", latency}};
}

}  // namespace cgraph::command
