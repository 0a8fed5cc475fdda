#pragma once

#include "common/time/time_point.h"

#include <boost/asio/steady_timer.hpp>

#include "platform/process/bounded_file.h"
#include "platform/process/write_failures.h"
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::local {

/// What a detached engine prints, and what it logs: engine.log, bounded as the logs of services are
/// (one-machine.md 7). Standard output and error of this process are that file, also after it was
/// begun again.
class EngineLog {
 public:
  /// `warn` gets one warning when the file cannot be written. The loop outlives this.
  EngineLog(boost::asio::io_context& loop, std::filesystem::path file,
            std::function<void(const std::string&)> warn, FileLimits limits = {});
  ~EngineLog() = default;
  EngineLog(const EngineLog&) = delete;
  EngineLog& operator=(const EngineLog&) = delete;

  /// Writes whole lines.
  void print(TimePoint now, std::string_view lines);

 private:
  void adopt();
  void watch();

  BoundedFile file_;
  std::function<void(const std::string&)> warn_;
  FailureNotice notice_;
  std::uint64_t adopted_ = 0;
  boost::asio::steady_timer timer_;
};

}  // namespace sluice::local
