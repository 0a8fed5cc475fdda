#include "memory-pressure/io/container_events.h"

#include <utility>

namespace sluice::node_agent {

ContainerEvents::ContainerEvents(boost::asio::io_context& io, const log::Logger& log,
                                 std::function<void()> news)
    : io_{io}, log_{log}, news_{std::move(news)}, pause_{io} {}

void ContainerEvents::start(const std::string& socket) {
  auto client = rpc::Client::make(io_,
                                  {.target = "unix:" + socket,
                                   .method = "/runtime.v1.RuntimeService/GetContainerEvents",
                                   .opening = ""},  // GetEventsRequest has no fields
                                  {.on_connected = {},
                                   .on_message = [this](const std::string&) { heard(); },
                                   .on_writable = {},
                                   .on_closed = [this](const auto& how) { closed(how); }});
  client_ = std::move(*client);  // nothing to read, hence no problem: the line is in clear text
  client_->start();
}

void ContainerEvents::stop() {
  if (client_) client_->stop();
  pause_.cancel();
}

void ContainerEvents::heard() {
  if (std::exchange(pausing_, true)) {
    again_ = true;
    return;
  }
  pause_.expires_after(kPause);
  pause_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    pausing_ = false;
    if (std::exchange(again_, false)) heard();
  });
  news_();
}

void ContainerEvents::closed(const rpc::Client::Closed& closed) {
  if (closed.ending.code != rpc::Code::unimplemented) return;
  unsupported_ = true;
  client_->stop();
  log_.write(log::Severity::info,
             "the runtime sends no events: its container list is read each second");
}

}  // namespace sluice::node_agent
