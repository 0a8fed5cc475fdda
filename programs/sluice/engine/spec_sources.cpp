#include "programs/sluice/engine/spec_sources.h"

#include <algorithm>
#include <utility>

namespace sluice::local {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFilesMax = 1000;

}  // namespace

SpecSources::SpecSources(std::vector<std::string> files, SpecDefaults defaults)
    : files_{std::move(files)}, defaults_{defaults} {}

const fs::path* SpecSources::file_of(const std::string& service) const {
  const auto found = owners_.find(service);
  return found == owners_.end() ? nullptr : &found->second;
}

void SpecSources::watch(const std::string& file) {
  files_.push_back(file);
}

void SpecSources::unwatch(const std::string& file) {
  std::erase(files_, file);
}

std::map<fs::path, FileStamp> SpecSources::look() const {
  std::map<fs::path, FileStamp> found;
  const auto add = [&found](const fs::path& file) {
    if (found.size() < kFilesMax) found.emplace(file, FileStamp::of(file));
  };
  for (const std::string& name : files_) {
    if (name == "-") continue;
    std::error_code failed;
    if (!fs::is_directory(name, failed)) {
      add(name);
      continue;
    }
    for (const fs::path& file : spec_files_in(name, kFilesMax)) add(file);
  }
  return found;
}

bool SpecSources::changed() const {
  return look() != seen_;
}

bool SpecSources::has_directory() const {
  return std::any_of(files_.begin(), files_.end(), [](const std::string& file) {
    std::error_code ignored;
    return fs::is_directory(file, ignored);
  });
}

Result<SpecSources::Reading, RefusedFile> SpecSources::read() {
  const auto before = owners_;
  Reading reading = read_valid();
  if (reading.problems.empty()) return reading;
  owners_ = before;
  return RefusedFile{std::move(reading.problems), std::move(reading.warnings)};
}

// What was read before of a broken file is in force, and so is what two files now dispute.
void SpecSources::keep_owners(Reading& reading, const std::set<fs::path>& broken,
                              const std::set<std::string>& disputed) {
  const auto before = std::exchange(owners_, {});
  for (const auto& [service, file] : before) {
    const bool stays = disputed.contains(service);
    // A directory may be gone as a whole.
    const bool unread = broken.contains(file) || broken.contains(file.parent_path());
    if (!stays && !unread) continue;
    if (stays) {
      std::erase_if(reading.services,
                    [&name = service](const ServiceSpec& spec) { return spec.name == name; });
      reading.files.erase(service);
    }
    owners_.emplace(service, file);
  }
  for (const auto& [service, file] : reading.files) owners_.insert_or_assign(service, file);
}

SpecSources::Reading SpecSources::read_valid() {
  Reading reading;
  RefusedFile wrong;
  std::set<fs::path> broken;
  std::set<std::string> disputed;
  const auto take = [&](const std::string& text, const std::string& name, const fs::path& base) {
    auto parsed = parse_services(text, shown_name(name), base, defaults_);
    const fs::path file = name == "-" ? fs::path{name} : fs::absolute(name);
    if (!parsed) {
      wrong.add(parsed.error());
      broken.insert(file);
      return;
    }
    for (ServiceSpec& spec : parsed->services) {
      const auto [first, fresh] = reading.files.emplace(spec.name, file);
      if (!fresh) {
        wrong.problems.push_back({"service " + spec.name + " is defined in " +
                                      shown_name(first->second) + " and in " + shown_name(name),
                                  "rename one of them"});
        disputed.insert(spec.name);
        continue;
      }
      reading.services.push_back(std::move(spec));
    }
    reading.warnings.insert(reading.warnings.end(), parsed->warnings.begin(),
                            parsed->warnings.end());
  };
  seen_ = look();
  for (const auto& [file, seen] : seen_) {
    const auto text = read_spec_file(file);
    if (!text) {
      wrong.problems.push_back(text.error());
      broken.insert(fs::absolute(file));
    } else {
      take(*text, file.string(), fs::absolute(file).parent_path());
    }
  }
  if (std::find(files_.begin(), files_.end(), "-") != files_.end()) {
    if (!standard_input_) {
      const auto text = read_spec_file("-");
      if (text) {
        standard_input_ = *text;
      } else {
        wrong.problems.push_back(text.error());
      }
    }
    if (standard_input_) take(*standard_input_, "-", fs::current_path());
  }
  wrong.add({{}, std::move(reading.warnings)});
  reading.problems = std::move(wrong.problems);
  reading.warnings = std::move(wrong.warnings);
  keep_owners(reading, broken, disputed);
  return reading;
}

}  // namespace sluice::local
