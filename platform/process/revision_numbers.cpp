#include "platform/process/revision_numbers.h"

#include "common/files/file_io.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include "platform/process/proc_files.h"
#include <algorithm>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kRecordBytesMax = 4096;

}  // namespace

RevisionNumbers::RevisionNumbers(std::filesystem::path directory)
    : directory_(std::move(directory)) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry{*directory_, failed}, end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() != ".json") continue;
    std::error_code ignored;
    if (records_.size() >= kServicesMax) {
      std::filesystem::remove(entry->path(), ignored);
      continue;
    }
    const auto text = read_small_file(entry->path(), kRecordBytesMax);
    const auto json = reading::parsed(text.value_or(""));
    Record record;
    record.last = reading::integer32(json, "last", 0);
    record.newest = reading::integer32(json, "newest", 0);
    record.hash = reading::text(json, "template");
    record.serving = reading::integer32(json, "serving", 0);
    if (record.last > 0 && record.newest <= record.last) {
      records_.emplace(entry->path().stem().string(), std::move(record));
    }
  }
}

int RevisionNumbers::first(const std::string& service, const std::string& hash) {
  const int number = expected(service, hash);
  return number < following(service) ? number : next(service, hash);
}

int RevisionNumbers::expected(const std::string& service, const std::string& hash) const {
  const auto known = records_.find(service);
  const bool again =
      known != records_.end() && known->second.hash == hash && known->second.newest > 0;
  return again ? known->second.newest : following(service);
}

int RevisionNumbers::following(const std::string& service) const {
  const auto known = records_.find(service);
  return known == records_.end() ? 1 : known->second.last + 1;
}

int RevisionNumbers::next(const std::string& service, const std::string& hash) {
  const int number = following(service);
  return take(service, {.last = number, .newest = number, .hash = hash, .serving = 0});
}

void RevisionNumbers::again(const std::string& service, int number, const std::string& hash) {
  const auto known = records_.find(service);
  if (known == records_.end() || number > known->second.last) return;
  take(service, {.last = known->second.last, .newest = number, .hash = hash, .serving = 0});
}

void RevisionNumbers::gave_up(const std::string& service, int serving) {
  const auto known = records_.find(service);
  if (known == records_.end()) return;
  Record record = known->second;
  record.serving = serving;
  take(service, std::move(record));
}

int RevisionNumbers::serving(const std::string& service) const {
  const auto known = records_.find(service);
  return known == records_.end() ? 0 : known->second.serving;
}

void RevisionNumbers::removed(const std::string& service) {
  const auto known = records_.find(service);
  if (known == records_.end()) return;
  Record record = known->second;
  record.hash.clear();
  record.serving = 0;
  take(service, std::move(record));
}

void RevisionNumbers::make_room() {
  if (records_.size() < kServicesMax) return;
  const auto old = std::find_if(records_.begin(), records_.end(),
                                [](const auto& each) { return each.second.hash.empty(); });
  if (old == records_.end()) return;
  std::error_code ignored;
  if (directory_) std::filesystem::remove(*directory_ / (old->first + ".json"), ignored);
  records_.erase(old);
}

int RevisionNumbers::take(const std::string& service, Record record) {
  const int number = record.newest;
  if (!records_.contains(service)) make_room();
  Record& kept = records_[service];
  if (kept == record) return number;
  kept = std::move(record);
  if (directory_) {
    nlohmann::json json{{"last", kept.last}, {"newest", kept.newest}, {"template", kept.hash}};
    if (kept.serving > 0) json["serving"] = kept.serving;
    (void)files::replace_file(*directory_ / (service + ".json"), json_line(json) + "\n");
  }
  return number;
}

}  // namespace sluice::local
