#include "memory-pressure/io/birth_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

namespace asio = boost::asio;

// The kernel tells no watch of its own end in these file systems: the parent's event does.
constexpr std::uint32_t kInterest = IN_CREATE | IN_DELETE | IN_ONLYDIR;
constexpr std::size_t kEventBytes = 64 * 1024;
constexpr std::size_t kIdLength = 64;
// kubepods, class, pod: what lies deeper is a container's own affair.
constexpr int kDepthMax = 4;
// A program takes some megabytes of memory in each millisecond from its first on.
constexpr Duration kLook = std::chrono::microseconds{500};
// What takes longer to start is looked at less often.
constexpr Duration kSoon = std::chrono::seconds{1};
constexpr Duration kLookSlow = std::chrono::milliseconds{2};
// Groups of the runtime's own choice, where no kubelet names one.
constexpr std::string_view kRuntimesOwn = "k8s.io";
constexpr std::string_view kKubelets = "kubepods";
constexpr std::array<std::string_view, 4> kRuntimes{"runc", "crun", "youki", "exe"};

bool is_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char each) { return each >= '0' && each <= '9'; });
}

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
  });
}

std::string parent_of(const std::string& group) {
  const std::size_t slash = group.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : group.substr(0, slash);
}

std::string below(const std::string& group, const std::string& name) {
  return group == "/" ? "/" + name : group + "/" + name;
}

// The newest is last: of a runtime's chain of processes the one that becomes the program.
pid_t last_process(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::size_t line = text.rfind('\n');
  if (line != std::string_view::npos) text.remove_prefix(line + 1);
  return static_cast<pid_t>(first_number(text).value_or(0));
}

}  // namespace

std::string container_of_group(std::string_view name) {
  constexpr std::string_view kScope = ".scope";
  if (name.ends_with(kScope)) name.remove_suffix(kScope.size());
  const std::size_t dash = name.find_last_of("-:");
  if (dash != std::string_view::npos) name.remove_prefix(dash + 1);
  return name.size() == kIdLength && is_hexadecimal(name) ? std::string{name} : std::string{};
}

// `runc:[2:INIT]`; before it has named itself the name of its file, which may be a descriptor.
bool is_runtimes(std::string_view name) {
  while (!name.empty() && name.back() == '\n') name.remove_suffix(1);
  name = name.substr(0, name.find(":["));
  return is_digits(name) || std::find(kRuntimes.begin(), kRuntimes.end(), name) != kRuntimes.end();
}

BirthWatch::BirthWatch(asio::io_context& io, const Clock& clock, const log::Logger& log,
                       CgroupMount mount, Options options)
    : clock_{clock},
      log_{log},
      mount_{std::move(mount)},
      options_{std::move(options)},
      events_{io},
      timer_{io} {}

bool BirthWatch::start(Born born) {
  born_ = std::move(born);
  if (!mount_) return false;
  const int descriptor = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (descriptor < 0) return false;
  events_.assign(descriptor);
  arriving_ = true;
  watch(mount_.top, 0);
  arriving_ = false;
  wait();
  return true;
}

void BirthWatch::stop() {
  boost::system::error_code ignored;
  events_.close(ignored);
  timer_.cancel();
  embryos_.clear();
}

void BirthWatch::cover(const std::string& group) {
  if (!events_.is_open() || group == mount_.top) return;
  arriving_ = true;
  watch(group, 1);
  arriving_ = false;
}

void BirthWatch::cover_siblings(const std::string& container) {
  if (!events_.is_open() || container.empty()) return;
  const std::size_t at = container.find(kKubelets);
  const std::string top =
      at == std::string::npos ? parent_of(container) : container.substr(0, container.find('/', at));
  if (!directories_.contains(top)) cover(top);
}

void BirthWatch::watch(const std::string& group, int depth) {
  const std::string directory = mount_.directory(group);
  if (directory.empty() || directories_.contains(group)) return;
  if (watched_.size() >= options_.directories_max) {
    return say_full("watched control groups", options_.directories_max);
  }
  const int number = ::inotify_add_watch(events_.native_handle(), directory.c_str(), kInterest);
  if (number < 0) {
    if (errno == ENOSPC) say_full("watches that the kernel grants a user", watched_.size());
    return;
  }
  const Watched where{group, depth};
  watched_[number] = where;
  directories_[group] = number;
  scan(where);  // for what was made before the watch
}

void BirthWatch::scan(const Watched& where) {
  std::error_code failed;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries{mount_.directory(where.group), failed};
  for (; !failed && entries != std::filesystem::directory_iterator{}; entries.increment(failed)) {
    std::error_code unknown;
    if (entries->is_directory(unknown)) names.push_back(entries->path().filename().string());
  }
  for (const std::string& name : names) found(where, name);
}

void BirthWatch::found(const Watched& where, const std::string& name) {
  const std::string group = below(where.group, name);
  const std::string id = container_of_group(name);
  if (id.empty()) {
    const bool wanted =
        where.depth > 0 || name.find(kKubelets) != std::string::npos || name == kRuntimesOwn;
    if (wanted && where.depth < kDepthMax) watch(group, where.depth + 1);
    return;
  }
  if (Embryo* const embryo = new_embryo(id)) {
    embryo->group = group;
    embryo->old = arriving_;
    embryo->looked = embryo->found;
    if (expected_ && !arriving_) expected_(id);
  }
}

