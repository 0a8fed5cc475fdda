#include "memory-pressure/io/guardian.h"

#include "common/base/errno_text.h"

#include <boost/asio/buffer.hpp>

#include "memory-pressure/core/recovery.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

namespace asio = boost::asio;

constexpr Duration kAgainAfter = std::chrono::seconds{1};

std::string whole_milliseconds(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count()) + "ms";
}

// A session of its own: what is typed at the agent's terminal is not meant for it.
int launch(const Guardian::Options& options, int line, pid_t& pid) {
  const std::string lease = whole_milliseconds(options.lease);
  std::vector<std::string> words{"node-agent",
                                 "guard",
                                 "--state-dir",
                                 options.state_dir,
                                 "--lease",
                                 lease,
                                 "--runtime-endpoint",
                                 "unix://" + options.socket,
                                 "--memory-source",
                                 options.memory_source,
                                 "--lower",
                                 std::to_string(options.lower)};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, line, kGuardLine);
  // It outlives us: what it kept open, our successor could not have.
  posix_spawn_file_actions_addclosefrom_np(&files, kGuardLine + 1);
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  const int failed =
      ::posix_spawn(&pid, options.program.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

}  // namespace

Guardian::Guardian(asio::io_context& io, const log::Logger& log, Options options)
    : log_{log}, options_{std::move(options)}, line_{io}, timer_{io} {}

Guardian::~Guardian() = default;

std::optional<Problem> Guardian::start() {
  wanted_ = true;
  return spawn();
}

std::optional<Problem> Guardian::spawn() {
  // Those before it have ended by now.
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Problem{"cannot create a pipe to the guardian: " + errno_text(errno),
                   "raise the limit on open files"};
  }
  const int failed = launch(options_, ends[0], pid_);
  ::close(ends[0]);
  if (failed != 0) {
    ::close(ends[1]);
    pid_ = 0;
    return Problem{"cannot start the guardian: " + errno_text(failed),
                   "without it, throttles stay after a crash until the next start"};
  }
  boost::system::error_code ignored;
  line_.assign(ends[1], ignored);
  log_.write(log::Severity::debug, "started the guardian", {{"pid", std::to_string(pid_)}});
  renewed_at_ = clock_.now();
  watch_line();
  renew();
  return std::nullopt;
}

// Ours is the stricter measure: the guardian counts from when it receives what we sent before.
bool Guardian::lapsed() {
  lapsed_ = lapsed_ || (pid_ != 0 && clock_.now() - renewed_at_ >= options_.lease);
  return lapsed_;
}

// A lease that has passed is not renewed: the caller has to know.
void Guardian::renew() {
  if (lapsed()) return;
  renewed_at_ = clock_.now();
  boost::system::error_code failed;
  line_.write_some(asio::buffer(&kStillHere, 1), failed);
  timer_.expires_after(options_.lease / kRenewalsPerLease);
  timer_.async_wait([this, alive = alive_.watch()](auto error) {
    if (!error && !alive.over() && wanted_) renew();
  });
}

// The reading end closes when the guardian ends.
void Guardian::watch_line() {
  line_.async_wait(asio::posix::stream_descriptor::wait_error,
                   [this, alive = alive_.watch()](auto error) {
                     if (error || alive.over()) return;
                     (void)lapsed();
                     bury();
                     if (wanted_) again();
                   });
}

void Guardian::again() {
  log_.write(log::Severity::warning, "the guardian ended; starting another");
  timer_.expires_after(kAgainAfter);
  timer_.async_wait([this, alive = alive_.watch()](auto error) {
    if (error || alive.over() || !wanted_) return;
    if (const auto problem = spawn()) {
      log_.write(log::Severity::error, problem->text());
      again();
    }
  });
}

void Guardian::bury() {
  boost::system::error_code ignored;
  line_.close(ignored);
  timer_.cancel();
  pid_ = 0;
}

void Guardian::end() {
  wanted_ = false;
  if (pid_ != 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bury();
}

void Guardian::dismiss() {
  wanted_ = false;
  if (pid_ == 0) return;
  boost::system::error_code failed;
  line_.write_some(asio::buffer(&kDismissed, 1), failed);
  bury();
}

Vigil::Vigil(asio::io_context& io, int descriptor, Duration lease)
    : line_{io}, timer_{io}, lease_{lease} {
  boost::system::error_code ignored;
  line_.assign(descriptor, ignored);
}

void Vigil::keep(std::function<void(End)> done) {
  done_ = std::move(done);
  renew();
  listen();
}

void Vigil::renew() {
  timer_.expires_after(lease_);
  timer_.async_wait([this](auto error) {
    if (!error) end(End::lapsed);
  });
}

// An agent that has died closes the line; it may be started again within the lease.
void Vigil::listen() {
  line_.async_read_some(asio::buffer(&word_, 1), [this](auto error, std::size_t) {
    gone_ = gone_ || error == asio::error::eof;
    if (error) return;
    if (word_ == kDismissed) return end(End::dismissed);
    renew();
    listen();
  });
}

void Vigil::hurry() {
  if (gone_ && done_) end(End::lapsed);
}

void Vigil::end(End how) {
  boost::system::error_code ignored;
  line_.cancel(ignored);
  timer_.cancel();
  if (const auto done = std::exchange(done_, nullptr)) done(how);
}

}  // namespace sluice::node_agent
