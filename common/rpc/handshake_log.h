#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice::rpc {

/// How many lines a writer has that strangers can make write: ten in ten seconds, and the first one
/// of the next ten has how many were left out.
class LinePace {
 public:
  static constexpr std::uint64_t kLines = 10;
  static constexpr std::chrono::seconds kSpan{10};

  /// Absent: this line is left out. Else how many were since the last one that was written.
  [[nodiscard]] std::optional<std::uint64_t> take(TimePoint now);

 private:
  std::optional<TimePoint> began_;
  std::uint64_t written_ = 0;  // since then
  std::uint64_t left_out_ = 0;
};

/// Detects failed handshakes of this process, which gRPC reports only in its log, without the peer.
/// All other log lines of gRPC go to the standard error, at the pace of LinePace.
class HandshakeLog {
 public:
  /// Called on gRPC's threads with the TLS library's reason.
  using Heard = std::function<void(const std::string& why)>;

  explicit HandshakeLog(Heard heard);
  ~HandshakeLog();
  HandshakeLog(const HandshakeLog&) = delete;
  HandshakeLog& operator=(const HandshakeLog&) = delete;

 private:
  std::shared_ptr<Heard> heard_;
};

}  // namespace sluice::rpc
