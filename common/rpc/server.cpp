#include "common/rpc/server.h"

#include "common/base/check.h"
#include "common/net/address.h"
#include "common/rpc/byte_message.h"
#include "common/rpc/call_state.h"
#include "common/rpc/credentials.h"
#include "common/rpc/live_calls.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <utility>

namespace sluice::rpc {
namespace {

namespace asio = boost::asio;

constexpr int kPingMilliseconds = 10'000;
constexpr int kPingTimeoutMilliseconds = 5'000;
constexpr int kGoodbyeMilliseconds = 200;  // for the last words of calls to leave

// What the server and gRPC's threads share.
struct Door {
  Door(asio::io_context& context, const ServerOptions& options, Server::Opened open)
      : io(context),
        methods(options.methods),
        calls_max(options.calls_max),
        write_limit(options.write_limit),
        opened(std::move(open)) {}

  asio::io_context& io;  // of the program; the Server waits for gRPC's threads before it goes
  std::vector<std::string> methods;
  std::size_t calls_max;
  Duration write_limit;
  LiveCalls calls;
  Server::Opened opened;  // on the io thread only; empty when the server is gone
};

// A call in gRPC's hands. It is told to go by finish(), once, and goes when gRPC has no more use
// for it; until then the io thread may use it.
class Incoming final : public grpc::ServerGenericBidiReactor, public CallWire {
 public:
  Incoming(std::shared_ptr<Door> door, std::shared_ptr<CallState> state,
           grpc::GenericCallbackServerContext& context)
      : door_(std::move(door)),
        state_(std::move(state)),
        method_(context.method()),
        context_(context) {}

  void read() override { StartRead(&in_); }

  void write(std::string bytes) override {
    out_ = buffer_of(bytes);
    StartWrite(&out_);
  }

  void finish(const Ending& ending, End how) override {
    // What waits behind a window that never opens would keep the status back for ever; a
    // cancellation of ours overtakes it.
    if (how == End::ours_unread) {
      grpc_call_cancel_with_status(context_.c_call(), static_cast<grpc_status_code>(ending.code),
                                   ending.text.c_str(), nullptr);
    }
    Finish({static_cast<grpc::StatusCode>(ending.code), ending.text});
  }

  void OnReadDone(bool ok) override {
    auto bytes = ok ? bytes_of(in_) : std::nullopt;
    in_.Clear();
    asio::post(door_->io, [state = state_, bytes = std::move(bytes)]() mutable {
      state->read_done(std::move(bytes));
    });
  }

  void OnWriteDone(bool ok) override {
    asio::post(door_->io, [state = state_, ok] { state->write_done(ok); });
  }

  void OnCancel() override {
    asio::post(door_->io, [state = state_] {
      state->peer_gone({Code::cancelled, "the peer is gone"});
    });
  }

  void OnDone() override {
    const auto door = std::move(door_);
    auto state = std::move(state_);
    delete this;
    door->calls.leave(std::move(state));
  }

  // The server takes the call, or it is refused.
  void open() {
    asio::post(door_->io, [door = door_, state = state_, this, method = method_,
                           peer = context_.peer()]() mutable {
      if (!state->attached()) return;
      StartSendInitialMetadata();
      door->opened(std::make_unique<Call>(std::move(state), std::move(method), std::move(peer)));
    });
  }

 private:
  std::shared_ptr<Door> door_;
  std::shared_ptr<CallState> state_;
  std::string method_;
  grpc::CallbackServerContext& context_;  // gRPC's, until OnDone
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
};

// A call that is refused before anybody hears of it.
class Turned final : public grpc::ServerGenericBidiReactor {
 public:
  Turned(grpc::StatusCode code, const std::string& text) { Finish({code, text}); }

  void OnDone() override { delete this; }
};

std::string listed(const std::vector<std::string>& methods) {
  std::string all;
  for (const std::string& method : methods) all.append(all.empty() ? "" : ", ").append(method);
  return all;
}

class Doorman final : public grpc::CallbackGenericService {
 public:
  explicit Doorman(std::shared_ptr<Door> door) : door_(std::move(door)) {}

