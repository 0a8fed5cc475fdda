#pragma once

#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include "platform/process/child.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace sluice::local {

/// Starts programs one after the other in a thread of its own, so that a loop does not wait while
/// the system loads them. The thread lives as long as this, and its children end with it.
class Spawner {
 public:
  using Done = std::function<void(Result<Child, Problem>)>;

  /// Both outlive this; `io` is run by the thread that makes this.
  Spawner(boost::asio::io_context& io, Reaper& reaper);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner(Spawner&&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  Spawner& operator=(Spawner&&) = delete;

  /// Starts a program as spawn() does. `done` is called once from the loop, where the child is to
  /// be watched: until then it is not reaped. Once `owner` is over it is not called: the program is
  /// not started, or is killed.
  void start(SpawnSpec spec, Lifetime::Watch owner, Done done);

  /// Ends the thread, and its children with it; what has not started yet does not start. False: a
  /// start has not returned within `limit`.
  [[nodiscard]] bool end(Duration limit);

 private:
  struct Job {
    SpawnSpec spec;
    Lifetime::Watch owner;
    Done done;
    Lifetime::Watch alive;
  };

  void run(const std::stop_token& stop);
  void finish(Job job, Result<Child, Problem> child);

  boost::asio::io_context& io_;
  Reaper& reaper_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Job> queue_;  // guarded by mutex_; for each replica two programs and a few commands
  bool ended_ = false;     // the thread; guarded by mutex_
  Lifetime alive_;
  std::jthread thread_;  // uses all of the above
};

}  // namespace sluice::local
