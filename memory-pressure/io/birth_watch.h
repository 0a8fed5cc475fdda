#pragma once

#include "common/base/lifetime.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "memory-pressure/io/cgroup_mounts.h"
#include "memory-pressure/io/kernel_file.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace sluice::node_agent {

/// A container, or the sandbox of a pod, whose program has begun: from here on it can take memory,
/// and the call that started it is answered.
struct Birth {
  std::string id;
  pid_t pid = 0;
  std::string group;  ///< its path in the hierarchy that accounts memory; empty: not known
  TimePoint seen;     ///< when the program was seen
  TimePoint after;    ///< it had not begun by then; the epoch: not known
};

/// What was seen so far, for metrics.
struct BirthCounts {
  std::uint64_t births = 0;
  std::size_t embryos = 0;  ///< have a control group and no program yet
  std::size_t groups = 0;   ///< that are watched
};

/// Sees containers begin, without the runtime: inotify reports new control groups, and the
/// processes in one are looked at until they are the runtime's no longer. A group that ends before
/// has had no program. What inotify does not report may come from the runtime (started()). Used on
/// the io thread.
class BirthWatch {
 public:
  struct Options {
    std::string root{};       ///< of /proc; tests only
    Duration sight = kSight;  ///< within which a program that has begun is seen
    std::size_t directories_max = 8192;
    std::size_t embryos_max = 1024;
  };

  static constexpr Duration kSight = std::chrono::milliseconds{10};

  /// Gets all that were seen in one look.
  using Born = std::function<void(const std::vector<Birth>&)>;

  /// Gets the id of a container, or of a sandbox, whose control group was made.
  using Expected = std::function<void(const std::string& id)>;

  /// `mount`: of the hierarchy that accounts memory. All outlive this, `mount` is copied.
  BirthWatch(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
             CgroupMount mount, Options options);

  /// From now on `born` runs for containers that begin in the kubelet's groups and in those of
  /// cover(); after the kernel has lost events also for some that were reported before. False: the
  /// kernel has no watch for us.
  bool start(Born born);

  /// `expected` runs some milliseconds before the program of a container begins, while the runtime
  /// makes it. Not for those that were there before start().
  void on_expected(Expected expected) { expected_ = std::move(expected); }

  /// Also watches `group`, and the groups in it.
  void cover(const std::string& group);

  /// Also watches where a container of the group `container` was made: all of the kubelet's groups,
  /// if it is in there.
  void cover_siblings(const std::string& container);

  /// The runtime reports that the program of `id` begins in the process `pid`, or is about to: it
  /// is looked at like one in a new group. Only for one of which no birth was reported, or it is
  /// reported again.
  void started(const std::string& id, pid_t pid);

  void stop();

  /// For metrics.
  [[nodiscard]] BirthCounts counts() const {
    return {.births = births_, .embryos = embryos_.size(), .groups = watched_.size()};
  }

 private:
  struct Watched {
    std::string group;
    int depth = 0;
  };

  struct Embryo {
    std::string group;   // empty: known by its process
    bool old = false;    // it was there before us: perhaps with its program
    pid_t pid = 0;       // the newest of its processes; 0: none yet
    KernelFile name;     // of that process
    TimePoint found{};   // when its group was
    TimePoint looked{};  // when it had no program yet
  };

  enum class Stage : unsigned char { before, begun, over };

  void watch(const std::string& group, int depth);
  void scan(const Watched& where);
  void found(const Watched& where, const std::string& name);
  void gone(const Watched& where, const std::string& name);
  [[nodiscard]] Embryo* new_embryo(const std::string& id);
  [[nodiscard]] KernelFile name_of(pid_t pid) const;
  void forget(int descriptor);
  void wait();
  void read_events();
  void scan_all();
  void look_later();
  void look();
  [[nodiscard]] Stage stage(Embryo& embryo);
  void say_full(std::string_view what, std::size_t limit);

  const Clock& clock_;      // of App
  const log::Logger& log_;  // of App
  CgroupMount mount_;
  Options options_;
  Born born_;
  Expected expected_;
  boost::asio::posix::stream_descriptor events_;
  boost::asio::steady_timer timer_;
  std::map<int, Watched> watched_;          // by the kernel's number
  std::map<std::string, int> directories_;  // the same by group
  std::map<std::string, Embryo> embryos_;   // by container
  std::uint64_t births_ = 0;
  bool looking_ = false;
  bool full_ = false;
  bool arriving_ = false;  // what is found now was there before
  std::string buffer_;
  Lifetime alive_;
};

/// The container whose control group is called so: by its id, as `cri-containerd-ID.scope` or
/// `crio-ID.scope`. Empty: it is not one of a container.
[[nodiscard]] std::string container_of_group(std::string_view name);

/// Whether a process of this name (`/proc/PID/comm`) is the runtime on its way to the program.
[[nodiscard]] bool is_runtimes(std::string_view name);

}  // namespace sluice::node_agent
