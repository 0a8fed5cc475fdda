#pragma once

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/net/address.h"
#include "common/settings/knative_contract.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The files `PATH/revisions/<namespace>.<name>.json` and `PATH/activators.json` of protocols.md 9
// as values.
namespace sluice::files {

/// String keys to string values, as annotations and settings are.
using StringMap = std::map<std::string, std::string, std::less<>>;

/// One pod of a revision.
struct PodEntry {
  PodId id;
  std::string node;                     ///< may be empty
  std::optional<net::Address> address;  ///< where it serves; absent: it cannot be reached yet
  std::optional<net::Address> stats;    ///< where it answers a scrape; absent: it is not scraped
  bool ready = false;
  bool terminating = false;  ///< it was told to go
  std::string failed{};      ///< why it cannot become ready, as a sentence; empty: it may
  /// Its sidecar may be believed before the platform calls it ready (activator.md 6.3). Not in the
  /// file: there `ready` says all there is to say.
  bool fast_ready = true;

  friend bool operator==(const PodEntry&, const PodEntry&) = default;
};

/// What the user process speaks.
enum class AppProtocol : std::uint8_t { http1, h2c };

/// One revision and its pods.
struct RevisionFile {
  RevisionId id;
  std::string service;             ///< the name people know it by; the revision's when not given
  std::vector<std::string> hosts;  ///< in lower case, without port
  AppProtocol protocol = AppProtocol::http1;
  std::int32_t container_concurrency = 0;  ///< 0 = no limit
  Duration timeout = std::chrono::seconds{300};
  Duration response_start_timeout{0};  ///< 0 = off
  Duration idle_timeout{0};            ///< 0 = off
  StringMap annotations;
  std::vector<PodEntry> pods;  ///< names are unique
  /// IP addresses of the activators that its requests go through; empty: through any of them. Not
  /// in the file.
  std::vector<std::string> activators = {};
  /// Where its pods are reached together (activator.md 6.3). Not in the file.
  std::optional<net::Address> private_service = {};
  std::uint16_t private_service_tls_port = 0;  ///< 0: none
  /// `older` only of revisions of an older Knative. Not in the file.
  settings::KnativeContract contract = settings::KnativeContract::current;

  friend bool operator==(const RevisionFile&, const RevisionFile&) = default;
};

inline constexpr std::size_t kFailedMax = 512;       ///< bytes of PodEntry::failed
inline constexpr std::size_t kPodsMax = 10'000;      ///< of one revision
inline constexpr std::size_t kHostsMax = 1'000;      ///< likewise
inline constexpr std::size_t kAnnotationsMax = 256;  ///< likewise
inline constexpr std::size_t kActivatorsMax = 1'000;

/// A value read from a file, and keys in it that mean nothing: misspelt, or of a later version.
template <class T>
struct Parsed {
  T value;
  std::vector<std::string> unknown_keys;
};

/// The name of a revision's file: `<namespace>.<name>.json`, in `revisions` and in `scale` alike.
[[nodiscard]] std::string file_name_of(const RevisionId& id);

/// The revision a file name stands for; absent when it is no such name. A namespace has no dot.
[[nodiscard]] std::optional<RevisionId> revision_of(std::string_view file_name);

/// Reads a revision's file; the names in it must be those of `file_name`. A problem names the key
/// and what is accepted, not the file: the caller knows it.
[[nodiscard]] Result<Parsed<RevisionFile>, Problem> parse_revision_file(std::string_view text,
                                                                        std::string_view file_name);

/// Reads `activators.json`: a JSON array of serving addresses, such as ["127.0.0.1:8012"].
[[nodiscard]] Result<std::vector<net::Address>, Problem> parse_activators(std::string_view text);

/// Reads a JSON object of strings.
[[nodiscard]] Result<StringMap, Problem> parse_settings(std::string_view text);

}  // namespace sluice::files
