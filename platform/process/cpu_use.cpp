#include "platform/process/cpu_use.h"

#include <cmath>

namespace sluice::local {
namespace {

constexpr Duration kFadesIn = std::chrono::seconds{10};
constexpr double kMillicoresOfCore = 1000;

}  // namespace

void CpuUse::note(const std::string& replica, Duration used, TimePoint now) {
  const auto [found, first] = replicas_.try_emplace(replica, Measured{.used = used, .at = now});
  if (first) return;
  Measured& measured = found->second;
  const Duration step = now - measured.at;
  const Duration more = used - measured.used;
  if (step >= Duration{0} && step < kStepLeast) return;
  measured.used = used;
  measured.at = now;
  if (step < Duration{0} || more < Duration{0}) return;
  const double rate = kMillicoresOfCore * to_seconds(more) / to_seconds(step);
  const double weight = 1 - std::exp(-to_seconds(step) / to_seconds(kFadesIn));
  const double before = measured.millicores.value_or(rate);
  measured.millicores = before + weight * (rate - before);
}

std::optional<std::int64_t> CpuUse::millicores(const std::string& replica) const {
  const auto found = replicas_.find(replica);
  if (found == replicas_.end() || !found->second.millicores) return std::nullopt;
  return std::llround(*found->second.millicores);
}

}  // namespace sluice::local
