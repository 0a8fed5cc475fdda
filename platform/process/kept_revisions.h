#pragma once

#include "common/time/time_point.h"

#include "platform/process/service_spec.h"
#include "platform/process/traffic.h"
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::local {

/// The specs of a service's revisions, so that traffic can go to older ones and back, and the
/// traffic that `sluice traffic` chose for a service whose document has none. With a directory both
/// are there again after a start; a spec that cannot be written is kept in memory until settle()
/// can. So is a spec with Secrets, but for one whose revision is named in the traffic.
class KeptRevisions {
 public:
  /// Revisions of a service that have neither traffic nor a tag, beside the latest one.
  static constexpr std::size_t kUnusedMax = 10;

  /// Services that are read from the directory; files of further ones are removed.
  static constexpr std::size_t kServicesMax = 20'000;

  /// In memory only.
  KeptRevisions() = default;

  /// With files in `directory`, which exists.
  explicit KeptRevisions(std::filesystem::path directory);

  /// Keeps the spec of revision `number` in place of what was kept of it; `made` is when the
  /// revision was, if it is new.
  void keep(int number, const ServiceSpec& spec, TimePoint made);

  /// Nothing when it is not kept, or cannot be read any more.
  [[nodiscard]] std::optional<ServiceSpec> spec(const std::string& service, int number) const;

  /// The revisions that are kept, the oldest first.
  [[nodiscard]] std::vector<int> numbers(const std::string& service) const;

  [[nodiscard]] bool has(const std::string& service, int number) const;

  /// When the revision was made; the epoch when that is not known.
  [[nodiscard]] TimePoint made(const std::string& service, int number) const;

  /// Forgets the oldest ones beyond kUnusedMax that are none of `used`. Of those with Secrets the
  /// ones in `named` are in files from now on, and no others.
  void settle(const std::string& service, const std::set<int>& used, const std::set<int>& named);

  /// Forgets all of a service.
  void forget(const std::string& service);

  /// What was chosen for the service; empty: nothing.
  [[nodiscard]] const Traffic& traffic(const std::string& service) const;

  /// Keeps what was chosen; empty ends that. A problem when it cannot be written: what was chosen
  /// before is in force then.
  [[nodiscard]] std::optional<Problem> choose(const std::string& service, Traffic traffic);

 private:
  struct Kept {
    std::optional<ServiceSpec> spec{};  // where there is no file
    TimePoint made{};                   // likewise
    bool secret = false;                // it has Secrets
  };

  struct Service {
    std::map<int, Kept> revisions{};
    Traffic traffic{};
  };

  [[nodiscard]] std::filesystem::path file_of(const std::string& service, int number,
                                              bool secret) const;
  [[nodiscard]] std::filesystem::path traffic_file_of(const std::string& service) const;
  [[nodiscard]] const Kept* find(const std::string& service, int number) const;
  [[nodiscard]] bool write(int number, const ServiceSpec& spec, TimePoint made) const;
  void take(const std::filesystem::path& file);
  void remove(const std::filesystem::path& file) const;

  std::optional<std::filesystem::path> directory_;
  std::map<std::string, Service> services_;
};

}  // namespace sluice::local
