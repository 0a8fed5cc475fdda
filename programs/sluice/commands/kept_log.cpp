#include "programs/sluice/commands/kept_log.h"

#include "common/values/dns_label.h"

#include "platform/process/paths.h"
#include "platform/process/service_spec.h"
#include <algorithm>
#include <system_error>
#include <vector>

namespace sluice::commands {

Result<KeptLog, Failure> find_kept_log(const Surroundings& with, const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string engine = slash == std::string::npos ? "" : name.substr(0, slash);
  const std::string service = slash == std::string::npos ? name : name.substr(slash + 1);
  const Failure none{kExitUnavailable,
                     "no log of " + name + " is kept in " + with.roots.state.string()};
  // Both become parts of a path.
  if (!is_dns_label(service) || (!engine.empty() && !is_dns_label(engine))) return none;
  std::vector<KeptLog> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(with.roots.state, failed)) {
    const std::string each = entry.path().filename().string();
    if (!engine.empty() && each != engine) continue;
    const auto file = local::EnginePaths(with.roots, each).logs_dir() / (service + ".log");
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) found.push_back({each, file});
  }
  if (found.empty()) return none;
  if (found.size() == 1) return std::move(found.front());
  std::sort(found.begin(), found.end(),
            [](const KeptLog& a, const KeptLog& b) { return a.engine < b.engine; });
  std::string list;
  for (const KeptLog& log : found) {
    list += (list.empty() ? "" : ", ") + log.engine + "/" + service;
  }
  return Failure{kExitUsage,
                 "several engines have kept a log of " + service + "; choose one: " + list};
}

}  // namespace sluice::commands
