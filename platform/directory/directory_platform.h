#pragma once

#include "autoscaler/io/platform.h"
#include "common/files/platform_directory.h"
#include "common/log/log.h"

#include <boost/asio/io_context.hpp>

#include "platform/directory/scale_file.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace sluice::autoscaler {

/// The directory of protocols.md 9 as a platform: what exists is in `PATH/revisions`, the cluster's
/// configuration in `PATH/config-autoscaler.json`, and orders go to `PATH/scale`, which is made
/// when it is missing. Versions of orders continue from those that an earlier run wrote.
class DirectoryPlatform final : public Platform {
 public:
  /// `log` outlives this.
  DirectoryPlatform(boost::asio::io_context& io, const std::filesystem::path& path,
                    const log::Logger& log);

  /// Everything is reported, and `settled` called, before it returns. A problem when PATH is no
  /// directory, or orders cannot be written.
  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;

  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const ScaleOrder& order) override;
  void forget(const RevisionId& revision) override;
  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;
  [[nodiscard]] std::vector<std::string> wrong() const override;
  [[nodiscard]] std::vector<HealthCheck> checks() const override;

 private:
  [[nodiscard]] std::optional<Problem> open_orders(TimePoint now);
  [[nodiscard]] std::filesystem::path path_of(const RevisionId& revision) const;

  boost::asio::io_context& io_;
  std::filesystem::path path_;
  const log::Logger& log_;
  std::unique_ptr<files::PlatformDirectory> directory_;  // from open() on
  std::map<RevisionId, files::ScaleFile> written_;
  std::uint64_t failures_ = 0;  // orders that could not be written since the last success
};

}  // namespace sluice::autoscaler
