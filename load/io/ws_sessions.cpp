#include "load/io/ws_sessions.h"

#include <boost/asio/post.hpp>

#include "load/io/ws_session.h"
#include <algorithm>

namespace sluice::loadgen {

namespace asio = boost::asio;

std::uint64_t ws_messages(const TargetPlan& target, Duration at, Duration end) {
  const Duration open = std::min(target.hold, end - at);
  const auto count = (open + target.every - Duration{1}) / target.every;
  return static_cast<std::uint64_t>(std::max<decltype(count)>(count, 1));
}

WsSessions::WsSessions(boost::asio::io_context& io, Owner& owner)
    : io_{io}, owner_{owner}, buffer_{std::make_unique<std::array<char, kReadBytes>>()} {}

WsSessions::~WsSessions() = default;

void WsSessions::start(const WsOrder& order) {
  // When half of them are over, which makes it cheap for each.
  if (sessions_.size() > 2 * active_ + 16) remove_over();
  ++active_;
  sessions_.emplace_back(std::make_unique<WsSession>(io_, *this, order))->start();
}

void WsSessions::remove_over() {
  std::erase_if(sessions_,
                [](const auto& session) { return session->is_over() && session->pending() == 0; });
}

void WsSessions::is_over() {
  --active_;
  if (told_) return;
  told_ = true;
  // Later: the owner may start others, and those that are over are removed then.
  asio::post(io_, [this] {
    told_ = false;
    owner_.ws_over();
  });
}

void WsSessions::give_up() {
  for (const auto& session : sessions_) session->give_up();
}

void WsSessions::close() {
  for (const auto& session : sessions_) session->close();
}

bool WsSessions::is_quiet() const {
  return !told_ && std::all_of(sessions_.begin(), sessions_.end(), [](const auto& session) {
    return session->is_over() && session->pending() == 0;
  });
}

}  // namespace sluice::loadgen
