#include "programs/sluice/engine/kept_services.h"

#include "common/files/file_io.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace sluice::local {
namespace fs = std::filesystem;

KeptServices::KeptServices(const EnginePaths& paths)
    : applied_{paths.specs_dir()}, ran_{paths.ran_dir()}, start_{paths.start_json()} {}

const fs::path& KeptServices::directory(BroughtBy by) const {
  return by == BroughtBy::apply ? applied_ : ran_;
}

void KeptServices::read_directory(BroughtBy by, const SpecDefaults& defaults, Reading& reading) {
  for (const fs::path& file : spec_files_in(directory(by), kServicesMax)) {
    const auto text = read_spec_file(file);
    if (!text) {
      reading.problems.push_back(text.error());
      continue;
    }
    auto parsed = parse_services(*text, file.string(), file.parent_path(), defaults);
    if (!parsed) {
      const std::vector<Problem> wrong = parsed.error().problems;
      reading.problems.insert(reading.problems.end(), wrong.begin(), wrong.end());
      continue;
    }
    for (ServiceSpec& spec : parsed->services) {
      if (!files_.try_emplace(spec.name, Kept{.file = file, .by = by}).second) continue;
      reading.services.push_back({std::move(spec), by});
    }
  }
}

KeptServices::Reading KeptServices::read(const SpecDefaults& defaults) {
  Reading reading;
  files_.clear();
  read_directory(BroughtBy::apply, defaults, reading);
  read_directory(BroughtBy::command, defaults, reading);
  return reading;
}

std::optional<Problem> KeptServices::keep(const ServiceSpec& spec, BroughtBy by) {
  const fs::path file = directory(by) / (spec.name + ".yaml");
  Kept& kept = files_.try_emplace(spec.name, Kept{.file = file, .by = by}).first->second;
  if (auto refused = files::keep_file(file, to_yaml(spec), 0600)) return refused;
  std::error_code ignored;
  if (kept.file != file) fs::remove(kept.file, ignored);
  kept = {.file = file, .by = by};
  return std::nullopt;
}

std::optional<Problem> KeptServices::forget(const std::string& service) {
  const auto kept = files_.find(service);
  if (kept == files_.end()) return std::nullopt;
  std::error_code failed;
  fs::remove(kept->second.file, failed);
  if (failed) {
    return Problem{"cannot remove " + kept->second.file.string() + ": " + failed.message(),
                   "make its directory writable"};
  }
  files_.erase(kept);
  return std::nullopt;
}

std::optional<BroughtBy> KeptServices::brought_by(const std::string& service) const {
  const auto kept = files_.find(service);
  return kept == files_.end() ? std::nullopt : std::optional{kept->second.by};
}

StartRecord KeptServices::start() const {
  const auto text = files::read_file(start_);
  const auto json = reading::parsed(text && *text ? **text : "");
  return {.files = reading::strings(json, "files"),
          .http = reading::text(json, "http"),
          .tls = reading::strings(json, "tls"),
          .config = reading::text(json, "config")};
}

std::optional<Problem> KeptServices::keep_start(const StartRecord& record) const {
  return files::replace_file(start_,
                             json_line(nlohmann::json{{"files", record.files},
                                                      {"http", record.http},
                                                      {"tls", record.tls},
                                                      {"config", record.config}}) +
                                 "\n",
                             0600);
}

bool KeptServices::any(const EnginePaths& paths) {
  return !KeptServices(paths).start().files.empty() ||
         !spec_files_in(paths.specs_dir(), kServicesMax).empty() ||
         !spec_files_in(paths.ran_dir(), kServicesMax).empty();
}

}  // namespace sluice::local
