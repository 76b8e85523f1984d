#include "runtime/engine/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/death.h"
#include "runtime/base/sync/cores.h"
#include "runtime/plan/prove.h"

namespace cgraph::engine {

uint32_t Ranks::WorkersOf(const plan::Plan& plan) const {
  if (options_.workers != 0) return options_.workers;
  return std::min(std::max(1u, plan.workers), Cores());
}

void Ranks::Deal(plan::Plan& plan) const { plan::Deal(plan, WorkersOf(plan)); }

LoadContext Ranks::Context() {
  LoadContext context{.options = options_};
  context.patience = LoadPatience();
  return context;
}

void Ranks::Configure(Workers::Settings& settings) { settings.cores = Cores(); }

std::chrono::nanoseconds Ranks::LoadPatience() const {
  // A rank may take so long to load a plan, at least: time-outs are about executions.
  constexpr std::chrono::seconds kLeast(60);
  if (options_.timeout.count() == 0 || SomeRankHangs()) return options_.timeout;
  return std::max<std::chrono::nanoseconds>(options_.timeout, kLeast);
}

std::string Ranks::TextOf(uint32_t rank) const {
  const auto process = ProcessOf(rank);
  if (!process) return fmt::format("rank {}", rank);
  return fmt::format("rank {}: {}", rank, process->Text());
}

std::pair<uint64_t, uint64_t> Ranks::WeightBytesOf(uint32_t rank) const {
  if (rank != loaded_.rank || loaded_.kernels == nullptr) return {};
  return {loaded_.kernels->weights().read_bytes(), loaded_.kernels->weights().sent_bytes()};
}

std::vector<Engine::Stats::Rank> Ranks::Stats() const {
  std::vector<Engine::Stats::Rank> all;
  for (uint32_t rank = 0; rank < loaded_.ranks; ++rank) {
    auto process = ProcessOf(rank);
    if (!process) return {};
    const auto [read, sent] = WeightBytesOf(rank);
    all.push_back({process->number, std::move(process->host), loaded_.DevicesOf(rank), read, sent});
  }
  return all;
}

}  // namespace cgraph::engine
