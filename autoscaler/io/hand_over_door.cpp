#include "autoscaler/io/hand_over_door.h"

#include "common/proto/hand_over_codec.h"

#include <utility>

namespace sluice::autoscaler {
namespace {

// A sender has ten seconds before it is killed; nobody has more to say after thirty.
constexpr std::chrono::seconds kCallLimit{30};

}  // namespace

HandOverDoor::HandOverDoor(boost::asio::io_context& io, const log::Logger& log, Take take)
    : io_{io}, log_{log}, take_{std::move(take)} {}

HandOverDoor::~HandOverDoor() {
  close();
}

void HandOverDoor::close() {
  for (auto& [id, line] : lines_) line.call->close({rpc::Code::unavailable, "this replica ends"});
  lines_.clear();
}

void HandOverDoor::take(std::unique_ptr<rpc::Call> call) {
  if (lines_.size() >= kCallsMax) {
    call->close({rpc::Code::resource_exhausted, "too many replicas hand over at a time"});
    return;
  }
  const std::uint64_t id = next_++;
  Line& line = lines_[id];
  line.call = std::move(call);
  line.limit = std::make_unique<boost::asio::steady_timer>(io_, kCallLimit);
  line.limit->async_wait([this, id](const boost::system::error_code& ec) {
    if (!ec) refuse(id, {rpc::Code::deadline_exceeded, "the hand-over takes too long"});
  });
  line.call->start({.on_message = [this, id](const std::string& bytes) { received(id, bytes); },
                    .on_writable = {},
                    .on_closed = [this, id](const rpc::Ending& /*ending*/) { lines_.erase(id); }});
}

void HandOverDoor::received(std::uint64_t id, const std::string& bytes) {
  auto request = proto::decode_take_request(bytes);
  if (!request) {
    refuse(id, {rpc::Code::invalid_argument, "the message cannot be read"});
    return;
  }
  if (request->protocol != proto::kHandOverProtocol) {
    refuse(id, {rpc::Code::failed_precondition, "this autoscaler speaks hand-over protocol " +
                                                    std::to_string(proto::kHandOverProtocol) +
                                                    ", the sender protocol " +
                                                    std::to_string(request->protocol)});
    return;
  }
  // The answer to one request is taken before the next is sent.
  rpc::Call& call = *lines_.at(id).call;
  if (!call.writable()) {
    refuse(id, {rpc::Code::invalid_argument, "a request before the answer to the last one"});
    return;
  }
  const std::string sender = request->autoscaler;
  const proto::TakeReply reply = take_(std::move(*request));
  taken_ += reply.taken;
  log_.write(log::Severity::info, "another replica has handed over",
             {{"replica", sender},
              {"taken", std::to_string(reply.taken)},
              {"left", std::to_string(reply.left)}});
  call.write(proto::encode(reply));
}

void HandOverDoor::refuse(std::uint64_t id, const rpc::Ending& ending) {
  const auto line = lines_.find(id);
  if (line == lines_.end()) return;
  log_.write(log::Severity::warning, "a hand-over is refused",
             {{"peer", line->second.call->peer()}, {"why", ending.show()}});
  line->second.call->close(ending);
  lines_.erase(line);
}

}  // namespace sluice::autoscaler
