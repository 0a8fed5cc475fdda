#include "platform/process/traffic.h"

#include "common/json/read.h"
#include "common/values/dns_label.h"
#include "common/values/whole_number.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/service_spec.h"
#include <algorithm>
#include <set>

namespace sluice::local {
namespace {

constexpr std::size_t kHostLabelMax = 63;
// `latestRevision` of a document, and near to what a command calls it.
constexpr std::string_view kLatestWord = "latest";

std::string place_of_target(const TrafficTarget& target, const std::string& service) {
  return target.place.empty() ? "service " + service + ": " : target.place + ": ";
}

std::string shown_revision(const TrafficTarget& target) {
  return target.revision.empty() ? std::string{kLatestRevision} : target.revision;
}

// `REV=VALUE`; neither is empty.
std::optional<std::pair<std::string, std::string>> equation_halves(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    return std::nullopt;
  return std::pair{std::string{text.substr(0, equals)}, std::string{text.substr(equals + 1)}};
}

// The revision that a word of the command names: empty for the latest.
std::string revision_named(const Traffic& present, const std::string& word) {
  if (word == kLatestRevision) return {};
  const auto tagged = std::find_if(present.begin(), present.end(),
                                   [&word](const auto& target) { return target.tag == word; });
  return tagged == present.end() ? word : tagged->revision;
}

// In an entry that the revision has already, if one is free.
void tag_revision(Traffic& traffic, const std::string& revision, const std::string& tag) {
  const auto free = std::find_if(traffic.begin(), traffic.end(), [&revision](const auto& target) {
    return target.revision == revision && target.tag.empty();
  });
  if (free == traffic.end()) {
    traffic.push_back({revision, 0, tag});
  } else {
    free->tag = tag;
  }
}

}  // namespace

std::string revision_name(const std::string& service, int number) {
  return fmt::format("{}-{:05}", service, number);
}

int revision_number(const std::string& service, const std::string& revision) {
  if (revision.size() <= service.size() + 1 || !revision.starts_with(service)) return 0;
  const auto number = whole_number<int>(std::string_view{revision}.substr(service.size() + 1), 1);
  return number && revision_name(service, *number) == revision ? *number : 0;
}

std::string long_name(const std::string& service, const std::string& revision) {
  return service + ":" + revision;
}

std::string short_name(const std::string& name) {
  return name.substr(name.rfind(':') + 1);
}

RevisionShares shares_of(const Traffic& traffic, const std::string& latest) {
  RevisionShares shares;
  if (traffic.empty()) shares[latest].percent = 100;
  for (const TrafficTarget& target : traffic) {
    if (target.percent == 0 && target.tag.empty()) continue;
    RevisionShare& share = shares[target.revision.empty() ? latest : target.revision];
    share.percent += target.percent;
    if (!target.tag.empty()) share.tags.push_back(target.tag);
  }
  return shares;
}

bool follows_latest(const Traffic& traffic, std::string_view newest) {
  return traffic.empty() ||
         std::any_of(traffic.begin(), traffic.end(), [newest](const auto& target) {
           return target.percent > 0 && (target.revision.empty() || target.revision == newest);
         });
}

bool names_revision(const Traffic& traffic, std::string_view revision) {
  return std::any_of(traffic.begin(), traffic.end(),
                     [revision](const auto& target) { return target.revision == revision; });
}

std::optional<Problem> check_traffic(const Traffic& traffic, const std::string& service) {
  if (traffic.empty()) return std::nullopt;
  if (traffic.size() > kTrafficTargetsMax) {
    return Problem{fmt::format("{}`traffic` has {} entries",
                               place_of_target(traffic.front(), service), traffic.size()),
                   fmt::format("{} are the most", kTrafficTargetsMax)};
  }
  std::int32_t sum = 0;
  std::set<std::string> tags;
  for (const TrafficTarget& target : traffic) {
    sum += target.percent;
    if (target.tag.empty()) continue;
    if (!is_dns_label(target.tag)) {
      return Problem{fmt::format("{}tag `{}` is not a DNS label", place_of_target(target, service),
                                 target.tag.substr(0, 80)),
                     "use a-z, 0-9 and -, beginning and ending with a letter or digit"};
    }
    if (target.tag.size() + 1 + service.size() > kHostLabelMax) {
      return Problem{fmt::format("{}the host {}-{}.localhost of tag `{}` is too long",
                                 place_of_target(target, service), target.tag, service, target.tag),
                     fmt::format("use a tag of at most {} letters",
                                 kHostLabelMax - std::min(kHostLabelMax, service.size() + 1))};
    }
    // A command that names a revision would reach the one with the tag.
    if (target.tag == kLatestWord || revision_number(service, target.tag) != 0) {
      return Problem{fmt::format("{}tag `{}` names a revision already",
                                 place_of_target(target, service), target.tag),
                     "choose another tag, such as stable or canary"};
    }
    if (!tags.insert(target.tag).second) {
      return Problem{
          fmt::format("{}tag `{}` is used twice", place_of_target(target, service), target.tag),
          "give each tag to one revision"};
    }
  }
  if (sum == 100) return std::nullopt;
  return Problem{fmt::format("{}the percentages of `traffic` add up to {}, not to 100",
                             place_of_target(traffic.front(), service), sum),
                 "change them so that they add up to 100"};
}

std::optional<Problem> check_names(const Traffic& traffic, const std::string& service,
                                   const std::vector<std::string>& known) {
  for (const TrafficTarget& target : traffic) {
    if (target.revision.empty()) continue;
    if (std::find(known.begin(), known.end(), target.revision) != known.end()) continue;
    return Problem{
        fmt::format("{}revision {} of service {} is not kept",
                    target.place.empty() ? "" : target.place + ": ", target.revision, service),
        fmt::format("name {}{}", kLatestRevision,
                    known.empty() ? "" : fmt::format(" or {}", fmt::join(known, ", ")))};
  }
  return std::nullopt;
}

Result<std::vector<std::pair<std::string, std::int32_t>>, Problem> parse_percents(
    std::string_view text) {
  std::vector<std::pair<std::string, std::int32_t>> percents;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto halves = equation_halves(text.substr(0, comma));
    const auto percent = halves ? whole_number<std::int32_t>(halves->second) : std::nullopt;
    if (!percent || *percent < 0 || *percent > 100) {
      return Problem{fmt::format("`{}` is not a share", text.substr(0, comma)),
                     "write REVISION=PERCENT with 0 to 100, such as app-00001=90,@latest=10"};
    }
    percents.emplace_back(halves->first, *percent);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return percents;
}

Result<std::pair<std::string, std::string>, Problem> parse_tag(std::string_view text) {
  auto halves = equation_halves(text);
  if (halves) return std::move(*halves);
  return Problem{fmt::format("`{}` is not REVISION=TAG", text),
                 "write REVISION=TAG, such as app-00001=stable"};
}

Result<Traffic, Problem> changed_traffic(const Traffic& present, const TrafficChange& change) {
  Traffic changed;
  if (change.percents.empty()) {
    changed = present;
    // What was not written down is written down before something is added to it.
    if (changed.empty()) changed.push_back({.revision = {}, .percent = 100});
  } else {
    for (const auto& [word, percent] : change.percents) {
      if (percent > 0) changed.push_back({revision_named(present, word), percent});
    }
    for (const TrafficTarget& target : present) {
      if (!target.tag.empty()) tag_revision(changed, target.revision, target.tag);
    }
  }
  const auto untag = [&changed](const std::string& tag) {
    bool found = false;
    for (TrafficTarget& target : changed) {
      if (target.tag != tag) continue;
      target.tag.clear();
      found = true;
    }
    return found;
  };
  for (const std::string& tag : change.untags) {
    if (!untag(tag)) {
      std::vector<std::string> tags;
      for (const TrafficTarget& target : present) {
        if (!target.tag.empty()) tags.push_back(target.tag);
      }
      return Problem{
          "no revision has the tag " + tag,
          tags.empty() ? "there are no tags" : fmt::format("tags: {}", fmt::join(tags, ", "))};
    }
  }
  std::set<std::string> given;
  for (const auto& [word, tag] : change.tags) {
    if (!given.insert(tag).second) {
      return Problem{"tag " + tag + " is given twice", "give each tag to one revision"};
    }
    const std::string revision = revision_named(present, word);
    untag(tag);
    tag_revision(changed, revision, tag);
  }
  std::erase_if(changed, [](const TrafficTarget& target) {
    return target.percent == 0 && target.tag.empty();
  });
  for (TrafficTarget& target : changed) target.place.clear();
  return changed;
}

std::vector<model::HostRule> tag_hosts(const std::string& tag, const std::string& service,
                                       const std::vector<model::HostRule>& hosts) {
  std::vector<model::HostRule> rules{
      {.host = tag + "-" + service + ".localhost", .path_prefix = {}}};
  for (const model::HostRule& rule : hosts) {
    if (!rule.path_prefix.empty() || !rule.host.starts_with(service + ".")) continue;
    model::HostRule own{.host = tag + "-" + rule.host, .path_prefix = {}};
    if (std::find(rules.begin(), rules.end(), own) == rules.end()) rules.push_back(std::move(own));
  }
  return rules;
}

std::string traffic_text(const Traffic& traffic) {
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  };
  for (const TrafficTarget& target : traffic) {
    if (target.percent > 0) add(shown_revision(target), std::to_string(target.percent));
    if (!target.tag.empty()) add(shown_revision(target), target.tag);
  }
  return traffic.empty() ? traffic_text({{.percent = 100}}) : text;
}

