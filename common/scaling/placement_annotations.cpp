#include "common/scaling/placement_annotations.h"

#include "common/values/closest_name.h"
#include "common/values/dns_label.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::string_view kAny = "any";
constexpr std::size_t kQuotedMax = 80;
constexpr std::size_t kPlacesMax = 64;
constexpr const char* kNameFix =
    "use 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Collects a wish and every problem of one set of annotations.
class Reading {
 public:
  void read(const std::string& key, const std::string& value) {
    const std::string_view name = std::string_view{key}.substr(kPlacementPrefix.size());
    for (const auto& [known, reader] : kReaders) {
      if (known != name) continue;
      (this->*reader)(key, value);
      return;
    }
    const auto meant = closest_name(key, placement_keys());
    std::string all;
    for (const std::string& each : placement_keys()) all += (all.empty() ? "" : ", ") + each;
    problems_.push_back({{key},
                         {"unknown annotation `" + key + "`",
                          meant ? "did you mean `" + *meant + "`?" : "known are " + all}});
  }

  ReadWish take() { return {std::move(wish_), std::move(problems_)}; }

  using Reader = void (Reading::*)(const std::string& key, const std::string& value);
  static const std::array<std::pair<std::string_view, Reader>, 7> kReaders;

 private:
  void reject(const std::string& key, const std::string& value, const std::string& complaint,
              std::string fix) {
    problems_.push_back(
        {{key},
         {"`" + key + "` is `" + value.substr(0, kQuotedMax) + "`" + complaint, std::move(fix)}});
  }

  void read_clusters(const std::string& key, const std::string& value) {
    std::vector<std::string> names;
    std::string_view rest = value;
    for (bool more = true; more;) {
      const auto comma = rest.find(',');
      const std::string_view name = trimmed(rest.substr(0, comma));
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
      if (!is_dns_label(name)) {
        reject(key, value, ", which is no list of names of places",
               "write names, the one liked most first, separated by commas, or any");
        return;
      }
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        reject(key, value, ", which names " + std::string{name} + " twice", "name it once");
        return;
      }
      names.emplace_back(name);
    }
    if (names.size() > kPlacesMax) {
      reject(key, value, ", which names more than 64 places", "name fewer, or write any");
      return;
    }
    wish_.any = std::erase(names, kAny) > 0;
    wish_.clusters = std::move(names);
  }

  void read_where(const std::string& key, const std::string& value) {
    auto selector = model::parse_selector(value);
    if (selector) {
      wish_.where = std::move(*selector);
    } else {
      problems_.push_back(
          {{key}, {"`" + key + "`: " + selector.error().what, selector.error().fix}});
    }
  }

  void read_pin(const std::string& key, const std::string& value) {
    if (is_dns_label(value)) {
      wish_.pin = value;
    } else {
      reject(key, value, ", which is no name of a place", kNameFix);
    }
  }

  void read_movable(const std::string& key, const std::string& value) {
    if (value == "true" || value == "false") {
      wish_.movable = value == "true";
    } else {
      reject(key, value, "", "write true or false");
    }
  }

  // Larger numbers than fit are the largest or smallest there is: only their order counts.
  void read_move_priority(const std::string& key, const std::string& value) {
    using Limits = std::numeric_limits<std::int32_t>;
    const bool negative = value.starts_with('-');
    const std::string_view digits = std::string_view{value}.substr(negative ? 1 : 0);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      reject(key, value, ", which is no whole number", "write a number like -10 or 100");
      return;
    }
    wish_.move_priority =
        whole_number<std::int32_t>(value).value_or(negative ? Limits::min() : Limits::max());
  }

  void read_application(const std::string& key, const std::string& value) {
    if (is_dns_label(value)) {
      wish_.application = value;
    } else {
      reject(key, value, ", which is no name of an application", kNameFix);
    }
  }

  void read_max_per_node(const std::string& key, const std::string& value) {
    if (const auto number = whole_number<std::int32_t>(value, 0)) {
      wish_.max_per_node = *number;
    } else {
      reject(key, value, "", "write a whole number of replicas from 1 on, or 0 for no limit");
    }
  }

  model::PlacementWish wish_;
  std::vector<AnnotationProblem> problems_;
};

const std::array<std::pair<std::string_view, Reading::Reader>, 7> Reading::kReaders{{
    {"clusters", &Reading::read_clusters},
    {"where", &Reading::read_where},
    {"pin", &Reading::read_pin},
    {"movable", &Reading::read_movable},
    {"move-priority", &Reading::read_move_priority},
    {"application", &Reading::read_application},
    {"max-per-node", &Reading::read_max_per_node},
}};

}  // namespace

ReadWish read_placement(const StringMap& annotations) {
  Reading reading;
  for (auto at = annotations.lower_bound(kPlacementPrefix);
       at != annotations.end() && at->first.starts_with(kPlacementPrefix); ++at) {
    reading.read(at->first, at->second);
  }
  return reading.take();
}

std::vector<std::string> placement_keys() {
  std::vector<std::string> keys;
  keys.reserve(Reading::kReaders.size());
  for (const auto& [name, reader] : Reading::kReaders) {
    keys.push_back(std::string{kPlacementPrefix}.append(name));
  }
  return keys;
}

}  // namespace sluice::autoscaler
