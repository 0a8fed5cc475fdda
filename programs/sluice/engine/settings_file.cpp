#include "programs/sluice/engine/settings_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace sluice::local {
namespace {

bool is_taken_over(const std::string& key) {
  return key.starts_with("placement.");
}

// Takes groups out that a file has no more; without any it is another machine, which is for a
// start.
std::set<std::string> gone_from(const std::vector<MachineGroup>& file,
                                std::vector<MachineGroup>& groups) {
  std::set<std::string> gone;
  for (const MachineGroup& group : groups) {
    if (group_named(file, group.name) == nullptr) gone.insert(group.name);
  }
  if (gone.size() == groups.size()) return {};
  std::erase_if(groups, [&gone](const MachineGroup& group) { return gone.contains(group.name); });
  return gone;
}

}  // namespace

SettingsFile::News SettingsFile::look(EngineSettings& in_force, bool always) {
  News news;
  if (file_.empty()) return news;
  const FileStamp stamp = FileStamp::of(file_);
  if (seen_ == stamp && !always) return news;
  seen_ = stamp;
  auto read = load_engine_settings(file_, {});
  if (!read) {
    news.problems = read.error();
    return news;
  }
  EngineSettings expected = in_force;
  news.gone = gone_from(read->groups, expected.groups);
  std::set<std::string> waiting;
  std::vector<std::string> fresh;
  for (std::string& key : changed_settings(expected, *read)) {
    if (is_taken_over(key)) {
      news.taken.push_back(std::move(key));
      continue;
    }
    if (!named_.contains(key)) fresh.push_back(key);
    waiting.insert(std::move(key));
  }
  named_ = std::move(waiting);
  if (!fresh.empty()) {
    news.warnings.push_back(fmt::format("{}: {} changed: {} effect at the next start",
                                        shown_name(file_), fmt::join(fresh, ", "),
                                        fresh.size() == 1 ? "takes" : "take"));
  }
  if (!news.taken.empty()) in_force.placement = std::move(read->placement);
  return news;
}

}  // namespace sluice::local
