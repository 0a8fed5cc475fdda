#pragma once

#include "common/base/result.h"

#include "platform/process/paths.h"
#include "platform/process/service_spec.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// What brought a service that is defined in no watched file.
enum class BroughtBy : std::uint8_t {
  apply,    ///< `apply` or `up -d` beside the engine: there again at each start
  command,  ///< a command, or standard input: there again when a start resumes
};

/// With what an engine was started, for `up --name NAME` alone.
struct StartRecord {
  std::vector<std::string> files = {};  ///< watched, absolute
  std::string http = {};                ///< as given; empty: it was not
  std::vector<std::string> tls = {};    ///< certificate and key, absolute; empty: not given
  std::string config = {};              ///< as given, absolute; empty: it was not

  friend bool operator==(const StartRecord&, const StartRecord&) = default;
};

/// The services that the state directory of an engine keeps, each in a file of its own, and the
/// record of its last start (one-machine.md 7), which a disk may refuse.
class KeptServices {
 public:
  /// As many as an engine runs.
  static constexpr std::size_t kServicesMax = 10'000;

  explicit KeptServices(const EnginePaths& paths);

  struct Service {
    ServiceSpec spec;
    BroughtBy by = BroughtBy::apply;
  };

  struct Reading {
    std::vector<Service> services;
    std::vector<Problem> problems;  ///< of files that cannot be read; the others are there
  };

  /// All that is kept. A service that is kept twice is the one of `apply`.
  [[nodiscard]] Reading read(const SpecDefaults& defaults);

  /// Keeps `spec` in place of what was kept of that service. A problem when it cannot be written:
  /// what was kept before stays, and of a new service what brought it is known until the engine
  /// ends.
  [[nodiscard]] std::optional<Problem> keep(const ServiceSpec& spec, BroughtBy by);

  /// Keeps nothing of the service from now on. A problem when its file cannot be removed: the next
  /// start would bring it back.
  std::optional<Problem> forget(const std::string& service);

  /// What brought the service; nothing when none of that name is kept.
  [[nodiscard]] std::optional<BroughtBy> brought_by(const std::string& service) const;

  [[nodiscard]] StartRecord start() const;
  [[nodiscard]] std::optional<Problem> keep_start(const StartRecord& record) const;

  /// Whether a start of that name has something to resume.
  [[nodiscard]] static bool any(const EnginePaths& paths);

 private:
  struct Kept {
    std::filesystem::path file;
    BroughtBy by = BroughtBy::apply;
  };

  [[nodiscard]] const std::filesystem::path& directory(BroughtBy by) const;
  void read_directory(BroughtBy by, const SpecDefaults& defaults, Reading& reading);

  std::filesystem::path applied_;
  std::filesystem::path ran_;
  std::filesystem::path start_;
  std::map<std::string, Kept> files_;
};

}  // namespace sluice::local
