#include "queue-proxy/io/user_probe.h"

#include <boost/asio/post.hpp>

#include <cstdio>

namespace sluice::queue_proxy {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr int kRedirectsMax = 10;

bool names_host(const std::vector<std::pair<std::string, std::string>>& headers) {
  for (const auto& [name, value] : headers) {
    if (http::equals_ignoring_case(name, "host")) return true;
  }
  return false;
}

}  // namespace

// One container's probe: carries out what its ProbeRun says.
class UserProbe::Target {
 public:
  Target(UserProbe& probe, const ProbeSpec& spec, const net::Address& user)
      : probe_{probe}, spec_{spec}, run_{spec}, timer_{probe.io_}, attempt_timer_{probe.io_} {
    address_.host = spec.host;
    address_.port = spec.port;
    if (user.is_unix()) address_ = user;
  }

  ~Target() { *alive_ = false; }

  void begin() { follow(run_.begin(probe_.clock_.now())); }

 private:
  void follow(const ProbeRun::Next& next) {
    if (next.step == ProbeRun::Step::passed || next.step == ProbeRun::Step::failed) {
      probe_.target_done(next.step == ProbeRun::Step::passed);
      return;
    }
    if (next.after == Duration{0}) {
      attempt(next);
      return;
    }
    timer_.expires_after(next.after);
    timer_.async_wait([this, next, alive = alive_](const error_code& ec) {
      if (*alive && !ec) attempt(next);
    });
  }

  void attempt(const ProbeRun::Next& next) {
    if (next.step == ProbeRun::Step::connect) {
      connect(next.timeout);
    } else {
      redirects_ = 0;
      get(spec_.path, next.timeout);
    }
  }

  void attempted(bool success) { follow(run_.attempted(success, probe_.clock_.now())); }

  void connect(Duration timeout) {
    socket_ = std::make_unique<net::Socket>(probe_.io_);
    attempt_timer_.expires_after(timeout);
    attempt_timer_.async_wait([this, alive = alive_](const error_code& ec) {
      error_code ignored;
      if (*alive && !ec) socket_->close(ignored);
    });
    socket_->async_connect(net::endpoint_of(address_), [this, alive = alive_](const error_code& ec) {
      if (!*alive) return;
      attempt_timer_.cancel();
      error_code ignored;
      socket_->close(ignored);
      attempted(!ec);
    });
  }

  void get(const std::string& path, Duration timeout) {
    net::FetchRequest request;
    request.target = address_;
    request.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    request.head = "GET " + path + " HTTP/1.1\r\n";
    if (!names_host(spec_.headers)) request.head += "Host: " + address_.text() + "\r\n";
    request.head += "User-Agent: kube-probe//\r\nConnection: close\r\n";
    for (const auto& [name, value] : spec_.headers) request.head += name + ": " + value + "\r\n";
    request.head += "\r\n";
    // The answer may end this very fetch, so the old one goes only when the next begins.
    fetch_ = std::make_unique<net::Fetch>(
        probe_.io_, std::move(request),
        [this, timeout](const Result<net::FetchResponse>& response) { got(response, timeout); });
  }

  void got(const Result<net::FetchResponse>& response, Duration timeout) {
    if (!response) {
      // A body longer than we read is no failure: the status was good enough to send one.
      attempted(response.error() == Error::too_large);
      return;
    }
    const int status = response->head.status;
    const std::string location{response->head.fields.find("Location")};
    if (status >= 300 && status < 400 && location.starts_with('/') && ++redirects_ <= kRedirectsMax) {
      asio::post(probe_.io_, [this, location, timeout, alive = alive_] {
        if (*alive) get(location, timeout);
      });
      return;
    }
    attempted(status >= 200 && status < 400 && redirects_ <= kRedirectsMax);
  }

  UserProbe& probe_;  // owns this target
  ProbeSpec spec_;
  ProbeRun run_;
  net::Address address_;
  asio::steady_timer timer_;
  asio::steady_timer attempt_timer_;
  std::unique_ptr<net::Socket> socket_;
  std::unique_ptr<net::Fetch> fetch_;
  int redirects_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

UserProbe::UserProbe(asio::io_context& io, const Clock& clock, const std::vector<ProbeSpec>& specs,
                     const net::Address& user, bool always_ready)
    : io_{io}, clock_{clock}, always_ready_{always_ready} {
  for (const ProbeSpec& spec : specs) {
    if (!spec.refusal.empty()) std::fprintf(stderr, "readiness: %s\n", spec.refusal.c_str());
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
  target_done(!targets_.empty());
}

void UserProbe::target_done(bool ready) {
  all_ready_ = all_ready_ && ready;
  if (--running_ > 0) return;
  const std::vector<Answer> answers = std::move(waiting_);
  waiting_.clear();
  for (const Answer& answer : answers) answer(all_ready_);
}

}  // namespace sluice::queue_proxy
