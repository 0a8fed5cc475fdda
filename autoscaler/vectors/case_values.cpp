#include "autoscaler/vectors/case_values.h"

#include "common/json/read.h"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace sluice::vectors {
namespace {

using nlohmann::json;

constexpr double kSecondsMax = 4e9;
constexpr Duration kLengthMax = std::chrono::hours{24};

[[noreturn]] void refuse(std::string_view key, const char* complaint) {
  throw std::runtime_error(std::string{key} + " " + complaint);
}

const json& part_of(const json& item, std::string_view key, json::value_t type) {
  const json& part = value_of(item, key);
  if (part.type() != type) refuse(key, "is missing or of the wrong type");
  return part;
}

}  // namespace

const json& value_of(const json& item, std::string_view key) {
  if (!item.is_null() && !item.is_object()) {
    throw std::runtime_error("not an object where one is expected");
  }
  return reading::member(item, key);
}

const json& list_of(const json& item, std::string_view key) {
  return part_of(item, key, json::value_t::array);
}

const json& object_of(const json& item, std::string_view key) {
  return part_of(item, key, json::value_t::object);
}

double number(const json& item, std::string_view key) {
  const json& value = value_of(item, key);
  if (value.is_null()) return 0;
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "+Inf") return std::numeric_limits<double>::infinity();
  if (value == "-Inf") return -std::numeric_limits<double>::infinity();
  refuse(key, "is not a number");
}

std::int64_t long_count(const json& item, std::string_view key) {
  constexpr double kExactMax = 9007199254740992;
  const json& value = value_of(item, key);
  if (value.is_number_integer() && (!value.is_number_unsigned() || value <= INT64_MAX)) {
    return value.get<std::int64_t>();
  }
  const double whole = number(item, key);
  if (std::trunc(whole) != whole || std::abs(whole) > kExactMax) refuse(key, "is not whole");
  return static_cast<std::int64_t>(whole);
}

std::int32_t count(const json& item, std::string_view key) {
  const std::int64_t value = long_count(item, key);
  if (value < INT32_MIN || value > INT32_MAX) refuse(key, "does not fit 32 bits");
  return static_cast<std::int32_t>(value);
}

bool flag(const json& item, std::string_view key) {
  const json& value = value_of(item, key);
  if (value.is_null()) return false;
  if (!value.is_boolean()) refuse(key, "is not true or false");
  return value.get<bool>();
}

std::string text(const json& item, std::string_view key) {
  const json& value = value_of(item, key);
  if (value.is_null()) return {};
  if (!value.is_string()) refuse(key, "is not a string");
  return value.get<std::string>();
}

Duration seconds_of(const json& item, std::string_view key) {
  const double seconds = number(item, key);
  if (!(std::abs(seconds) <= kSecondsMax)) refuse(key, "is out of range");
  return Duration{std::llround(seconds * 1e9)};
}

Duration length_of(const json& item, std::string_view key) {
  const Duration length = seconds_of(item, key);
  if (length < std::chrono::seconds{1} || length > kLengthMax) {
    refuse(key, "is not between 1 s and a day");
  }
  return length;
}

TimePoint instant(const json& item, std::string_view key, std::int64_t epoch) {
  if (std::abs(static_cast<double>(epoch)) > kSecondsMax) {
    throw std::runtime_error("epoch_unix is out of range");
  }
  return TimePoint{std::chrono::seconds{epoch}} + seconds_of(item, key);
}

autoscaler::StringMap strings(const json& item, std::string_view key) {
  autoscaler::StringMap map;
  const json& values = value_of(item, key);
  if (values.is_null()) return map;
  if (!values.is_object()) refuse(key, "is not a map of strings");
  for (const auto& [name, value] : values.items()) map.emplace(name, text(values, name));
  return map;
}

autoscaler::Reachability reachability(const json& item) {
  const std::string name = text(item, "reachability");
  if (name == "Reachable") return autoscaler::Reachability::reachable;
  if (name == "Unreachable") return autoscaler::Reachability::unreachable;
  return autoscaler::Reachability::unknown;
}

std::vector<std::string> names_of(const json& item, std::string_view key) {
  std::vector<std::string> names;
  if (value_of(item, key).is_null()) return names;
  for (const json& name : list_of(item, key)) {
    if (!name.is_string()) refuse(key, "is not a list of strings");
    names.push_back(name.get<std::string>());
  }
  return names;
}

autoscaler::ClusterConfig zero_config(const json& item) {
  autoscaler::ClusterConfig config;
  config.allow_zero_initial_scale = flag(item, "allow_zero_initial_scale");
  config.enable_scale_to_zero = flag(item, "enable_scale_to_zero");
  config.initial_scale = count(item, "initial_scale");
  config.progress_deadline = seconds_of(item, "progress_deadline_s");
  config.scale_to_zero_grace_period = seconds_of(item, "scale_to_zero_grace_period_s");
  config.scale_to_zero_pod_retention_period =
      seconds_of(item, "scale_to_zero_pod_retention_period_s");
  config.stable_window = seconds_of(item, "stable_window_s");
  config.target_burst_capacity = number(item, "target_burst_capacity");
  return config;
}

std::string element(std::string_view list, std::size_t index) {
  return std::string{list} + "[" + std::to_string(index) + "].";
}

}  // namespace sluice::vectors
