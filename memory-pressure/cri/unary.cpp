#include "memory-pressure/cri/unary.h"

#include "common/base/lifetime.h"
#include "common/rpc/byte_message.h"
#include "common/rpc/call_count.h"
#include "common/rpc/channel.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstdint>
#include <grpcpp/create_channel.h>
#include <map>
#include <utility>

namespace sluice::rpc {
namespace {

namespace asio = boost::asio;

constexpr Duration kDial = std::chrono::seconds{2};  // for one attempt to connect
constexpr int kSendBytesMax = 4 << 20;

grpc::ChannelArguments arguments(const UnaryOptions& options) {
  grpc::ChannelArguments arguments = channel_arguments(kDial);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.receive_bytes_max));
  arguments.SetMaxSendMessageSize(kSendBytesMax);
  return arguments;
}

}  // namespace

struct UnaryClient::Inside {
  // One call owned by gRPC. Created and destroyed on the io thread: the stub holds the channel, and
  // the thread that drops the last channel of a process waits for gRPC's threads.
  struct Call {
    std::shared_ptr<Stub> stub;
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer reply;
    Done done;
  };

  Inside(asio::io_context& context, UnaryOptions with)
      : io(context), guard(asio::make_work_guard(context)), options(std::move(with)) {}

  using Ticket = std::uint64_t;

  void finished(Ticket ticket, UnaryReply reply);

  asio::io_context& io;  // of the program, as documented
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  UnaryOptions options;
  std::shared_ptr<CallCount> hands = std::make_shared<CallCount>();
  std::shared_ptr<Stub> stub;
  std::shared_ptr<Stub> retired;  // until the next is in use, so that gRPC's threads stay
  bool broken = false;            // the server was out of reach: dial again
  std::map<Ticket, std::shared_ptr<Call>> calls;
  Ticket next = 1;
  Lifetime alive;
};

void UnaryClient::Inside::finished(Ticket ticket, UnaryReply reply) {
  const auto at = calls.find(ticket);
  if (at == calls.end()) return;
  if (reply.ending.code == Code::unavailable && at->second->stub == stub) broken = true;
  const Done done = std::move(at->second->done);
  calls.erase(at);
  if (done) done(std::move(reply));
}

UnaryClient::UnaryClient(asio::io_context& io, UnaryOptions options)
    : inside_(std::make_unique<Inside>(io, std::move(options))) {}

UnaryClient::~UnaryClient() {
  inside_->alive.end();
  for (auto& [ticket, call] : inside_->calls) {
    call->done = nullptr;
    call->context.TryCancel();
  }
  inside_->hands->wait();
}

void UnaryClient::call(const std::string& method, const std::string& request, Duration limit,
                       Done done) {
  Inside& in = *inside_;
  if (in.calls.size() >= in.options.calls_max) {
    asio::post(in.io, [alive = in.alive.watch(), done = std::move(done)] {
      if (alive.over()) return;
      done({{Code::resource_exhausted, "too many calls are under way"}, {}});
    });
    return;
  }
  if (!in.stub || in.broken) {
    in.retired = std::move(in.stub);
    in.broken = false;
    in.stub = std::make_shared<Stub>(grpc::CreateCustomChannel(
        in.options.target, grpc::InsecureChannelCredentials(), arguments(in.options)));
  }
  const auto call = std::make_shared<Inside::Call>();
  call->stub = in.stub;
  call->request = buffer_of(request);
  for (const auto& [name, value] : in.options.metadata) call->context.AddMetadata(name, value);
  call->done = std::move(done);
  // A span from now on by the monotonic clock: a step of the wall clock ends no call.
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(std::max(limit, Duration{1}));
  call->context.set_deadline(gpr_time_from_micros(micros.count(), GPR_TIMESPAN));
  const Inside::Ticket ticket = in.next++;
  in.calls.emplace(ticket, call);
  in.hands->enter();
  in.stub->UnaryCall(
      &call->context, method, {}, &call->request, &call->reply,
      [&io = in.io, hands = in.hands, inside = inside_.get(), alive = in.alive.watch(), held = call,
       ticket](const grpc::Status& status) mutable {
        // Moved on, since this function object is dropped here, on gRPC's thread.
        auto mine = std::move(held);
        UnaryReply reply{{static_cast<Code>(status.error_code()), status.error_message()}, {}};
        if (status.ok()) {
          auto bytes = bytes_of(mine->reply);
          if (!bytes) reply.ending = {Code::internal, "the answer cannot be read"};
          if (bytes) reply.bytes = std::move(*bytes);
        }
        hands->leave([&] {
          asio::post(io, [inside, alive, mine = std::move(mine), ticket,
                          reply = std::move(reply)]() mutable {
            if (!alive.over()) inside->finished(ticket, std::move(reply));
          });
        });
      });
  in.retired.reset();
}

const std::string& UnaryClient::target() const {
  return inside_->options.target;
}

}  // namespace sluice::rpc
