#include "platform/process/kept_revisions.h"

#include "common/files/file_io.h"
#include "common/json/parse.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

namespace sluice::local {
namespace {

constexpr mode_t kOwnerOnly = 0600;  // specs have the values of Secrets
constexpr std::string_view kTrafficSuffix = ".traffic.json";
constexpr std::string_view kSpecSuffix = ".yaml";
constexpr std::string_view kSecretSuffix = ".secret.yaml";

bool has_secret(const ServiceSpec& spec) {
  return std::any_of(spec.config.begin(), spec.config.end(),
                     [](const auto& each) { return each.first.kind == ConfigKind::secret; });
}

// The service and the number of `app-00001`; nothing for another text.
std::optional<std::pair<std::string, int>> revision_in(const std::string& text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string::npos) return std::nullopt;
  std::string service = text.substr(0, dash);
  const int number = revision_number(service, text);
  if (number == 0) return std::nullopt;
  return std::pair{std::move(service), number};
}

}  // namespace

KeptRevisions::KeptRevisions(std::filesystem::path directory) : directory_{std::move(directory)} {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry{*directory_, failed}, end; !failed && entry != end;
       entry.increment(failed)) {
    take(entry->path());
  }
}

void KeptRevisions::take(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.starts_with(files::kTemporaryPrefix)) return;
  const bool is_traffic = name.ends_with(kTrafficSuffix);
  const bool secret = name.ends_with(kSecretSuffix);
  const std::string_view suffix = is_traffic ? kTrafficSuffix
                                  : secret   ? kSecretSuffix
                                             : kSpecSuffix;
  if (!name.ends_with(suffix)) return;
  std::string stem = name.substr(0, name.size() - suffix.size());
  const auto revision =
      is_traffic ? std::pair{stem, 0} : revision_in(stem).value_or(std::pair{stem, -1});
  const auto& [service, number] = revision;
  if (number < 0) return;
  if (!services_.contains(service) && services_.size() >= kServicesMax) return remove(file);
  Service& known = services_[service];
  if (!is_traffic) {
    known.revisions[number].secret = secret;
    return;
  }
  const auto text = files::read_file(file);
  if (text && *text) known.traffic = traffic_of(reading::parsed(**text));
  if (check_traffic(known.traffic, service)) known.traffic.clear();
}

std::filesystem::path KeptRevisions::file_of(const std::string& service, int number,
                                             bool secret) const {
  return *directory_ /
         (revision_name(service, number) + std::string{secret ? kSecretSuffix : kSpecSuffix});
}

std::filesystem::path KeptRevisions::traffic_file_of(const std::string& service) const {
  return *directory_ / (service + std::string{kTrafficSuffix});
}