nlohmann::json traffic_json(const Traffic& traffic) {
  nlohmann::json entries = nlohmann::json::array();
  for (const TrafficTarget& target : traffic) {
    nlohmann::json entry{{"percent", target.percent}};
    if (target.revision.empty()) {
      entry["latestRevision"] = true;
    } else {
      entry["revisionName"] = target.revision;
    }
    if (!target.tag.empty()) entry["tag"] = target.tag;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Traffic traffic_of(const nlohmann::json& entries) {
  Traffic traffic;
  if (!entries.is_array()) return traffic;
  for (const nlohmann::json& entry : entries) {
    TrafficTarget target{.revision = reading::text(entry, "revisionName"),
                         .percent = std::clamp(reading::integer32(entry, "percent", 0), 0, 100),
                         .tag = reading::text(entry, "tag")};
    if (target.revision.empty() && !reading::flag(entry, "latestRevision")) continue;
    traffic.push_back(std::move(target));
    if (traffic.size() == kTrafficTargetsMax) break;
  }
  return traffic;
}

nlohmann::json change_json(const TrafficChange& change) {
  nlohmann::json percents = nlohmann::json::array();
  for (const auto& [revision, percent] : change.percents)
    percents.push_back({{"revision", revision}, {"percent", percent}});
  nlohmann::json tags = nlohmann::json::array();
  for (const auto& [revision, tag] : change.tags)
    tags.push_back({{"revision", revision}, {"tag", tag}});
  return {{"percents", std::move(percents)}, {"tags", std::move(tags)}, {"untags", change.untags}};
}

Result<TrafficChange, Problem> change_of(const nlohmann::json& body) {
  const std::string fix =
      R"(send {"percents":[{"revision":"@latest","percent":100}],"tags":[{"revision":"app-00001","tag":"old"}],"untags":["old"]})";
  if (!body.is_object()) return Problem{"the body is not a JSON object", fix};
  for (const auto& [key, value] : body.items()) {
    if (key != "percents" && key != "tags" && key != "untags") {
      return Problem{"unknown key " + key, fix};
    }
    if (!value.is_array() || value.size() > kTrafficTargetsMax) {
      return Problem{fmt::format("{} is not a list of at most {}", key, kTrafficTargetsMax), fix};
    }
  }
  TrafficChange change;
  for (const nlohmann::json& one : reading::array(body, "percents")) {
    const std::string revision = reading::text(one, "revision");
    const auto percent = reading::whole(one, "percent");
    if (revision.empty() || !percent || *percent < 0 || *percent > 100) {
      return Problem{"a percentage needs a revision and a whole number from 0 to 100", fix};
    }
    change.percents.emplace_back(revision, static_cast<std::int32_t>(*percent));
  }
  for (const nlohmann::json& one : reading::array(body, "tags")) {
    const std::string revision = reading::text(one, "revision");
    const std::string tag = reading::text(one, "tag");
    if (revision.empty() || tag.empty()) return Problem{"a tag needs a revision and a name", fix};
    change.tags.emplace_back(revision, tag);
  }
  change.untags = reading::strings(body, "untags");
  if (change.percents.empty() && change.tags.empty() && change.untags.empty()) {
    return Problem{"there is nothing to change", fix};
  }
  return change;
}

}  // namespace sluice::local
