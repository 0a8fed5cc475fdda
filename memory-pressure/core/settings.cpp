#include "memory-pressure/core/settings.h"

#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr std::array<std::pair<PolicyKind, std::string_view>, 3> kPolicies{
    {{PolicyKind::foresight, "foresight"},
     {PolicyKind::headroom, "headroom"},
     {PolicyKind::off, "off"}}};
constexpr std::array<std::pair<HoldBy, std::string_view>, 2> kHolds{
    {{HoldBy::freezer, "freezer"}, {HoldBy::quota, "quota"}}};
constexpr std::array<std::pair<Order, std::string_view>, 3> kOrders{
    {{Order::age, "age"}, {Order::usage, "usage"}, {Order::growth, "growth"}}};

constexpr double kFactorMax = 10;

std::string text(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%g", value);
  return buffer.data();
}

/// Also false for what is no number at all.
bool between(double value, double least, double most) {
  return value >= least && value <= most;
}

std::optional<Problem> check_thresholds(const PolicySettings& settings) {
  if (!between(settings.upper, 0, 1)) {
    return Problem{"--upper " + text(settings.upper) + " is not a share of the node's memory",
                   "give a number from 0 to 1"};
  }
  if (!between(settings.lower, 0, 1)) {
    return Problem{"--lower " + text(settings.lower) + " is not a share of the node's memory",
                   "give a number from 0 to 1"};
  }
  if (settings.lower >= settings.upper) {
    return Problem{
        "--lower " + text(settings.lower) + " is not below --upper " + text(settings.upper),
        "leave a few points between them, or throttling flaps"};
  }
  return std::nullopt;
}

std::optional<Problem> check_amounts(const PolicySettings& settings) {
  if (settings.step == 0 || settings.step > 1000) {
    return Problem{"--step " + std::to_string(settings.step) + " is out of range",
                   "give a number from 1 to 1000"};
  }
  if (settings.quota_millicores < kQuotaMillicoresMin ||
      settings.quota_millicores > kQuotaMillicoresMax) {
    return Problem{"--quota " + std::to_string(settings.quota_millicores) + "m is out of range",
                   "give " + std::to_string(kQuotaMillicoresMin) + "m to " +
                       std::to_string(kQuotaMillicoresMax) + "m"};
  }
  if (!(settings.overcommit_factor > 0) || !(settings.overcommit_factor <= 1)) {
    return Problem{"--overcommit-factor " + text(settings.overcommit_factor) + " is out of range",
                   "give a number above 0 and up to 1; 1 reserves for all possible growth"};
  }
  if (!between(settings.confidence, 0, kFactorMax)) {
    return Problem{"--confidence " + text(settings.confidence) + " is out of range",
                   "give 0 to 10 standard deviations; 2.5 to 3 are usual"};
  }
  if (!between(settings.brake, 0, kFactorMax)) {
    return Problem{"--brake " + text(settings.brake) + " is out of range",
                   "give 0 to 10 times the growth of one reaction"};
  }
  if (settings.reserve < 0) {
    return Problem{"--reserve " + std::to_string(settings.reserve) + " is negative",
                   "give the number of bytes to keep free"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> check(const PolicySettings& settings) {
  if (auto problem = check_thresholds(settings)) return problem;
  if (auto problem = check_amounts(settings)) return problem;
  if (settings.escalate_after <= Duration::zero()) {
    return Problem{
        "--escalate-after " + text(to_seconds(settings.escalate_after)) + "s leaves no time to act",
        "give at least one allocate and free phase of the workload"};
  }
  if (settings.sight < Duration::zero() || settings.sight > std::chrono::seconds{60}) {
    return Problem{"--sight " + text(to_seconds(settings.sight)) + "s is out of range",
                   "give 0s (by samples only) to 60s"};
  }
  if (settings.sample < std::chrono::milliseconds{10} ||
      settings.sample > std::chrono::seconds{60}) {
    return Problem{"--sample " + text(to_seconds(settings.sample)) + "s is out of range",
                   "give 10ms to 60s"};
  }
  return std::nullopt;
}

std::optional<PolicyKind> policy_named(std::string_view wanted) {
  for (const auto& [kind, text] : kPolicies) {
    if (text == wanted) return kind;
  }
  return std::nullopt;
}

std::optional<HoldBy> hold_named(std::string_view wanted) {
  for (const auto& [hold, text] : kHolds) {
    if (text == wanted) return hold;
  }
  return std::nullopt;
}

std::optional<Order> order_named(std::string_view wanted) {
  for (const auto& [order, text] : kOrders) {
    if (text == wanted) return order;
  }
  return std::nullopt;
}

std::string_view name(PolicyKind kind) {
  return kPolicies[static_cast<std::size_t>(kind)].second;
}

std::string_view name(HoldBy hold) {
  return kHolds[static_cast<std::size_t>(hold)].second;
}

std::string_view name(Order order) {
  return kOrders[static_cast<std::size_t>(order)].second;
}

}  // namespace sluice::node_agent
