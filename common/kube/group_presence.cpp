#include "common/kube/group_presence.h"

#include <algorithm>
#include <utility>

namespace sluice::kube {

namespace {

constexpr const char* kGroups = "/apis";

}  // namespace

GroupPresence::GroupPresence(boost::asio::io_context& io, Client& client, std::string_view group)
    : client_{client}, quoted_{"\"" + std::string{group} + "\""}, timer_{io} {}

GroupPresence::~GroupPresence() {
  alive_.end();
}

Duration GroupPresence::pause_after(std::size_t failures) {
  Duration pause = kFirstPause;
  for (std::size_t more = 1; more < failures && pause < kFailedPause; ++more) pause *= 2;
  return std::min(pause, kFailedPause);
}

void GroupPresence::start(Told told) {
  told_ = std::move(told);
  ask();
}

void GroupPresence::ask() {
  Request request;
  request.path = kGroups;
  call_ = client_.send(std::move(request), [this](const Answer& answer) { take(answer); });
}

void GroupPresence::take(const Answer& answer) {
  if (!answer) {
    problem_ = answer.error().text();
    return ask_later(pause_after(++failures_));
  }
  problem_.clear();
  failures_ = 0;
  there_ = answer->find(quoted_) != std::string::npos;
  absent_ = !there_;
  if (absent_) ask_later(kAbsentPause);
  told_(there_);
}

void GroupPresence::ask_later(Duration pause) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause));
  timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (!ec && !alive.over()) ask();
  });
}

}  // namespace sluice::kube
