#include "common/files/platform_directory.h"

#include "common/files/file_io.h"

#include <cerrno>
#include <functional>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace sluice::files {
namespace {

constexpr std::string_view kRevisions = "revisions";
constexpr std::string_view kActivators = "activators.json";
constexpr std::size_t kWrongMax = 1000;

// The watched directories.
constexpr std::size_t kTop = 0;
constexpr std::size_t kBelow = 1;

std::string below(const std::string& file_name) {
  return std::string{kRevisions} + "/" + file_name;
}

bool is_hidden(std::string_view name) {
  return name.starts_with('.');
}

}  // namespace

PlatformDirectory::PlatformDirectory(boost::asio::io_context& io, std::filesystem::path path,
                                     model::Listener& listener, const log::Logger& log,
                                     PlatformOptions options)
    : io_{io},
      path_{std::move(path)},
      listener_{listener},
      log_{log},
      options_{std::move(options)} {}

PlatformDirectory::~PlatformDirectory() = default;

std::optional<Problem> PlatformDirectory::open() {
  std::error_code failed;
  const std::filesystem::directory_iterator top{path_, failed};
  if (failed) {
    return Problem{path_.string() + " cannot be read: " + failed.message(),
                   "make it a directory that this program may read"};
  }
  // Watched before it is read, so that nothing falls between.
  watch_ = std::make_unique<DirectoryWatch>(
      io_, std::vector<std::filesystem::path>{path_, path_ / kRevisions},
      [this](std::span<const DirectoryChange> changes) { changed(changes); }, options_.pace);
  if (!options_.settings_file.empty()) {
    const auto rejected = look_at_settings(Word::none);
    if (rejected) {
      return Problem{(path_ / options_.settings_file).string() + ": " + rejected->what,
                     rejected->fix};
    }
  }
  if (options_.activators) look_at_activators(Word::none);
  scan_revisions();
  listener_.on_settled();
  return std::nullopt;
}

void PlatformDirectory::changed(std::span<const DirectoryChange> changes) {
  for (const DirectoryChange& change : changes) {
    const bool whole = change.name.empty();
    const Word word = whole ? Word::none : Word::changed;
    if (change.directory == kTop) {
      if (options_.activators && (whole || change.name == kActivators)) look_at_activators(word);
      if (!options_.settings_file.empty() && (whole || change.name == options_.settings_file)) {
        const auto rejected = look_at_settings(word);
        if (rejected) {
          wrong(options_.settings_file, *rejected, is_news(options_.settings_file, *rejected));
        }
      }
    } else if (whole) {
      scan_revisions();
    } else if (change.directory == kBelow && !is_hidden(change.name)) {
      look_at_revision(change.name, word);
    }
  }
  listener_.on_settled();
}

void PlatformDirectory::scan_revisions() {
  std::error_code failed;
  std::set<std::string> there;
  std::filesystem::directory_iterator at{path_ / kRevisions, failed};
  for (const std::filesystem::directory_iterator end; !failed && at != end; at.increment(failed)) {
    std::string name = at->path().filename().string();
    if (!is_hidden(name)) there.insert(std::move(name));
  }
  // A directory that has gone, or cannot be read, says nothing about its revisions.
  if (failed) {
    if (told_.empty() && failed == std::errc::no_such_file_or_directory) return;
    const Problem problem{
        "the directory cannot be read: " + failed.message(),
        "the last known revisions stay in force; restore the directory and its files"};
    wrong(std::string{kRevisions}, problem, is_news(std::string{kRevisions}, problem));
    return;
  }
  right(std::string{kRevisions});
  const std::set<std::string> before = told_;
  for (const std::string& name : before) {
    if (!there.contains(name)) look_at_revision(name, Word::none);
  }
  for (const std::string& name : there) look_at_revision(name, Word::none);
}

