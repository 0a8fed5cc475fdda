#include "autoscaler/vectors/case_values.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace sluice::vectors {
namespace {

constexpr double kSecondsMax = 4e9;
constexpr Duration kLengthMax = std::chrono::hours{24};

}  // namespace

Duration seconds_of(const nlohmann::json& item, std::string_view key) {
  const double seconds = item.at(std::string{key}).get<double>();
  if (!(std::abs(seconds) <= kSecondsMax)) {
    throw std::runtime_error(std::string{key} + " is out of range");
  }
  return Duration{std::llround(seconds * 1e9)};
}

Duration length_of(const nlohmann::json& item, std::string_view key) {
  const Duration length = seconds_of(item, key);
  if (length < std::chrono::seconds{1} || length > kLengthMax) {
    throw std::runtime_error(std::string{key} + " is not between 1 s and a day");
  }
  return length;
}

TimePoint instant(const nlohmann::json& item, std::string_view key, std::int64_t epoch) {
  return TimePoint{std::chrono::seconds{epoch}} + seconds_of(item, key);
}

double number_or_zero(const nlohmann::json& item, std::string_view key) {
  const auto at = item.find(std::string{key});
  return at == item.end() ? 0 : at->get<double>();
}

autoscaler::StringMap strings(const nlohmann::json& item, std::string_view key) {
  autoscaler::StringMap map;
  const auto at = item.find(std::string{key});
  if (at == item.end() || at->is_null()) return map;
  for (const auto& [name, value] : at->items()) map.emplace(name, value.get<std::string>());
  return map;
}

autoscaler::Reachability reachability(const nlohmann::json& item) {
  const auto text = item.at("reachability").get<std::string>();
  if (text == "Reachable") return autoscaler::Reachability::reachable;
  if (text == "Unreachable") return autoscaler::Reachability::unreachable;
  return autoscaler::Reachability::unknown;
}

std::string element(std::string_view list, std::size_t index) {
  return std::string{list} + "[" + std::to_string(index) + "].";
}

}  // namespace sluice::vectors
