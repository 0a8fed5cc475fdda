#pragma once

#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/loop/loop.h"

#include "platform/process/child.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace sluice::local {

/// Starts programs one after the other in a thread of its own, so that a loop does not wait while
/// the system loads them. A start that does not return, for the file system of its program is dead,
/// is given up, and the others go on in another thread. Threads live as long as this, and their
/// children end with them.
class Spawner {
 public:
  using Done = std::function<void(Result<Child, Problem>)>;

  /// After which a start is given up, and a second later at the latest.
  static constexpr std::chrono::seconds kLongest{5};

  /// Threads at most: with a start that does not return in each of them, nothing starts.
  static constexpr std::size_t kThreadsMax = 8;

  /// All outlive this; `io` is run by the thread that makes this, and `loop` is its loop.
  Spawner(boost::asio::io_context& io, Loop& loop, Reaper& reaper);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner(Spawner&&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  Spawner& operator=(Spawner&&) = delete;

  /// Starts a program as spawn() does. `done` is called once from the loop, where the child is to
  /// be watched: until then it is not reaped. Once `owner` is over it is not called: the program is
  /// not started, or is killed. While a start of the same program in the same directory does not
  /// return, another one is refused.
  void start(SpawnSpec spec, Lifetime::Watch owner, Done done);

  /// Ends the threads, and their children with them; what has not started yet does not start.
  /// False: a start has not returned within `limit`.
  [[nodiscard]] bool end(Duration limit);

 private:
  struct Job {
    SpawnSpec spec;
    Lifetime::Watch owner;
    Done done;
    Lifetime::Watch alive;
    std::optional<TimePoint> begun{};  // by the first look at it; of the loop, as the next
    bool given_up = false;
  };

  using Jobs = std::deque<std::shared_ptr<Job>>;

  void run(const std::stop_token& stop, std::size_t thread);
  void finish(const std::shared_ptr<Job>& job, Result<Child, Problem> child);
  void look();
  void serve_in_new_thread();

  boost::asio::io_context& io_;
  Loop& loop_;
  Reaper& reaper_;
  std::unique_ptr<Timer> timer_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Jobs queue_;               // guarded by mutex_; for each replica two programs and a few commands
  Jobs begun_;               // in a thread; guarded by mutex_
  std::size_t serving_ = 0;  // the thread that takes the next one; guarded by mutex_
  std::size_t ended_ = 0;    // threads; guarded by mutex_
  Lifetime alive_;
  std::vector<std::jthread> threads_;  // they use all of the above
};

}  // namespace sluice::local
