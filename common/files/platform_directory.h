#pragma once

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/files/directory_watch.h"
#include "common/files/revision_file.h"
#include "common/log/log.h"
#include "common/model/revision.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::files {

struct PlatformOptions {
  bool activators = true;     ///< follow `activators.json`
  std::string settings_file;  ///< a name in the directory, followed too; empty: none
  std::size_t revisions_max = 100'000;
  WatchPace pace;
};

/// Follows the directory `PATH` of protocols.md 9 and reports what is in it. A file that cannot be
/// read, or is invalid, changes nothing: its previous content stays in force, and it is named in
/// the log, once for each content. Belongs to one thread.
class PlatformDirectory {
 public:
  /// `listener` and `log` outlive this.
  PlatformDirectory(boost::asio::io_context& io, std::filesystem::path path,
                    model::Listener& listener, const log::Logger& log,
                    PlatformOptions options = {});
  ~PlatformDirectory();
  PlatformDirectory(const PlatformDirectory&) = delete;
  PlatformDirectory& operator=(const PlatformDirectory&) = delete;

  /// Reads and reports everything before it returns; from then on follows. A problem when PATH is
  /// no directory that can be read, or when the settings are rejected.
  [[nodiscard]] std::optional<Problem> open();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  [[nodiscard]] std::size_t revisions() const { return told_.size(); }

  /// Files that are wrong now, by name, and why; for status pages.
  [[nodiscard]] const std::map<std::string, Problem>& wrong() const { return wrong_; }

 private:
  /// What differs between two states of a file, without reading it.
  struct Stamp {
    std::int64_t modified_ns = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  struct Seen {
    Stamp stamp;
    std::size_t content = 0;  // a hash of it
  };

  enum class Look { gone, unchanged, read, failed };

  /// Whether a change of the file was reported, or it is looked at without one.
  enum class Word : bool { none, changed };

  void changed(std::span<const DirectoryChange> changes);
  void scan_revisions();
  void look_at_revision(const std::string& name, Word word);
  void look_at_activators(Word word);
  [[nodiscard]] std::optional<Problem> look_at_settings(Word word);
  Look look(const std::string& name, Word word, std::string& content);
  void forget(const std::string& name);
  [[nodiscard]] bool is_news(const std::string& name, const Problem& problem) const;
  void wrong(const std::string& name, const Problem& problem, bool first = true);
  void right(const std::string& name);

  boost::asio::io_context& io_;
  std::filesystem::path path_;
  model::Listener& listener_;
  const log::Logger& log_;
  PlatformOptions options_;
  std::map<std::string, Seen> seen_;      // by path below PATH
  std::map<std::string, Problem> wrong_;  // likewise
  std::set<std::string> told_;            // revisions' files in force
  bool overfull_ = false;
  std::unique_ptr<DirectoryWatch> watch_;
};

}  // namespace sluice::files