  // gRPC owns what is returned, which deletes itself when done.
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    if (std::ranges::find(door_->methods, context->method()) == door_->methods.end()) {
      return new Turned{grpc::StatusCode::UNIMPLEMENTED,
                        context->method() + " is not served, " + listed(door_->methods) + " is"};
    }
    auto state = std::make_shared<CallState>(door_->io, door_->write_limit);
    auto call = std::make_unique<Incoming>(door_, state, *context);
    state->attach(*call);
    if (!door_->calls.enter(state, door_->calls_max)) {
      return new Turned{grpc::StatusCode::RESOURCE_EXHAUSTED, "no room for another call"};
    }
    call->open();
    return call.release();
  }

 private:
  std::shared_ptr<Door> door_;
};

// gRPC would take a Unix socket away from whoever serves it.
bool served(asio::io_context& io, const net::Address& address) {
  if (!address.is_unix()) return false;
  asio::local::stream_protocol::socket socket{io};
  boost::system::error_code error;
  socket.open({}, error);
  socket.non_blocking(true, error);
  socket.connect(asio::local::stream_protocol::endpoint{address.path}, error);
  return !error || error == asio::error::would_block || error == asio::error::try_again;
}

std::string in_grpc_words(const net::Address& address) {
  if (address.is_unix() || !address.host.empty()) return address.text();
  return "[::]" + address.text();
}

void set_limits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytesMax));
  builder.SetMaxSendMessageSize(static_cast<int>(kMessageBytesMax));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // an address in use is an error
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Clients ping every 10 s, with or without traffic, which gRPC would take for an attack.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kPingMilliseconds / 2);
}

Problem not_bound(const std::string& address) {
  return {"address " + address + " cannot be bound",
          "it is in use, or is none of this machine's: give another, or port 0 for any free one"};
}

}  // namespace

struct Server::Inside {
  Inside(asio::io_context& context, Opened open)
      : io(context), guard(asio::make_work_guard(context)), opened(std::move(open)) {}

  asio::io_context& io;  // of the program, as documented
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  Opened opened;
  std::shared_ptr<Door> door;
  std::unique_ptr<Doorman> doorman;
  std::unique_ptr<grpc::Server> server;
};

Server::Server(asio::io_context& io, Opened opened)
    : inside_(std::make_unique<Inside>(io, std::move(opened))) {}

Server::~Server() {
  if (!inside_->server) return;
  for (const auto& [key, state] : inside_->door->calls.shut()) {
    state->close({Code::unavailable, "the server is going away"});
  }
  inside_->server->Shutdown(gpr_time_from_millis(kGoodbyeMilliseconds, GPR_TIMESPAN));
  inside_->server->Wait();
  inside_->door->calls.wait();
  inside_->door->opened = nullptr;
}

Result<net::Address, Problem> Server::open(const ServerOptions& options) {
  CHECK(!inside_->server);
  const auto address = net::parse_address(options.address);
  if (!address) return address.error();
  auto credentials = server_credentials(options.tls_dir);
  if (!credentials) return credentials.error();
  if (served(inside_->io, *address)) return not_bound(options.address);
  inside_->door = std::make_shared<Door>(inside_->io, options, inside_->opened);
  inside_->doorman = std::make_unique<Doorman>(inside_->door);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  set_limits(builder);
  int port = 0;
  builder.AddListeningPort(in_grpc_words(*address), *credentials, &port);
  builder.RegisterCallbackGenericService(inside_->doorman.get());
  inside_->server = builder.BuildAndStart();
  if (!inside_->server || port == 0) {
    inside_->server.reset();
    return not_bound(options.address);
  }
  net::Address bound = *address;
  if (!bound.is_unix()) bound.port = static_cast<std::uint16_t>(port);
  return bound;
}

void Server::set_serving(bool serving) {
  if (!inside_->server) return;
  inside_->server->GetHealthCheckService()->SetServingStatus(serving);
}

}  // namespace sluice::rpc
