#include "platform/process/placement_settings.h"

#include "autoscaler/placement/core/algorithms.h"
#include "common/yaml/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::local {
namespace {

using placement::AlgorithmRef;
using placement::Direction;
using placement::MigrationPolicy;
using placement::MoveCause;

constexpr std::size_t kPoliciesMax = 16;
constexpr std::size_t kPolicyNameMax = 80;

const std::vector<std::string> kPolicyKeys{"name", "mode", "select", "triggers", "algorithms"};
const std::vector<std::string> kAlgorithmKeys{"name", "weight", "direction", "quantum"};

constexpr std::array kModes{MigrationPolicy::Mode::order, MigrationPolicy::Mode::scoring};
constexpr std::array kSelects{MigrationPolicy::Select::fewest,
                              MigrationPolicy::Select::policy_first};
constexpr std::array kTriggers{MoveCause::full, MoveCause::drain, MoveCause::home};
constexpr std::array kDirections{Direction::low_first, Direction::high_first};

class PolicyReading {
 public:
  explicit PolicyReading(YamlReader& reader) : reader_(reader) {}

  MigrationPolicy read(const YamlEntry& item) {
    MigrationPolicy policy;
    lines_.clear();
    bool named = false;
    bool whole = item.value.IsMap();
    for (const YamlEntry& field :
         reader_.known_entries(item.value, item.line, item.key, kPolicyKeys)) {
      named = named || field.key == "name";
      whole = read_field(field, policy) && whole;
    }
    if (!named && item.value.IsMap())
      reader_.fail_missing(item.line, "name", "a policy has no `name`", "give it one");
    if (named && whole) judge(item.line, policy);
    return policy;
  }

 private:
  // False: what it says is wrong as text.
  bool read_field(const YamlEntry& field, MigrationPolicy& policy) {
    if (field.key == "name") return read_name(field, policy);
    if (field.key == "mode") return read_word(field, kModes, policy.mode);
    if (field.key == "select") return read_word(field, kSelects, policy.select);
    if (field.key == "triggers") return read_triggers(field, policy);
    return read_algorithms(field, policy);
  }

  bool read_name(const YamlEntry& field, MigrationPolicy& policy) {
    auto name = reader_.text(field);
    if (!name) return false;
    if (name->empty() || name->size() > kPolicyNameMax) {
      reader_.fail(field.line, "`name` of a policy is empty, or too long",
                   fmt::format("use 1 to {} bytes", kPolicyNameMax));
      return false;
    }
    if (*name == placement::default_policy().name) {
      reader_.fail(field.line, fmt::format("`{}` is the policy that is built in", *name),
                   "give yours another name");
      return false;
    }
    policy.name = std::move(*name);
    return true;
  }

  template <class Values, class T>
  bool read_word(const YamlEntry& field, const Values& values, T& target) {
    const auto text = reader_.text(field);
    if (!text) return false;
    std::string known;
    for (const T value : values) {
      if (*text == name(value)) {
        target = value;
        return true;
      }
      known += (known.empty() ? "" : ", ") + std::string{name(value)};
    }
    reader_.fail(field.line,
                 fmt::format("`{}` is `{}`", field.key, text->substr(0, kPolicyNameMax)),
                 "use one of " + known);
    return false;
  }

  bool read_triggers(const YamlEntry& field, MigrationPolicy& policy) {
    policy.triggers.clear();
    bool right = true;
    for (const YamlEntry& item : reader_.items(field, kTriggers.size())) {
      MoveCause cause = MoveCause::full;
      right = read_word(item, kTriggers, cause) && right;
      policy.triggers.push_back(cause);
    }
    if (right && policy.triggers.empty() && field.value.IsSequence()) {
      reader_.fail(field.line, "`triggers` is empty, so the policy is never used",
                   "leave it out for all of full, drain, home");
      return false;
    }
    return right;
  }

  bool read_algorithms(const YamlEntry& field, MigrationPolicy& policy) {
    bool right = true;
    for (const YamlEntry& item : reader_.items(field, placement::kAlgorithmsMax)) {
      auto algorithm = read_algorithm(item);
      right = right && algorithm.has_value();
      if (!algorithm) continue;
      policy.algorithms.push_back(std::move(*algorithm));
      lines_.push_back(item.line);
    }
    return right && field.value.IsSequence();
  }

