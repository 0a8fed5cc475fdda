#include "common/rpc/unary.h"

#include "common/rpc/byte_message.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <condition_variable>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice::rpc {
namespace {

namespace asio = boost::asio;

using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

constexpr int kDialMilliseconds = 2'000;  // for one attempt to connect
constexpr int kSendBytesMax = 4 << 20;

// Calls that gRPC still has a hand on, counted across threads: the client waits for them before it
// goes, so that nothing is posted to an io_context that is gone.
class Hands {
 public:
  void enter() {
    const std::lock_guard lock{mutex_};
    ++count_;
  }

  // Whatever `last` posts is posted before the client can leave.
  template <class Last>
  void leave(const Last& last) {
    const std::lock_guard lock{mutex_};
    last();
    if (--count_ == 0) none_.notify_all();
  }

  void wait() {
    std::unique_lock lock{mutex_};
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

grpc::ChannelArguments arguments(const UnaryOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kDialMilliseconds);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kDialMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kDialMilliseconds);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.receive_bytes_max));
  arguments.SetMaxSendMessageSize(kSendBytesMax);
  return arguments;
}

}  // namespace

struct UnaryClient::Inside {
  // One call in gRPC's hands. Made and dropped on the io thread: the stub holds the channel, and
  // whoever drops the last channel of a process waits for gRPC's threads.
  struct Call {
    std::shared_ptr<Stub> stub;
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer reply;
    Done done;
  };

  Inside(asio::io_context& context, UnaryOptions with)
      : io(context), guard(asio::make_work_guard(context)), options(std::move(with)) {}

  void finished(Ticket ticket, UnaryReply reply);

  asio::io_context& io;  // of the program, as documented
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  UnaryOptions options;
  std::shared_ptr<Hands> hands = std::make_shared<Hands>();
  std::shared_ptr<Stub> stub;
  std::shared_ptr<Stub> retired;  // until the next is in use, so that gRPC's threads stay
  bool broken = false;            // the server was out of reach: dial anew
  std::map<Ticket, std::shared_ptr<Call>> calls;
  Ticket next = 1;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
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
  inside_->alive.reset();
  for (auto& [ticket, call] : inside_->calls) {
    call->done = nullptr;
    call->context.TryCancel();
  }
  inside_->hands->wait();
}

UnaryClient::Ticket UnaryClient::call(const std::string& method, const std::string& request,
                                      Duration limit, Done done) {
  Inside& in = *inside_;
  const Ticket ticket = in.next++;
  if (in.calls.size() >= in.options.calls_max) {
    asio::post(in.io, [alive = std::weak_ptr{in.alive}, done = std::move(done)] {
      if (alive.expired()) return;
      done({{Code::resource_exhausted, "too many calls are under way"}, {}});
    });
    return ticket;
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
  call->done = std::move(done);
  // A span from now on by the monotonic clock: a step of the wall clock ends no call.
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(std::max(limit, Duration{1}));
  call->context.set_deadline(gpr_time_from_micros(micros.count(), GPR_TIMESPAN));
  in.calls.emplace(ticket, call);
  in.hands->enter();
  in.stub->UnaryCall(
      &call->context, method, {}, &call->request, &call->reply,
      [&io = in.io, hands = in.hands, inside = inside_.get(), alive = std::weak_ptr{in.alive},
       held = call, ticket](const grpc::Status& status) mutable {
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
            if (!alive.expired()) inside->finished(ticket, std::move(reply));
          });
        });
      });
  in.retired.reset();
  return ticket;
}

void UnaryClient::cancel(Ticket ticket) {
  const auto at = inside_->calls.find(ticket);
  if (at == inside_->calls.end()) return;
  at->second->done = nullptr;
  at->second->context.TryCancel();
  inside_->calls.erase(at);
}

std::size_t UnaryClient::pending() const {
  return inside_->calls.size();
}

const std::string& UnaryClient::target() const {
  return inside_->options.target;
}

}  // namespace sluice::rpc
