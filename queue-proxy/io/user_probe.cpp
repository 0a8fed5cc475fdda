#include "queue-proxy/io/user_probe.h"

#include "common/base/lifetime.h"
#include "queue-proxy/io/probe_attempt.h"

#include <boost/asio/steady_timer.hpp>

#include <cstdio>
#include <optional>
#include <string>

namespace sluice::queue_proxy {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// An activator asks five times a second: the same complaint is logged again only after this.
constexpr Duration kRepeatAfter = std::chrono::seconds{10};

}  // namespace

// One container's probe: carries out what its ProbeRun says.
class UserProbe::Target {
 public:
  Target(UserProbe& probe, const ProbeSpec& spec, const net::Address& user)
      : probe_{probe},
        spec_{spec},
        run_{spec},
        timer_{probe.io_},
        attempt_{probe.io_, probe.loop_, spec_, user,
                 [this](const AttemptReport& report) { attempted(report); }} {}

  ~Target() { alive_.end(); }

  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  void begin() {
    last_error_ = spec_.refusal;
    const TimePoint now = probe_.loop_.now();
    const ProbeRun::Next next = run_.begin(now);
    // Only a gRPC probe without its timeout ends here with nothing tried.
    if (next.step == ProbeRun::Step::failed && last_error_.empty()) {
      last_error_ = "gRPC probe failed: timeoutSeconds is 0";
    }
    follow(next, now);
  }

 private:
  void follow(const ProbeRun::Next& next, TimePoint now) {
    if (next.step != ProbeRun::Step::attempt) {
      const bool ready = next.step == ProbeRun::Step::passed;
      if (!ready) tell(run_.failure(last_error_), now);
      probe_.target_done(ready);
      return;
    }
    timer_.expires_after(next.after);
    timer_.async_wait([this, timeout = next.timeout, alive = alive_.watch()](const error_code& ec) {
      if (!alive.over() && !ec) attempt_.start(timeout);
    });
  }

  void attempted(const AttemptReport& report) {
    const TimePoint now = probe_.loop_.now();
    if (report.outcome != Attempt::passed) {
      last_error_ = report.text;
    } else if (!report.text.empty()) {
      tell(report.text, now);
    }
    follow(run_.attempted(report.outcome, now), now);
  }

  void tell(const std::string& line, TimePoint now) {
    if (line == told_ && now - told_at_ < kRepeatAfter) return;
    std::fprintf(stderr, "%s\n", line.c_str());
    told_ = line;
    told_at_ = now;
  }

  UserProbe& probe_;  // owns this target
  ProbeSpec spec_;
  ProbeRun run_;
  std::string last_error_;
  std::string told_;
  TimePoint told_at_{};
  asio::steady_timer timer_;
  ProbeAttempt attempt_;
  Lifetime alive_;
};

UserProbe::UserProbe(asio::io_context& io, const Loop& loop, const std::vector<ProbeSpec>& specs,
                     const net::Address& user, bool always_ready)
    : io_{io}, loop_{loop}, always_ready_{always_ready} {
  for (const ProbeSpec& spec : specs) {
    targets_.push_back(std::make_unique<Target>(*this, spec, user));
  }
}

UserProbe::~UserProbe() = default;

void UserProbe::ask(Answer answer) {
  if (always_ready_) {
    answer(true);
    return;
  }
  waiting_.push_back(std::move(answer));
  if (running_ > 0) return;
  all_ready_ = true;
  // One more than there are targets, so that targets that fail at once do not end the run early.
  running_ = targets_.size() + 1;
  for (const auto& target : targets_) target->begin();
  target_done(true);
}

void UserProbe::target_done(bool ready) {
  all_ready_ = all_ready_ && ready;
  if (--running_ > 0) return;
  const std::vector<Answer> answers = std::move(waiting_);
  waiting_.clear();
  for (const Answer& answer : answers) answer(all_ready_);
}

}  // namespace sluice::queue_proxy