void KeptRevisions::remove(const std::filesystem::path& file) const {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

const KeptRevisions::Kept* KeptRevisions::find(const std::string& service, int number) const {
  const auto known = services_.find(service);
  if (known == services_.end()) return nullptr;
  const auto kept = known->second.revisions.find(number);
  return kept == known->second.revisions.end() ? nullptr : &kept->second;
}

bool KeptRevisions::has(const std::string& service, int number) const {
  return find(service, number) != nullptr;
}

// The time of a file is when its revision was made, however often it is written.
bool KeptRevisions::write(int number, const ServiceSpec& spec, TimePoint made_then) const {
  const std::filesystem::path file = file_of(spec.name, number, has_secret(spec));
  if (files::keep_file(file, to_yaml(spec), kOwnerOnly)) return false;
  const auto since_epoch = made_then.time_since_epoch();
  const auto whole = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const timespec at{.tv_sec = whole.count(), .tv_nsec = (since_epoch - whole).count()};
  const timespec times[] = {at, at};
  (void)::utimensat(AT_FDCWD, file.c_str(), times, 0);
  return true;
}

void KeptRevisions::keep(int number, const ServiceSpec& spec, TimePoint made_at) {
  const Kept* const before = find(spec.name, number);
  const bool in_file = directory_ && before != nullptr && !before->spec;
  const TimePoint made_then = before == nullptr ? made_at : made(spec.name, number);
  ServiceSpec own = spec;
  own.traffic.clear();
  Kept& kept = services_[spec.name].revisions[number];
  kept.secret = has_secret(own);
  const bool to_file = directory_ && (in_file || !kept.secret);
  if (to_file && write(number, own, made_then)) {
    kept.spec.reset();
    return;
  }
  kept.spec = std::move(own);
  kept.made = made_then;
}

std::optional<ServiceSpec> KeptRevisions::spec(const std::string& service, int number) const {
  const Kept* const kept = find(service, number);
  if (kept == nullptr || kept->spec || !directory_) {
    return kept == nullptr ? std::nullopt : kept->spec;
  }
  const std::filesystem::path file = file_of(service, number, kept->secret);
  const auto text = read_spec_file(file);
  if (!text) return std::nullopt;
  // What ran once is still meant where its container runtime is gone: its starts say so.
  auto parsed = parse_services(*text, file.string(), file.parent_path(), {.container_runtime = {}});
  if (!parsed || parsed->services.size() != 1) return std::nullopt;
  return std::move(parsed->services.front());
}

TimePoint KeptRevisions::made(const std::string& service, int number) const {
  const Kept* const kept = find(service, number);
  if (kept == nullptr) return {};
  if (kept->spec || !directory_) return kept->made;

  struct stat info {};

  if (::stat(file_of(service, number, kept->secret).c_str(), &info) != 0) return {};
  return TimePoint{std::chrono::seconds{info.st_mtim.tv_sec} +
                   std::chrono::nanoseconds{info.st_mtim.tv_nsec}};
}

std::vector<int> KeptRevisions::numbers(const std::string& service) const {
  std::vector<int> all;
  const auto known = services_.find(service);
  if (known == services_.end()) return all;
  for (const auto& [number, kept] : known->second.revisions) all.push_back(number);
  return all;
}

void KeptRevisions::settle(const std::string& service, const std::set<int>& used,
                           const std::set<int>& named) {
  const auto known = services_.find(service);
  if (known == services_.end()) return;
  std::vector<int> unused;
  for (auto& [number, kept] : known->second.revisions) {
    if (!used.contains(number)) unused.push_back(number);
    if (!directory_) continue;
    if (!kept.secret || named.contains(number)) {
      if (kept.spec && write(number, *kept.spec, kept.made)) kept.spec.reset();
    } else if (!kept.spec) {
      kept.made = made(service, number);
      kept.spec = spec(service, number);
      remove(file_of(service, number, true));
    }
  }
  for (std::size_t i = 0; i + kUnusedMax < unused.size(); ++i) {
    const auto old = known->second.revisions.find(unused[i]);
    if (directory_) remove(file_of(service, unused[i], old->second.secret));
    known->second.revisions.erase(old);
  }
}

void KeptRevisions::forget(const std::string& service) {
  const auto known = services_.find(service);
  if (known == services_.end()) return;
  if (directory_) {
    for (const auto& [number, kept] : known->second.revisions)
      remove(file_of(service, number, kept.secret));
    remove(traffic_file_of(service));
  }
  services_.erase(known);
}

const Traffic& KeptRevisions::traffic(const std::string& service) const {
  static const Traffic kNone;
  const auto known = services_.find(service);
  return known == services_.end() ? kNone : known->second.traffic;
}

std::optional<Problem> KeptRevisions::choose(const std::string& service, Traffic traffic) {
  if (traffic == this->traffic(service)) return std::nullopt;
  if (directory_ && traffic.empty()) remove(traffic_file_of(service));
  if (directory_ && !traffic.empty()) {
    auto refused = files::keep_file(traffic_file_of(service),
                                    json_line(traffic_json(traffic)) + "\n", kOwnerOnly);
    if (refused) return refused;
  }
  services_[service].traffic = std::move(traffic);
  return std::nullopt;
}

}  // namespace sluice::local
