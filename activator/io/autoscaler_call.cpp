#include "activator/io/autoscaler_call.h"

#include "common/proto/activator_stream_codec.h"
#include "common/rpc/client.h"

#include <functional>
#include <utility>

namespace sluice::activator {
namespace {

class CallLine final : public AutoscalerLine {
 public:
  explicit CallLine(std::unique_ptr<rpc::Client> client) : client_{std::move(client)} {}

  void start() override { client_->start(); }

  [[nodiscard]] bool writable() const override { return client_->writable(); }

  void write(const proto::ActivatorMessage& message) override {
    client_->write(proto::encode(message));
  }

  void reconnect(const rpc::Ending& why) override { client_->reconnect(why); }

  [[nodiscard]] const std::string& target() const override { return client_->target(); }

 private:
  std::unique_ptr<rpc::Client> client_;
};

rpc::Client::Events client_events(AutoscalerLine::Events events) {
  return {.on_connected = std::move(events.on_connected),
          .on_message =
              [on_message = std::move(events.on_message),
               on_unreadable = std::move(events.on_unreadable)](const std::string& bytes) {
                auto message = proto::decode_autoscaler_message(bytes);
                if (!message) return on_unreadable();
                // Absent: it is of a later version.
                if (*message) on_message(std::move(**message));
              },
          .on_writable = std::move(events.on_writable),
          .on_closed =
              [on_closed = std::move(events.on_closed)](const rpc::Client::Closed& closed) {
                on_closed(closed.ending, closed.connected);
              }};
}

}  // namespace

Result<std::unique_ptr<AutoscalerLine>, Problem> AutoscalerCalls::dial(
    const std::string& target, AutoscalerLine::Events events) {
  rpc::ClientOptions options{.target = target, .method = proto::kActivatorStreamMethod};
  options.tls_dir = spec_.tls_dir;
  options.tls_name = spec_.tls_name;
  options.seed = std::hash<std::string>{}(spec_.activator + target);
  auto client = rpc::Client::make(io_, std::move(options), client_events(std::move(events)));
  if (!client) return client.error();
  return std::unique_ptr<AutoscalerLine>{std::make_unique<CallLine>(std::move(*client))};
}

}  // namespace sluice::activator
