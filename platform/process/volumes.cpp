#include "platform/process/volumes.h"

#include <fmt/format.h>

#include "platform/process/unique_fd.h"
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::local {
namespace fs = std::filesystem;

namespace {

constexpr mode_t kOwnerReads = 0400;
/// In a container any user may run; other users of this machine do not get past the directory that
/// holds all volumes.
constexpr mode_t kAllRead = 0444;
constexpr mode_t kAllWrite = 0777;
constexpr mode_t kAllEnter = 0755;
/// As many entries as are removed at once.
constexpr std::size_t kAtOnce = 1000;

bool in_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

/// Whether a path may begin at `at`: not within another one, but after the `//` of a URL.
bool begins_there(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  if (text.substr(0, at).ends_with("://")) return true;
  return !in_a_name(text[at - 1]) && text[at - 1] != '/';
}

bool ends_there(std::string_view text, std::size_t end) {
  return end == text.size() || !in_a_name(text[end]);
}

Problem cannot_write(const fs::path& path, int error) {
  return {fmt::format("cannot write {}: {}", path.string(), std::strerror(error)),
          "make the runtime directory writable"};
}

std::optional<Problem> write_file(const fs::path& path, const std::string& bytes, mode_t mode) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return cannot_write(path, errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return cannot_write(path, count < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(count);
  }
  if (::fchmod(file.get(), mode) != 0) return cannot_write(path, errno);
  return std::nullopt;
}

/// The files of a source by their paths below the volume.
std::vector<std::pair<std::string, const std::string*>> files_of(const ServiceSpec& spec,
                                                                 const VolumeSource& source) {
  std::vector<std::pair<std::string, const std::string*>> files;
  const auto document = spec.config.find(source.source);
  if (document == spec.config.end()) return files;  // optional
  for (const auto& [key, value] : document->second) {
    const auto item = source.items.find(key);
    if (item != source.items.end()) {
      files.emplace_back(item->second, &value);
    } else if (source.items.empty()) {
      files.emplace_back(key, &value);
    }
  }
  return files;
}

std::optional<Problem> write_volume(const ServiceSpec& spec, const Volume& volume,
                                    const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return cannot_write(directory, failed.value());
  const bool shared = spec.needs_containers();
  const auto mode = static_cast<mode_t>(volume.mode.value_or(shared ? kAllRead : kOwnerReads));
  if (shared && ::chmod(directory.c_str(), volume.sources.empty() ? kAllWrite : kAllEnter) != 0)
    return cannot_write(directory, errno);
  for (const VolumeSource& source : volume.sources) {
    for (const auto& [path, bytes] : files_of(spec, source)) {
      const fs::path file = directory / path;
      fs::create_directories(file.parent_path(), failed);
      if (failed) return cannot_write(file.parent_path(), failed.value());
      fs::remove(file, failed);  // of an earlier source, perhaps not to be written
      if (auto problem = write_file(file, *bytes, mode)) return problem;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<MountPlace> places_of(const std::vector<VolumeMount>& mounts,
                                  const fs::path& directory) {
  std::vector<MountPlace> places;
  for (const VolumeMount& mount : mounts) {
    fs::path place = directory / mount.volume;
    if (!mount.sub_path.empty()) place /= mount.sub_path;
    places.push_back({mount.path, place.string()});
  }
  std::stable_sort(places.begin(), places.end(), [](const MountPlace& a, const MountPlace& b) {
    return a.path.size() > b.path.size();
  });
  return places;
}

std::string at_places(std::string_view text, const std::vector<MountPlace>& places) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = std::find_if(places.begin(), places.end(), [&](const MountPlace& place) {
      return text.substr(at).starts_with(place.path) && begins_there(text, at) &&
             ends_there(text, at + place.path.size());
    });
    if (found == places.end()) {
      result += text[at++];
    } else {
      result += found->place;
      at += found->path.size();
    }
  }
  return result;
}

std::optional<Problem> write_volumes(const ServiceSpec& spec, const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return cannot_write(directory, failed.value());
  if (::chmod(directory.c_str(), 0700) != 0) return cannot_write(directory, errno);
  for (const Volume& volume : spec.volumes) {
    if (auto problem = write_volume(spec, volume, directory / volume.name)) return problem;
  }
  const auto make_sub_paths = [&](const std::vector<VolumeMount>& mounts) {
    for (const VolumeMount& mount : mounts) {
      const fs::path place = directory / mount.volume / mount.sub_path;
      if (!mount.sub_path.empty() && !fs::exists(place, failed))
        fs::create_directories(place, failed);
    }
  };
  make_sub_paths(spec.mounts);
  for (const ProgramSpec& program : spec.init) make_sub_paths(program.mounts);
  return std::nullopt;
}

bool remove_some(const fs::path& directory) {
  std::error_code failed;
  std::vector<fs::path> entries;  // a directory before what it holds
  for (fs::recursive_directory_iterator entry{directory, failed}, end;
       !failed && entry != end && entries.size() < kAtOnce; entry.increment(failed)) {
    entries.push_back(entry->path());
  }
  bool removed = false;
  if (entries.size() == kAtOnce) {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (fs::remove(*entry, failed)) removed = true;
    }
  }
  if (!removed) fs::remove_all(directory, failed);
  return !removed;
}

}  // namespace sluice::local
