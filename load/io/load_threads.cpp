#include "load/io/load_threads.h"

#include "common/base/check.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <thread>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;

// A thread beside the first. Its run is touched by itself alone from start() until it has ended.
struct LoadThreads::Other {
  Other(const Clock& clock, const LoadPlan& plan, const std::vector<std::string>& addresses,
        std::vector<CellReader> cells, const net::ClientTls* tls, Share share)
      : run{loop, clock, plan_of_share(plan, share), addresses, std::move(cells), tls, share} {}

  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  ~Other() {
    loop.stop();
    if (thread.joinable()) thread.join();
  }

  asio::io_context loop{1};
  LoadRun run;
  std::thread thread;
};

LoadPlan plan_of_share(const LoadPlan& plan, const Share& share) {
  LoadPlan part = plan;
  const std::size_t more = share.thread < plan.connections % share.threads ? 1 : 0;
  part.connections = plan.connections / share.threads + more;
  CHECK(part.connections > 0);
  if (plan.loop == Loop::closed && plan.count) {
    const std::uint64_t one = share.thread < *plan.count % share.threads ? 1 : 0;
    part.count = *plan.count / share.threads + one;
  }
  return part;
}

LoadThreads::LoadThreads(asio::io_context& loop, const Clock& clock, const LoadPlan& plan,
                         const std::vector<std::string>& addresses,
                         std::vector<std::vector<CellReader>> cells, const net::ClientTls* tls)
    : loop_{loop},
      first_{loop,
             clock,
             plan_of_share(plan, {0, plan.threads}),
             addresses,
             cells.empty() ? std::vector<CellReader>{} : std::move(cells[0]),
             tls,
             {0, plan.threads}} {
  for (std::size_t i = 1; i < plan.threads; ++i) {
    others_.push_back(std::make_unique<Other>(
        clock, plan, addresses, cells.size() > i ? std::move(cells[i]) : std::vector<CellReader>{},
        tls, Share{i, plan.threads}));
  }
}

LoadThreads::~LoadThreads() = default;

void LoadThreads::start(std::function<void()> done) {
  done_ = std::move(done);
  running_ = 1 + others_.size();
  first_.start([this] { ended(); });
  for (const auto& other : others_) {
    // Posted before the thread runs the loop, which so has work until the run has ended.
    asio::post(other->loop, [this, run = &other->run, began = first_.began()] {
      run->start([this] { asio::post(loop_, [this] { ended(); }); }, began);
    });
    other->thread = std::thread{[loop = &other->loop] { loop->run(); }};
  }
}

void LoadThreads::ended() {
  if (--running_ > 0) return;
  for (const auto& other : others_) other->thread.join();
  over_ = true;
  if (!others_.empty()) {
    merged_ = first_.results();
    for (const auto& other : others_) merged_.add(other->run.results());
  }
  std::exchange(done_, nullptr)();
}

void LoadThreads::stop() {
  first_.stop();
  if (over_) return;
  for (const auto& other : others_) {
    asio::post(other->loop, [run = &other->run] { run->stop(); });
  }
}

const Results& LoadThreads::results() const {
  return over_ && !others_.empty() ? merged_ : first_.results();
}

std::size_t LoadThreads::connections() const {
  std::size_t sum = first_.connections();
  for (const auto& other : others_) sum += other->run.connections();
  return sum;
}

std::uint64_t LoadThreads::cap_waits() const {
  std::uint64_t sum = first_.cap_waits();
  for (const auto& other : others_) sum += other->run.cap_waits();
  return sum;
}

GeneratorWatch LoadThreads::generator() const {
  GeneratorWatch all = first_.generator();
  for (const auto& other : others_) all.add(other->run.generator());
  return all;
}

ErrorSamples LoadThreads::error_samples() const {
  ErrorSamples all = first_.error_samples();
  for (const auto& other : others_) {
    for (const ErrorSample& sample : other->run.error_samples().all()) {
      all.add(sample.at, sample.text);
    }
  }
  return all;
}

}  // namespace sluice::loadgen
