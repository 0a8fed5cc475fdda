#include "autoscaler/io/activator_call.h"

#include "common/proto/activator_stream_codec.h"

#include <utility>

namespace sluice::autoscaler {

void ActivatorCall::start(Events events) {
  call_->start({.on_message =
                    [on_message = std::move(events.on_message),
                     on_unreadable = std::move(events.on_unreadable)](const std::string& bytes) {
                      auto message = proto::decode_activator_message(bytes);
                      if (!message) return on_unreadable();
                      // Absent: it is of a later version.
                      if (*message) on_message(std::move(**message));
                    },
                .on_writable = std::move(events.on_writable),
                .on_closed = std::move(events.on_closed)});
}

void ActivatorCall::write(const proto::AutoscalerMessage& message) {
  call_->write(proto::encode(message));
}

}  // namespace sluice::autoscaler