// Absent: it is one already, or there are too many.
BirthWatch::Embryo* BirthWatch::new_embryo(const std::string& id) {
  if (embryos_.contains(id)) return nullptr;
  if (embryos_.size() >= options_.embryos_max) {
    say_full("containers about to start", options_.embryos_max);
    return nullptr;
  }
  Embryo& embryo = embryos_[id];
  embryo.found = clock_.now();
  look_later();
  return &embryo;
}

void BirthWatch::started(const std::string& id, pid_t pid) {
  if (!born_) return;
  if (Embryo* const embryo = new_embryo(id)) {
    embryo->pid = pid;
    embryo->name = name_of(pid);
  }
}

KernelFile BirthWatch::name_of(pid_t pid) const {
  return KernelFile{options_.root + "/proc/" + std::to_string(pid) + "/comm"};
}

void BirthWatch::gone(const Watched& where, const std::string& name) {
  embryos_.erase(container_of_group(name));
  const auto at = directories_.find(below(where.group, name));
  if (at == directories_.end()) return;
  ::inotify_rm_watch(events_.native_handle(), at->second);
  forget(at->second);
}

void BirthWatch::forget(int descriptor) {
  const auto at = watched_.find(descriptor);
  if (at == watched_.end()) return;
  directories_.erase(at->second.group);
  watched_.erase(at);
}

void BirthWatch::wait() {
  events_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this, alive = alive_.watch()](auto error) {
                       if (error || alive.over()) return;
                       read_events();
                       wait();
                     });
}

void BirthWatch::read_events() {
  alignas(inotify_event) std::array<char, kEventBytes> block;
  bool lost = false;
  while (true) {
    const ssize_t got = ::read(events_.native_handle(), block.data(), block.size());
    if (got <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, &block.at(at), sizeof event);
      const char* const name = event.len > 0 ? &block.at(at) + sizeof event : "";
      at += sizeof event + event.len;
      lost = lost || (event.mask & IN_Q_OVERFLOW) != 0;
      if ((event.mask & IN_IGNORED) != 0) forget(event.wd);
      const auto where = watched_.find(event.wd);
      if (where == watched_.end() || (event.mask & IN_ISDIR) == 0) continue;
      const Watched copy = where->second;  // the map changes meanwhile
      if ((event.mask & IN_CREATE) != 0) found(copy, name);
      if ((event.mask & IN_DELETE) != 0) gone(copy, name);
    }
  }
  if (lost) scan_all();
}

// Events are lost: all groups are read once more, so containers that are known are reported again.
void BirthWatch::scan_all() {
  log_.write(log::Severity::warning,
             "more control groups came and went than the kernel reports: reading them all",
             {{"directories", std::to_string(watched_.size())}});
  std::vector<Watched> all;
  for (const auto& [number, where] : watched_) all.push_back(where);
  for (const Watched& where : all) {
    std::error_code unknown;
    if (std::filesystem::is_directory(mount_.directory(where.group), unknown)) {
      scan(where);
    } else {
      gone({parent_of(where.group), where.depth}, where.group.substr(where.group.rfind('/') + 1));
    }
  }
}

void BirthWatch::look_later() {
  if (std::exchange(looking_, true)) return;
  const TimePoint now = clock_.now();
  const bool soon = std::any_of(embryos_.begin(), embryos_.end(), [now](const auto& entry) {
    return now - entry.second.found < kSoon;
  });
  timer_.expires_after(options_.sight > kSight ? options_.sight : soon ? kLook : kLookSlow);
  timer_.async_wait([this, alive = alive_.watch()](auto error) {
    if (error || alive.over()) return;
    looking_ = false;
    look();
  });
}

void BirthWatch::look() {
  const TimePoint now = clock_.now();
  std::vector<Birth> births;
  for (auto at = embryos_.begin(); at != embryos_.end();) {
    Embryo& embryo = at->second;
    const Stage reached = stage(embryo);
    if (reached == Stage::begun && !embryo.old) {
      births.push_back({.id = at->first,
                        .pid = embryo.pid,
                        .group = embryo.group,
                        .seen = clock_.now(),
                        .after = embryo.looked});
    }
    embryo.old = false;
    embryo.looked = now;
    at = reached == Stage::before ? std::next(at) : embryos_.erase(at);
  }
  if (!embryos_.empty()) look_later();
  births_ += births.size();
  if (!births.empty() && born_) born_(births);
}

// The process is followed by its own file, and its group read again only when that has ended:
// a look at a container that takes seconds to start costs one short read.
BirthWatch::Stage BirthWatch::stage(Embryo& embryo) {
  if (embryo.pid != 0) {
    const auto name = embryo.name.read(buffer_);
    if (name && !name->empty()) return is_runtimes(*name) ? Stage::before : Stage::begun;
  }
  if (embryo.group.empty()) return Stage::over;
  const bool had_processes = std::exchange(embryo.pid, 0) != 0;
  // Opened each time: v1 may show an open one the list of a second ago.
  KernelFile file{mount_.directory(embryo.group) + "/cgroup.procs"};
  const auto processes = file.read(buffer_);
  if (!processes) return Stage::over;
  embryo.pid = last_process(*processes);
  if (embryo.pid == 0) return had_processes ? Stage::over : Stage::before;
  embryo.name = name_of(embryo.pid);
  const auto name = embryo.name.read(buffer_);
  return !name || is_runtimes(*name) ? Stage::before : Stage::begun;
}

void BirthWatch::say_full(std::string_view what, std::size_t limit) {
  if (std::exchange(full_, true)) return;
  log_.write(log::Severity::warning,
             "too many " + std::string{what} + ": what is beyond is seen in the runtime's list",
             {{"limit", std::to_string(limit)}});
}

}  // namespace sluice::node_agent
