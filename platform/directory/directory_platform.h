#pragma once

#include "autoscaler/io/platform.h"
#include "autoscaler/io/pod_watch.h"
#include "autoscaler/io/scale_sink.h"
#include "common/files/platform_directory.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "platform/directory/scale_file.h"
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace sluice::autoscaler {

/// The directory of protocols.md 9 as what exists: `PATH/revisions`, and the cluster's
/// configuration in `PATH/config-autoscaler.json`.
class DirectoryPodWatch final : public PodWatch, private files::PlatformListener {
 public:
  /// `log` outlives this.
  DirectoryPodWatch(boost::asio::io_context& io, const std::filesystem::path& path,
                    const log::Logger& log);

  [[nodiscard]] std::optional<Problem> open(PodWatchListener& listener) override;
  [[nodiscard]] std::vector<std::string> wrong() const override;

 private:
  void on_revision(files::RevisionFile revision) override;
  void on_revision_gone(const RevisionId& revision) override;
  [[nodiscard]] std::optional<Problem> on_settings(const files::StringMap& settings) override;

  PodWatchListener* listener_ = nullptr;  // of open()
  files::PlatformDirectory directory_;
};

/// The directory as who acts: `PATH/scale`, made when it is missing. Versions go on from what an
/// earlier life wrote.
class DirectoryScaleSink final : public ScaleSink {
 public:
  /// `log` outlives this.
  DirectoryScaleSink(const std::filesystem::path& path, const log::Logger& log);

  /// Makes the directory. A problem when nothing can be written there.
  [[nodiscard]] std::optional<Problem> open(TimePoint now);

  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const ScaleOrder& order) override;
  void forget(const RevisionId& revision) override;
  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;

  /// Orders that could not be written since the last success; 0 when all is well.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  [[nodiscard]] std::filesystem::path path_of(const RevisionId& revision) const;

  std::filesystem::path directory_;
  const log::Logger& log_;
  std::map<RevisionId, files::ScaleFile> written_;
  std::uint64_t failures_ = 0;
};

/// The directory as both.
class DirectoryPlatform final : public Platform {
 public:
  /// `log` outlives this.
  DirectoryPlatform(boost::asio::io_context& io, const std::filesystem::path& path,
                    const log::Logger& log);

  [[nodiscard]] PodWatch& pods() override { return pods_; }

  [[nodiscard]] ScaleSink& sink() override { return sink_; }

  /// Everything is told, and `settled` called, before it returns.
  [[nodiscard]] std::optional<Problem> open(PodWatchListener& listener, TimePoint now,
                                            Settled settled) override;
  [[nodiscard]] std::vector<HealthCheck> checks() const override;

  void write_metrics(std::string& /*out*/) const override {}

 private:
  std::filesystem::path path_;
  DirectoryScaleSink sink_;
  DirectoryPodWatch pods_;
};

}  // namespace sluice::autoscaler