PlatformDirectory::Look PlatformDirectory::look(const std::string& name, Word word,
                                                std::string& content) {
  struct stat status {};

  if (::stat((path_ / name).c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return Look::gone;
  }
  const Stamp stamp{std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
                    status.st_ino, static_cast<std::uint64_t>(status.st_size)};
  const auto known = seen_.find(name);
  // Two changes within one tick of the file system's clock may leave the same stamp, so it is not
  // trusted against the kernel's word.
  if (word == Word::none && known != seen_.end() && known->second.stamp == stamp) {
    return Look::unchanged;
  }
  auto read = read_file(path_ / name);
  if (!read) {
    wrong(name, read.error(), is_news(name, read.error()));
    return Look::failed;
  }
  if (!*read) return Look::gone;
  const std::size_t hash = std::hash<std::string>{}(**read);
  const bool same = known != seen_.end() && known->second.content == hash;
  seen_.insert_or_assign(name, Seen{stamp, hash});
  if (same) return Look::unchanged;
  content = std::move(**read);
  return Look::read;
}

void PlatformDirectory::look_at_revision(const std::string& name, Word word) {
  const std::string place = below(name);
  std::string content;
  const Look found = look(place, word, content);
  if (found == Look::gone) {
    forget(place);
    const auto id = revision_of(name);
    if (told_.erase(name) > 0 && id) listener_.on_revision_gone(*id);
    return;
  }
  if (found != Look::read) return;
  if (!revision_of(name)) {
    wrong(place, {"it is not named after a revision", "name it <namespace>.<name>.json"});
    return;
  }
  auto parsed = parse_revision_file(content, name);
  if (!parsed) {
    wrong(place, parsed.error());
    return;
  }
  if (!told_.contains(name) && told_.size() >= options_.revisions_max) {
    wrong(place,
          {"there are " + std::to_string(told_.size()) + " revisions already",
           "the limit is reached; remove some"},
          !std::exchange(overfull_, true));
    return;
  }
  right(place);
  for (const std::string& key : parsed->unknown_keys) {
    log_.write(log::Severity::warning, "unknown key ignored", {{"file", place}, {"key", key}});
  }
  told_.insert(name);
  listener_.on_revision(std::move(parsed->value));
}

void PlatformDirectory::look_at_activators(Word word) {
  const std::string name{kActivators};
  std::string content;
  const Look found = look(name, word, content);
  if (found == Look::gone) {
    const bool known = seen_.contains(name);
    forget(name);
    if (known) listener_.on_activators({});
    return;
  }
  if (found != Look::read) return;
  auto parsed = parse_activators(content);
  if (!parsed) {
    wrong(name, parsed.error());
    return;
  }
  right(name);
  listener_.on_activators(std::move(*parsed));
}

std::optional<Problem> PlatformDirectory::look_at_settings(Word word) {
  const std::string& name = options_.settings_file;
  std::string content;
  const Look found = look(name, word, content);
  if (found == Look::gone) {
    const bool known = seen_.contains(name);
    forget(name);
    return known ? listener_.on_config({}) : std::nullopt;
  }
  if (found == Look::failed) {
    const auto known = wrong_.find(name);
    return known != wrong_.end() ? known->second : Problem{"it cannot be read", "make it readable"};
  }
  if (found == Look::unchanged) return std::nullopt;
  auto parsed = parse_settings(content);
  if (!parsed) return parsed.error();
  auto rejected = listener_.on_config(*parsed);
  if (!rejected) right(name);
  return rejected;
}

void PlatformDirectory::forget(const std::string& name) {
  seen_.erase(name);
  right(name);
}

bool PlatformDirectory::is_news(const std::string& name, const Problem& problem) const {
  const auto known = wrong_.find(name);
  return known == wrong_.end() || known->second != problem;
}

void PlatformDirectory::wrong(const std::string& name, const Problem& problem, bool first) {
  if (wrong_.size() < kWrongMax || wrong_.contains(name)) wrong_.insert_or_assign(name, problem);
  if (!first) return;
  log_.write(log::Severity::error,
             "invalid platform file ignored; the previous content stays in force",
             {{"file", name}, {"problem", problem.what}, {"fix", problem.fix}});
}

void PlatformDirectory::right(const std::string& name) {
  wrong_.erase(name);
}

}  // namespace sluice::files
