#include "memory-pressure/io/container_events.h"

#include "memory-pressure/cri/cri_codec.h"
#include <utility>

namespace sluice::node_agent {

ContainerEvents::ContainerEvents(boost::asio::io_context& io, const log::Logger& log,
                                 Receivers receivers)
    : io_{io}, log_{log}, receivers_{std::move(receivers)}, pause_{io} {}

void ContainerEvents::start(const std::string& socket) {
  subscribe(cri_,
            {.target = "unix:" + socket,
             .method = std::string{cri::kService} + "GetContainerEvents",
             .opening = ""},  // GetEventsRequest has no fields
            [this](const std::string&) { heard(); });
  subscribe(containerd_,
            {.target = "unix:" + socket,
             .method = std::string{cri::kSubscribe},
             .opening = cri::subscribe_request(),
             .seed = 1},
            [this](const std::string& bytes) { heard_of_task(bytes); });
}

void ContainerEvents::subscribe(Stream& stream, rpc::ClientOptions call,
                                std::function<void(std::string)> heard) {
  auto client =
      rpc::Client::make(io_, std::move(call),
                        {.on_connected = {},
                         .on_message = std::move(heard),
                         .on_writable = {},
                         .on_closed = [this, &stream](const auto& how) { closed(stream, how); }});
  stream = std::move(*client);  // nothing to read, hence no problem: the line is in clear text
  stream->start();
}

void ContainerEvents::stop() {
  if (cri_) cri_->stop();
  if (containerd_) containerd_->stop();
  pause_.cancel();
}

// A start is passed on before anything else: the program takes memory meanwhile.
void ContainerEvents::heard_of_task(const std::string& bytes) {
  const auto event = cri::read_task_event(bytes);
  if (!event) return;
  if (event->started > 0) receivers_.started(event->id, event->started);
  heard();
  again_ = true;  // CRI's list, which is made from the same events, may show it a moment later
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
  receivers_.news();
}

void ContainerEvents::closed(Stream& stream, const rpc::Client::Closed& closed) {
  if (closed.ending.code != rpc::Code::unimplemented) return;
  stream->stop();
  if (++absent_ < kStreams) return;
  log_.write(log::Severity::info,
             "the runtime sends no events: its container list is read each second");
}

}  // namespace sluice::node_agent
