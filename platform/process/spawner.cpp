#include "platform/process/spawner.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::chrono::seconds kLookInterval{1};

Problem not_returned(const SpawnSpec& spec) {
  return {fmt::format("cannot start {}: exec has not returned within {} s", spec.program.string(),
                      Spawner::kLongest.count()),
          "check that the file systems of the program and of its directory answer"};
}

}  // namespace

Spawner::Spawner(boost::asio::io_context& io, Loop& loop, Reaper& reaper)
    : io_{io}, loop_{loop}, reaper_{reaper}, timer_{loop.timer()} {
  serve_in_new_thread();
}

Spawner::~Spawner() {
  alive_.end();
}

void Spawner::serve_in_new_thread() {
  const std::scoped_lock hold(mutex_);
  serving_ = threads_.size();
  threads_.emplace_back(
      [this, thread = serving_](const std::stop_token& stop) { run(stop, thread); });
}

void Spawner::start(SpawnSpec spec, Lifetime::Watch owner, Done done) {
  const auto job = std::make_shared<Job>(
      Job{std::move(spec), std::move(owner), std::move(done), alive_.watch()});
  reaper_.hold();
  std::unique_lock hold(mutex_);
  const bool hangs = std::any_of(begun_.begin(), begun_.end(), [&job](const auto& other) {
    return other->given_up && other->spec.program == job->spec.program &&
           other->spec.cwd == job->spec.cwd;
  });
  const bool looks = !queue_.empty() || !begun_.empty();
  if (!hangs) queue_.push_back(job);
  hold.unlock();
  if (hangs) return finish(job, not_returned(job->spec));
  changed_.notify_all();
  if (!looks) timer_->after(kLookInterval, [this] { look(); });
}

void Spawner::run(const std::stop_token& stop, std::size_t thread) {
  std::unique_lock hold(mutex_);
  const auto has_work = [this, thread] { return serving_ == thread && !queue_.empty(); };
  while (changed_.wait(hold, stop, has_work) && !stop.stop_requested()) {
    const auto job = std::move(queue_.front());
    queue_.pop_front();
    begun_.push_back(job);
    hold.unlock();
    finish(job, job->owner.over() ? Result<Child, Problem>{Problem{"is not wanted", ""}}
                                  : spawn(job->spec));
    hold.lock();
    std::erase(begun_, job);
    serving_ = thread;  // also after a start that was given up
  }
  ++ended_;
  changed_.notify_all();
}

bool Spawner::end(Duration limit) {
  for (std::jthread& thread : threads_) thread.request_stop();
  std::unique_lock hold(mutex_);
  return changed_.wait_for(hold, limit, [this] { return ended_ == threads_.size(); });
}

// The child is given up where its caller is gone: by then the thread has ended, and it with it.
void Spawner::finish(const std::shared_ptr<Job>& job, Result<Child, Problem> child) {
  boost::asio::post(io_, [this, job, child = std::move(child)]() mutable {
    if (job->alive.over()) return;
    if (!job->owner.over() && !job->given_up) {
      job->done(std::move(child));
    } else if (child) {
      kill_group(child->pid, SIGKILL);
    }
    if (!job->given_up) reaper_.release();
  });
}

void Spawner::look() {
  Jobs late;
  std::unique_lock hold(mutex_);
  if (queue_.empty() && begun_.empty()) return;
  for (const auto& job : begun_) {
    if (!job->begun) job->begun = loop_.now();
    if (!job->given_up && loop_.now() - *job->begun >= kLongest) late.push_back(job);
  }
  hold.unlock();
  timer_->after(kLookInterval, [this] { look(); });
  for (const auto& job : late) {
    if (threads_.size() < kThreadsMax) serve_in_new_thread();
    job->given_up = true;
    if (!job->owner.over()) job->done(not_returned(job->spec));
    reaper_.release();
  }
}

}  // namespace sluice::local
