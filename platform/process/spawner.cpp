#include "platform/process/spawner.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <csignal>
#include <utility>

namespace sluice::local {

Spawner::Spawner(boost::asio::io_context& io, Reaper& reaper)
    : io_{io}, reaper_{reaper}, thread_{[this](const std::stop_token& stop) { run(stop); }} {}

Spawner::~Spawner() {
  alive_.end();
}

void Spawner::start(SpawnSpec spec, Lifetime::Watch owner, Done done) {
  reaper_.hold();
  {
    const std::scoped_lock hold(mutex_);
    queue_.push_back({std::move(spec), std::move(owner), std::move(done), alive_.watch()});
  }
  changed_.notify_one();
}

void Spawner::run(const std::stop_token& stop) {
  std::unique_lock hold(mutex_);
  const auto has_work = [this] { return !queue_.empty(); };
  while (changed_.wait(hold, stop, has_work) && !stop.stop_requested()) {
    Job job = std::move(queue_.front());
    queue_.pop_front();
    hold.unlock();
    auto child =
        job.owner.over() ? Result<Child, Problem>{Problem{"is not wanted", ""}} : spawn(job.spec);
    finish(std::move(job), std::move(child));
    hold.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

bool Spawner::end(Duration limit) {
  thread_.request_stop();
  std::unique_lock hold(mutex_);
  return changed_.wait_for(hold, limit, [this] { return ended_; });
}

// The child is given up where its caller is gone: by then the thread has ended, and it with it.
void Spawner::finish(Job job, Result<Child, Problem> child) {
  auto handed = [this, owner = job.owner, done = std::move(job.done),
                 child = std::move(child)]() mutable {
    if (!owner.over()) {
      done(std::move(child));
    } else if (child) {
      kill_group(child->pid, SIGKILL);
    }
    reaper_.release();
  };
  boost::asio::post(io_, [handed = std::move(handed), alive = job.alive]() mutable {
    if (!alive.over()) handed();
  });
}

}  // namespace sluice::local
