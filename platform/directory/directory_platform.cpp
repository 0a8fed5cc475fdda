#include "platform/directory/directory_platform.h"

#include "autoscaler/io/health_page.h"
#include "common/files/file_io.h"

#include <system_error>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr const char* kConfigFile = "config-autoscaler.json";
constexpr const char* kOrders = "scale";

}  // namespace

DirectoryPlatform::DirectoryPlatform(boost::asio::io_context& io, const std::filesystem::path& path,
                                     const log::Logger& log)
    : io_{io}, path_{path}, log_{log} {}

std::optional<Problem> DirectoryPlatform::open(model::Listener& listener, TimePoint now,
                                               Settled settled) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path_, failed)) {
    return Problem{"SLUICE_PLATFORM: " + path_.string() + " is not a directory",
                   "make it, with a directory `revisions` in it"};
  }
  if (auto problem = open_orders(now)) return problem;
  directory_ = std::make_unique<files::PlatformDirectory>(
      io_, path_, listener, log_,
      files::PlatformOptions{.activators = false, .settings_file = kConfigFile, .pace = {}});
  if (auto problem = directory_->open()) return problem;
  settled(std::nullopt);
  return std::nullopt;
}

std::optional<Problem> DirectoryPlatform::open_orders(TimePoint now) {
  const std::filesystem::path orders = path_ / kOrders;
  std::error_code failed;
  std::filesystem::create_directory(orders, failed);
  if (failed) {
    return Problem{orders.string() + " cannot be created: " + failed.message(),
                   "make it a directory that this program may write to"};
  }
  files::remove_leftovers(orders, now);
  // Whether it can be written to shows now, not when the first request waits for a pod.
  const std::filesystem::path probe = orders / ".writable";
  if (auto problem = files::replace_file(probe, "")) return problem;
  std::filesystem::remove(probe, failed);
  return std::nullopt;
}

std::filesystem::path DirectoryPlatform::path_of(const RevisionId& revision) const {
  return path_ / kOrders / files::file_name_of(revision);
}

std::optional<ScaleOrder> DirectoryPlatform::last(const RevisionId& revision) {
  const auto known = written_.find(revision);
  if (known != written_.end()) {
    return ScaleOrder{.replicas = known->second.replicas, .remove = known->second.remove};
  }
  const auto content = files::read_file(path_of(revision));
  if (content && !*content) return std::nullopt;
  const auto file = content ? files::parse_scale_file(**content) : content.error();
  if (!file) {
    log_.write(log::Severity::error, "cannot read an earlier order; writing a new one",
               {{"file", path_of(revision).string()}, {"problem", file.error().what}});
    return std::nullopt;
  }
  written_.insert_or_assign(revision, *file);
  return ScaleOrder{.replicas = file->replicas, .remove = file->remove};
}

void DirectoryPlatform::apply(const RevisionId& revision, const ScaleOrder& order) {
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

void DirectoryPlatform::forget(const RevisionId& revision) {
  written_.erase(revision);
  std::error_code ignored;
  std::filesystem::remove(path_of(revision), ignored);
}

std::vector<std::string> DirectoryPlatform::wrong() const {
  std::vector<std::string> names;
  if (directory_ == nullptr) return names;
  for (const auto& [name, problem] : directory_->wrong()) names.push_back(name);
  return names;
}

std::vector<HealthCheck> DirectoryPlatform::checks() const {
  return {{"platform", true, shown_wrong(wrong(), "wrong files")},
          {"orders", failures_ == 0, failures_ == 0 ? "" : "the scale files cannot be written"}};
}

// The front door of a directory is always an activator.
void DirectoryPlatform::probe(const RevisionId& /*revision*/, std::function<void(bool ok)> done) {
  done(true);
}

}  // namespace sluice::autoscaler
