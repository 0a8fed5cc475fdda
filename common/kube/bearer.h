#pragma once

#include "common/kube/access.h"
#include "common/log/log.h"
#include "common/time/time_point.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::kube {

/// `text` as it may stand in a header, without the blanks around it that editors leave; empty: it
/// may not.
[[nodiscard]] std::string bearer_token(std::string_view text);

/// The token that authenticates us. One in a file is read again each minute, since
/// tokens of service accounts are replaced long before they end; while the file cannot be read, the
/// old one serves.
class Bearer {
 public:
  /// `log` outlives this.
  Bearer(const Access& access, const log::Logger& log);

  [[nodiscard]] const std::string& token(TimePoint now);

  /// From now on it is this one.
  void replace(std::string_view token);

  /// The server rejects the token: the file is read before the next request. Returns whether
  /// there is a file to read.
  bool refused();

 private:
  void read();

  std::filesystem::path file_;  // empty: the token was given itself
  const log::Logger& log_;
  std::string token_;
  TimePoint read_at_{};
  bool stale_ = true;
  bool readable_ = true;
};

}  // namespace sluice::kube