  std::optional<AlgorithmRef> read_algorithm(const YamlEntry& item) {
    if (!item.value.IsMap()) {
      reader_.fail(item.line, "an item of `algorithms` must be a mapping",
                   "write it like {name: in-flight}");
      return std::nullopt;
    }
    AlgorithmRef algorithm;
    bool named = false;
    for (const YamlEntry& field :
         reader_.known_entries(item.value, item.line, "algorithms", kAlgorithmKeys)) {
      if (field.key == "name") {
        named = true;
        if (auto name = reader_.text(field)) algorithm.name = std::move(*name);
      } else if (field.key == "weight") {
        if (const auto weight = reader_.integer(field, 0, placement::kWeightMax))
          algorithm.weight = *weight;
      } else if (field.key == "quantum") {
        if (const auto quantum = reader_.integer(field, 1, placement::kRateMax))
          algorithm.quantum = *quantum;
      } else {
        Direction direction = Direction::low_first;
        if (read_word(field, kDirections, direction)) algorithm.direction = direction;
      }
    }
    if (!named)
      reader_.fail_missing(item.line, "name", "an algorithm has no `name`", "give it one");
    if (algorithm.name.empty()) return std::nullopt;
    return algorithm;
  }

  void judge(int line, const MigrationPolicy& policy) {
    for (auto& wrong : placement::check(policy)) {
      reader_.fail(wrong.algorithm ? lines_[*wrong.algorithm] : line, std::move(wrong.problem.what),
                   std::move(wrong.problem.fix));
    }
  }

  YamlReader& reader_;
  std::vector<int> lines_;  // of the algorithms
};

void write_algorithm(YAML::Emitter& out, const AlgorithmRef& algorithm) {
  const AlgorithmRef plain;
  out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << algorithm.name;
  if (algorithm.weight != plain.weight)
    out << YAML::Key << "weight" << YAML::Value << algorithm.weight;
  if (algorithm.direction) {
    out << YAML::Key << "direction" << YAML::Value << std::string{name(*algorithm.direction)};
  }
  if (algorithm.quantum != plain.quantum)
    out << YAML::Key << "quantum" << YAML::Value << algorithm.quantum;
  out << YAML::EndMap;
}

}  // namespace

std::vector<MigrationPolicy> read_policies(YamlReader& reader, const YamlEntry& entry) {
  std::vector<MigrationPolicy> policies;
  PolicyReading reading(reader);
  for (const YamlEntry& item : reader.items(entry, kPoliciesMax)) {
    MigrationPolicy policy = reading.read(item);
    const bool twice = std::any_of(policies.begin(), policies.end(), [&](const auto& other) {
      return !policy.name.empty() && other.name == policy.name;
    });
    if (twice)
      reader.fail(item.line, fmt::format("two policies are named `{}`", policy.name), "rename one");
    policies.push_back(std::move(policy));
  }
  return policies;
}

std::string format_policies(std::span<const MigrationPolicy> policies) {
  if (policies.empty()) return {};
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out.SetMapFormat(YAML::Flow);
  out << YAML::BeginSeq;
  for (const MigrationPolicy& policy : policies) {
    out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << policy.name;
    out << YAML::Key << "mode" << YAML::Value << std::string{name(policy.mode)};
    out << YAML::Key << "select" << YAML::Value << std::string{name(policy.select)};
    out << YAML::Key << "triggers" << YAML::Value << YAML::BeginSeq;
    for (const MoveCause cause : policy.triggers) out << std::string{name(cause)};
    out << YAML::EndSeq << YAML::Key << "algorithms" << YAML::Value << YAML::BeginSeq;
    for (const AlgorithmRef& algorithm : policy.algorithms) write_algorithm(out, algorithm);
    out << YAML::EndSeq << YAML::EndMap;
  }
  out << YAML::EndSeq;
  return {out.c_str(), out.size()};
}

}  // namespace sluice::local
