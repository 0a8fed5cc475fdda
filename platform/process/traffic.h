#pragma once

#include "common/base/result.h"
#include "common/model/host_rule.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The names of the revisions of a service, and which of them get which part of its requests:
// `spec.traffic` of a document, and what `sluice traffic` chooses.
namespace sluice::local {

/// `app-00001` for revision 1 of app.
[[nodiscard]] std::string revision_name(const std::string& service, int number);

/// The number in a name that revision_name() made for `service`; 0: it made no such name.
[[nodiscard]] int revision_number(const std::string& service, const std::string& revision);

/// `app:app-00001`: what a revision is called where a service has its name.
[[nodiscard]] std::string long_name(const std::string& service, const std::string& revision);

/// The name of a revision in `name`, which may be its long_name().
[[nodiscard]] std::string short_name(const std::string& name);

/// One entry of `spec.traffic`.
struct TrafficTarget {
  std::string revision{};    ///< by name; empty: the latest one that is ready
  std::int32_t percent = 0;  ///< of the requests
  std::string tag{};         ///< it answers to TAG-SERVICE.localhost besides; empty: none
  std::string place{};       ///< `FILE:LINE` of its document, for messages; not compared

  friend bool operator==(const TrafficTarget& a, const TrafficTarget& b) {
    return a.revision == b.revision && a.percent == b.percent && a.tag == b.tag;
  }
};

/// In the order of the document. Empty: all of it to the latest revision. A revision may be in
/// several entries, which add up.
using Traffic = std::vector<TrafficTarget>;

/// Entries of one service, at most.
inline constexpr std::size_t kTrafficTargetsMax = 100;

/// What a command calls the latest revision.
inline constexpr std::string_view kLatestRevision = "@latest";

/// What one revision gets of its service's requests.
struct RevisionShare {
  std::int32_t percent = 0;
  std::vector<std::string> tags{};

  friend bool operator==(const RevisionShare&, const RevisionShare&) = default;
};

/// By name of the revision; those without any share are not in it.
using RevisionShares = std::map<std::string, RevisionShare>;

/// What `traffic` comes to while `latest` is the latest revision that is ready.
[[nodiscard]] RevisionShares shares_of(const Traffic& traffic, const std::string& latest);

/// Whether the new revision of that name gets a part of the requests as soon as it is ready.
[[nodiscard]] bool follows_latest(const Traffic& traffic, std::string_view newest);

/// Whether an entry names the revision.
[[nodiscard]] bool names_revision(const Traffic& traffic, std::string_view revision);

/// What of `traffic` is wrong in itself; `service` is its service's name. Percentages add up to
/// 100, and tags are DNS labels that are used once, are no name of a revision, and leave room for
/// the service's name.
[[nodiscard]] std::optional<Problem> check_traffic(const Traffic& traffic,
                                                   const std::string& service);

/// The first revision that is named and is none of `known`, and which ones there are.
[[nodiscard]] std::optional<Problem> check_names(const Traffic& traffic, const std::string& service,
                                                 const std::vector<std::string>& known);

/// What `sluice traffic` asks for. Revisions are named as the command has them: `@latest`, or by
/// name or tag.
struct TrafficChange {
  /// Instead of all percentages so far; empty: they stay.
  std::vector<std::pair<std::string, std::int32_t>> percents{};
  std::vector<std::pair<std::string, std::string>> tags{};  ///< revision and its new tag
  std::vector<std::string> untags{};
};

/// `REV=PERCENT[,REV=PERCENT…]` as percents of a change.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::int32_t>>, Problem> parse_percents(
    std::string_view text);

/// `REV=TAG` of a change.
[[nodiscard]] Result<std::pair<std::string, std::string>, Problem> parse_tag(std::string_view text);

/// `present` with the change. A tag that is used already moves to its new revision; one that the
/// change itself gives twice is a problem. What comes out is not checked.
[[nodiscard]] Result<Traffic, Problem> changed_traffic(const Traffic& present,
                                                       const TrafficChange& change);

/// The hosts of a tag: `TAG-SERVICE.localhost`, and `TAG-SERVICE.DOMAIN` for each of `hosts` that
/// is `SERVICE.DOMAIN` without a path.
[[nodiscard]] std::vector<model::HostRule> tag_hosts(const std::string& tag,
                                                     const std::string& service,
                                                     const std::vector<model::HostRule>& hosts);

/// `app-00001=90, @latest=10, @latest=canary` for people.
[[nodiscard]] std::string traffic_text(const Traffic& traffic);

/// As the `traffic` of a document: an array of entries.
[[nodiscard]] nlohmann::json traffic_json(const Traffic& traffic);

/// Of traffic_json(); what is no entry is passed over.
[[nodiscard]] Traffic traffic_of(const nlohmann::json& entries);

/// A change as the API carries it.
[[nodiscard]] nlohmann::json change_json(const TrafficChange& change);

/// Of change_json(); a problem names what is wrong.
[[nodiscard]] Result<TrafficChange, Problem> change_of(const nlohmann::json& body);

}  // namespace sluice::local
