#pragma once

#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::files {

/// One thing that may have changed in a watched directory.
struct DirectoryChange {
  std::size_t directory = 0;  ///< index in the list the watch was made with
  std::string name;           ///< of the file; empty: look through the whole directory

  friend auto operator<=>(const DirectoryChange&, const DirectoryChange&) = default;
};

/// How often all files are checked without an event.
struct WatchPace {
  Duration told = std::chrono::seconds{30};  ///< while the kernel reports changes
  Duration blind = std::chrono::seconds{1};  ///< while it cannot, or a directory is missing
};

/// Tells of files that were written, renamed or removed in some directories, none of which need
/// exist. Never misses a change for good: when the kernel's queue overflows, a directory comes and
/// goes, or there is no inotify at all, whole directories are named again. Belongs to one thread.
class DirectoryWatch {
 public:
  /// Each change at most once per call; ordered.
  using Changed = std::function<void(std::span<const DirectoryChange>)>;

  /// `changed` is called on the loop, never before this returns; the caller reads everything once
  /// by itself, after it has made the watch.
  DirectoryWatch(boost::asio::io_context& io, std::vector<std::filesystem::path> directories,
                 Changed changed, WatchPace pace = {});
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  /// Whether the kernel watches every directory now.
  [[nodiscard]] bool complete() const;

 private:
  struct Run;
  std::shared_ptr<Run> run_;  // shared with the handlers of its outstanding operations only
};

}  // namespace sluice::files
