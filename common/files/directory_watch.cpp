#include "common/files/directory_watch.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

namespace sluice::files {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// A file is news when it is whole: renamed into place, or closed by its writer. Directories are
// news when they are made.
constexpr std::uint32_t kInterest = IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_DELETE |
                                    IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

using Changes = std::set<DirectoryChange>;

}  // namespace

struct DirectoryWatch::Run {
  struct Watched {
    std::filesystem::path path;
    int watch = -1;  // of the kernel; -1: none
  };

  Run(asio::io_context& io, std::vector<std::filesystem::path> directories, Changed on_changed,
      WatchPace how_often)
      : timer{io}, changed{std::move(on_changed)}, pace{how_often} {
    for (auto& path : directories) watched.push_back({std::move(path)});
    const int descriptor = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (descriptor < 0) return;  // none left for this user: looking through will do
    queue.emplace(io, descriptor);
  }

  // Watches what is not watched yet; what has been found is to be looked through.
  void arm(Changes& changes) {
    if (!queue) return;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].watch >= 0) continue;
      watched[i].watch =
          ::inotify_add_watch(queue->native_handle(), watched[i].path.c_str(), kInterest);
      if (watched[i].watch >= 0) changes.insert({i, {}});
    }
  }

  [[nodiscard]] bool complete() const {
    return queue && std::all_of(watched.begin(), watched.end(),
                                [](const Watched& each) { return each.watch >= 0; });
  }

  void everything(Changes& changes) const {
    for (std::size_t i = 0; i < watched.size(); ++i) changes.insert({i, {}});
  }

  static void wait(const std::shared_ptr<Run>& self) {
    if (!self->queue) return;
    self->queue->async_wait(asio::posix::stream_descriptor::wait_read,
                            [self](const error_code& ec) {
                              if (ec || self->stopped) return;
                              Changes changes;
                              self->read(changes);
                              wait(self);
                              self->tell(changes);
                            });
  }

  static void look_through_later(const std::shared_ptr<Run>& self) {
    self->timer.expires_after(self->complete() ? self->pace.told : self->pace.blind);
    self->timer.async_wait([self](const error_code& ec) {
      if (ec || self->stopped) return;
      Changes changes;
      self->arm(changes);
      self->everything(changes);
      look_through_later(self);
      self->tell(changes);
    });
  }

  void read(Changes& changes) {
    alignas(inotify_event) std::array<char, 16 * 1024> block{};
    bool directories_moved = false;
    while (true) {
      const ssize_t got = ::read(queue->native_handle(), block.data(), block.size());
      if (got <= 0) break;
      for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
        inotify_event event{};
        std::memcpy(&event, &block.at(at), sizeof event);
        const char* const name = &block.at(at) + sizeof event;
        directories_moved = take(event, event.len > 0 ? name : "", changes) || directories_moved;
        at += sizeof event + event.len;
      }
    }
    if (directories_moved) arm(changes);
  }

  // Returns whether directories came or went.
  bool take(const inotify_event& event, const char* name, Changes& changes) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      everything(changes);
      return true;
    }
    const auto at = std::find_if(watched.begin(), watched.end(),
                                 [&event](const Watched& each) { return each.watch == event.wd; });
    if (at == watched.end()) return false;
    const auto index = static_cast<std::size_t>(at - watched.begin());
    if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) {
      if ((event.mask & IN_MOVE_SELF) != 0) ::inotify_rm_watch(queue->native_handle(), at->watch);
      at->watch = -1;
      changes.insert({index, {}});
      return true;
    }
    const bool directory = (event.mask & IN_ISDIR) != 0;
    if (directory) return true;
    if ((event.mask & IN_CREATE) == 0 && *name != '\0') changes.insert({index, name});
    return false;
  }

  void tell(const Changes& changes) {
    if (changes.empty() || stopped) return;
    const std::vector<DirectoryChange> list{changes.begin(), changes.end()};
    // It may end the watch.
    const Changed call = changed;
    call(list);
  }

  asio::steady_timer timer;
  std::optional<asio::posix::stream_descriptor> queue;
  std::vector<Watched> watched;
  Changed changed;
  WatchPace pace;
  bool stopped = false;
};

DirectoryWatch::DirectoryWatch(asio::io_context& io, std::vector<std::filesystem::path> directories,
                               Changed changed, WatchPace pace)
    : run_{std::make_shared<Run>(io, std::move(directories), std::move(changed), pace)} {
  Changes found;
  run_->arm(found);
  Run::wait(run_);
  Run::look_through_later(run_);
}

DirectoryWatch::~DirectoryWatch() {
  run_->stopped = true;
  run_->timer.cancel();
  error_code ignored;
  if (run_->queue) run_->queue->close(ignored);
}

bool DirectoryWatch::complete() const {
  return run_->complete();
}

}  // namespace sluice::files
