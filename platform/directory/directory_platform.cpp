#include "platform/directory/directory_platform.h"

#include "common/files/file_io.h"

#include <system_error>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr const char* kConfigFile = "config-autoscaler.json";

std::string text_of(const std::optional<net::Address>& address) {
  return address ? address->text() : std::string{};
}

WatchedRevision watched(files::RevisionFile file) {
  WatchedRevision revision;
  revision.id = std::move(file.id);
  revision.service = std::move(file.service);
  revision.hosts = std::move(file.hosts);
  revision.container_concurrency = file.container_concurrency;
  revision.annotations = std::move(file.annotations);
  revision.pods.reserve(file.pods.size());
  for (files::PodEntry& pod : file.pods) {
    revision.pods.push_back({.id = std::move(pod.id),
                             .address = text_of(pod.address),
                             .stats = text_of(pod.stats),
                             .ready = pod.ready,
                             .terminating = pod.terminating,
                             .node = pod.node,
                             .failed = std::move(pod.failed)});
  }
  return revision;
}

}  // namespace

DirectoryPodWatch::DirectoryPodWatch(boost::asio::io_context& io, const std::filesystem::path& path,
                                     const log::Logger& log)
    : directory_{
          io, path, *this, log,
          files::PlatformOptions{.activators = false, .settings_file = kConfigFile, .pace = {}}} {}

std::optional<Problem> DirectoryPodWatch::open(PodWatchListener& listener) {
  listener_ = &listener;
  return directory_.open();
}

std::vector<std::string> DirectoryPodWatch::wrong() const {
  std::vector<std::string> names;
  for (const auto& [name, problem] : directory_.wrong()) names.push_back(name);
  return names;
}

void DirectoryPodWatch::on_revision(files::RevisionFile revision) {
  listener_->on_revision(watched(std::move(revision)));
}

void DirectoryPodWatch::on_revision_gone(const RevisionId& revision) {
  listener_->on_revision_gone(revision);
}

std::optional<Problem> DirectoryPodWatch::on_settings(const files::StringMap& settings) {
  return listener_->on_config(settings);
}

DirectoryScaleSink::DirectoryScaleSink(const std::filesystem::path& path, const log::Logger& log)
    : directory_{path / "scale"}, log_{log} {}

std::optional<Problem> DirectoryScaleSink::open(TimePoint now) {
  std::error_code failed;
  std::filesystem::create_directory(directory_, failed);
  if (failed) {
    return Problem{directory_.string() + " cannot be made: " + failed.message(),
                   "make it a directory that this program may write to"};
  }
  files::remove_leftovers(directory_, now);
  // Whether it can be written to shows now, not when the first request waits for a pod.
  const std::filesystem::path probe = directory_ / ".writable";
  if (auto problem = files::replace_file(probe, "")) return problem;
  std::filesystem::remove(probe, failed);
  return std::nullopt;
}

std::filesystem::path DirectoryScaleSink::path_of(const RevisionId& revision) const {
  return directory_ / files::file_name_of(revision);
}

std::optional<ScaleOrder> DirectoryScaleSink::last(const RevisionId& revision) {
  const auto known = written_.find(revision);
  if (known != written_.end()) {
    return ScaleOrder{.replicas = known->second.replicas, .remove = known->second.remove};
  }
  const auto content = files::read_file(path_of(revision));
  if (content && !*content) return std::nullopt;
  const auto file = content ? files::parse_scale_file(**content) : content.error();
  if (!file) {
    log_.write(log::Severity::error, "an earlier order cannot be read and is written anew",
               {{"file", path_of(revision).string()}, {"problem", file.error().what}});
    return std::nullopt;
  }
  written_.insert_or_assign(revision, *file);
  return ScaleOrder{.replicas = file->replicas, .remove = file->remove};
}

void DirectoryScaleSink::apply(const RevisionId& revision, const ScaleOrder& order) {
  const auto known = written_.find(revision);
  files::ScaleFile file{1, order.replicas, order.remove};
  if (known != written_.end()) {
    file.version = known->second.version;
    if (file == known->second) return;
    ++file.version;
  }
  if (const auto problem = files::replace_file(path_of(revision), files::write_scale_file(file))) {
    if (failures_++ == 0) {
      log_.write(log::Severity::error, "orders cannot be written and are tried again",
                 {{"problem", problem->what}, {"fix", problem->fix}});
    }
    return;
  }
  if (std::exchange(failures_, 0) > 0) {
    log_.write(log::Severity::info, "orders can be written again");
  }
  written_.insert_or_assign(revision, std::move(file));
}

void DirectoryScaleSink::forget(const RevisionId& revision) {
  written_.erase(revision);
  std::error_code ignored;
  std::filesystem::remove(path_of(revision), ignored);
}

DirectoryPlatform::DirectoryPlatform(boost::asio::io_context& io, const std::filesystem::path& path,
                                     const log::Logger& log)
    : path_{path}, sink_{path, log}, pods_{io, path, log} {}

std::optional<Problem> DirectoryPlatform::open(PodWatchListener& listener, TimePoint now,
                                               Settled settled) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path_, failed)) {
    return Problem{"SLUICE_PLATFORM: " + path_.string() + " is not a directory",
                   "make it, with a directory `revisions` in it"};
  }
  if (auto problem = sink_.open(now)) return problem;
  if (auto problem = pods_.open(listener)) return problem;
  settled(std::nullopt);
  return std::nullopt;
}

std::vector<HealthCheck> DirectoryPlatform::checks() const {
  return {{"platform", true, shown_wrong(pods_.wrong(), "wrong files")},
          {"orders", sink_.failures() == 0,
           sink_.failures() == 0 ? "" : "the scale files cannot be written"}};
}

// The front door of a directory is always an activator.
void DirectoryScaleSink::probe(const RevisionId& /*revision*/, std::function<void(bool ok)> done) {
  done(true);
}

}  // namespace sluice::autoscaler
