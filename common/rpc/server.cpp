#include "common/rpc/server.h"

#include "common/base/check.h"
#include "common/base/lifetime.h"
#include "common/net/address.h"
#include "common/rpc/byte_message.h"
#include "common/rpc/call_state.h"
#include "common/rpc/channel.h"
#include "common/rpc/credentials.h"
#include "common/rpc/first_byte.h"
#include "common/rpc/handshake_log.h"
#include "common/rpc/live_calls.h"
#include "common/rpc/uncalled.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <grpc/grpc.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <utility>

namespace sluice::rpc {
namespace {

namespace asio = boost::asio;

constexpr int kHandshakeMilliseconds = 10'000;
constexpr int kGoodbyeMilliseconds = 200;  // for the last words of calls to leave

// What the server and gRPC's threads share.
struct Door {
  Door(asio::io_context& context, const ServerOptions& options, Server::Opened open,
       Server::Turned turn)
      : io(context),
        methods(options.methods),
        with_tls(!options.tls_dir.empty()),
        callers(options.callers),
        plain_methods(options.plain_methods),
        calls_max(options.calls_max),
        write_limit(options.write_limit),
        opened(std::move(open)),
        turned(std::move(turn)) {}

  [[nodiscard]] std::optional<Refused> refusal(const std::string& method, const Peer& peer) const {
    if (!with_tls) return std::nullopt;
    const auto wanted = callers.find(method);
    const bool plain_call = std::ranges::find(plain_methods, method) != plain_methods.end();
    return judge(wanted == callers.end() ? Caller::certified : wanted->second, peer, plain_call);
  }

  asio::io_context& io;  // of the program; the Server waits for gRPC's threads before it goes
  std::vector<std::string> methods;
  bool with_tls;
  std::map<std::string, Caller> callers;
  std::vector<std::string> plain_methods;
  std::size_t calls_max;
  Duration write_limit;
  LiveCalls calls;
  // These on the io thread only; empty when the server is gone.
  Server::Opened opened;
  Server::Turned turned;
  std::unique_ptr<Uncalled> uncalled;  // with TLS
};

// A call owned by gRPC. finish() ends it, once, and it is deleted when gRPC no longer uses it;
// until then the io thread may use it.
class Incoming final : public grpc::ServerGenericBidiReactor, public CallWire {
 public:
  Incoming(std::shared_ptr<Door> door, std::shared_ptr<CallState> state, Peer peer,
           grpc::GenericCallbackServerContext& context)
      : door_(std::move(door)),
        state_(std::move(state)),
        peer_(std::move(peer)),
        method_(context.method()),
        context_(context) {}

  void read() override { StartRead(&in_); }

  void write(std::string bytes) override {
    out_ = buffer_of(bytes);
    StartWrite(&out_);
  }

  void finish(const Ending& ending, End how) override {
    // What waits behind a window that never opens would keep the status back without end; a
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
      state->peer_gone({Code::cancelled, "the peer disconnected"});
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
                           peer = peer_]() mutable {
      if (!state->attached()) return;
      StartSendInitialMetadata();
      door->opened(std::make_unique<Call>(std::move(state), std::move(method), std::move(peer)));
    });
  }

 private:
  std::shared_ptr<Door> door_;
  std::shared_ptr<CallState> state_;
  Peer peer_;
  std::string method_;
  grpc::CallbackServerContext& context_;  // gRPC's, until OnDone
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
};

// A call that is refused before its handler runs.
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

Peer peer_of(const grpc::GenericCallbackServerContext& context) {
  Peer peer{.address = context.peer()};
  const auto facts = context.auth_context();
  const auto kind = facts->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  peer.tls = !kind.empty() && kind.front() == GRPC_TLS_TRANSPORT_SECURITY_TYPE;
  std::vector<std::string> uris;
  for (const auto& uri : facts->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    uris.emplace_back(uri.data(), uri.size());
  }
  peer.identity = certificates::identity_of(uris);
  return peer;
}

class Doorman final : public grpc::CallbackGenericService {
 public:
  explicit Doorman(std::shared_ptr<Door> door) : door_(std::move(door)) {}

  // gRPC owns what is returned, which deletes itself when done.
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    Peer peer = peer_of(*context);
    asio::post(door_->io, [door = door_, port = port_of(peer.address)] {
      if (door->uncalled) door->uncalled->called(port);
    });
    if (std::ranges::find(door_->methods, context->method()) == door_->methods.end()) {
      return new Turned{grpc::StatusCode::UNIMPLEMENTED,
                        context->method() + " is not served, " + listed(door_->methods) + " is"};
    }
    if (auto refused = door_->refusal(context->method(), peer)) {
      const Ending ending = refused->ending;
      asio::post(door_->io, [door = door_, address = peer.address, why = std::move(*refused)] {
        if (door->turned) door->turned(address, why);
      });
      return new Turned{static_cast<grpc::StatusCode>(ending.code), ending.text};
    }
    auto state = std::make_shared<CallState>(door_->io, door_->write_limit);
    auto call = std::make_unique<Incoming>(door_, state, std::move(peer), *context);
    state->attach(*call);
    if (!door_->calls.enter(state, door_->calls_max)) {
      return new Turned{grpc::StatusCode::RESOURCE_EXHAUSTED, "too many open calls"};
    }
    call->open();
    return call.release();
  }

 private:
  std::shared_ptr<Door> door_;
};

// gRPC would take a Unix socket away from the process that serves it.
bool served(asio::io_context& io, const net::Address& address) {
  if (!address.is_unix()) return false;
  asio::local::stream_protocol::socket socket{io};
  boost::system::error_code error;
  socket.open({}, error);
  socket.non_blocking(true, error);
  socket.connect(asio::local::stream_protocol::endpoint{address.path}, error);
  return !error || error == asio::error::would_block || error == asio::error::try_again;
}

void set_limits(grpc::ServerBuilder& builder, const ServerOptions& options) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytesMax));
  builder.SetMaxSendMessageSize(static_cast<int>(kMessageBytesMax));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(options.idle_limit);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(idle.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Clients ping every 10 s, with or without traffic, which gRPC would take for an attack.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kPingMilliseconds / 2);
}

Problem not_bound(const std::string& address) {
  return {
      "address " + address + " cannot be bound",
      "it is in use or does not belong to this machine: give another, or port 0 for any free port"};
}

}  // namespace

struct Server::Inside {
  using Acceptor = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

  Inside(asio::io_context& context, Opened open, Turned turn)
      : io(context),
        guard(asio::make_work_guard(context)),
        opened(std::move(open)),
        turned(std::move(turn)) {}

  void add_acceptors(grpc::ServerBuilder& builder, const ServerOptions& options,
                     std::shared_ptr<grpc::ServerCredentials> credentials);
  void tls_came(net::Socket socket);
  void plain_came(net::Socket socket);
  void turn_away(net::Socket socket, Refusal why);
  void hear_handshakes();
  void bound_handshakes();

  asio::io_context& io;  // of the program, as documented
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  Opened opened;
  Turned turned;
  std::function<void(const std::string&, std::function<void(bool)>)> admit_plain;
  std::shared_ptr<Door> door;
  Acceptor tls;    // what speaks TLS; absent: nothing may
  Acceptor plain;  // and what does not
  std::unique_ptr<Doorman> doorman;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<FirstByte> front;          // of a TCP address
  std::unique_ptr<HandshakeLog> handshakes;  // with TLS
  Lifetime alive;                            // for answers that come late
};

namespace {

// gRPC owns the connection from here on.
void hand_to(grpc::experimental::ExternalConnectionAcceptor& acceptor, net::Socket socket) {
  boost::system::error_code gone;
  (void)socket.remote_endpoint(gone);
  if (gone) return;  // the peer is; gRPC would write a line about each
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters made;
  made.fd = socket.release(gone);
  if (!gone) acceptor.HandleNewConnection(&made);
}

std::string in_grpc_words(const net::Socket& socket) {
  boost::system::error_code gone;
  const std::string ip = net::ip_of(socket.remote_endpoint(gone));
  return (ip.find(':') == std::string::npos ? "ipv4:" : "ipv6:") + ip;
}

}  // namespace

void Server::Inside::add_acceptors(grpc::ServerBuilder& builder, const ServerOptions& options,
                                   std::shared_ptr<grpc::ServerCredentials> credentials) {
  using Kind = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  admit_plain = options.admit_plain;
  const bool with_tls = !options.tls_dir.empty();
  if (with_tls) {
    tls = builder.experimental().AddExternalConnectionAcceptor(Kind::FROM_FD, credentials);
  }
  if (!with_tls || admit_plain) {
    plain = builder.experimental().AddExternalConnectionAcceptor(
        Kind::FROM_FD, with_tls ? grpc::InsecureServerCredentials() : std::move(credentials));
  }
}

void Server::Inside::tls_came(net::Socket socket) {
  if (tls) {
    door->uncalled->add(socket);
    return hand_to(*tls, std::move(socket));
  }
  turn_away(std::move(socket), Refusal::unexpected_tls);
}

void Server::Inside::plain_came(net::Socket socket) {
  if (!tls) return hand_to(*plain, std::move(socket));
  if (!admit_plain) return turn_away(std::move(socket), Refusal::plain_text);
  boost::system::error_code gone;
  const std::string ip = net::ip_of(socket.remote_endpoint(gone));
  const auto held = std::make_shared<net::Socket>(std::move(socket));
  // Not by the door, which calls that gRPC still ends may keep.
  admit_plain(ip, [this, held, still = alive.watch()](bool in) {
    if (still.over()) return;
    if (in) return hand_to(*plain, std::move(*held));
    turn_away(std::move(*held), Refusal::plain_text);
  });
}

void Server::Inside::turn_away(net::Socket socket, Refusal why) {
  const bool plain_text = why == Refusal::plain_text;
  const std::string text = plain_text ? "this address speaks TLS: set SLUICE_TLS_DIR on the caller"
                                      : "the caller speaks TLS and SLUICE_TLS_DIR is not set here";
  const std::string peer = in_grpc_words(socket);
  if (plain_text) front->turn_away(std::move(socket), text);
  if (door->turned) door->turned(peer, {why, {Code::unauthenticated, text}});
}

// Called on gRPC's threads, for all servers and clients of the program that do a handshake.
void Server::Inside::hear_handshakes() {
  handshakes = std::make_unique<HandshakeLog>([&loop = io,
                                               weak = std::weak_ptr{door}](const std::string& why) {
    asio::post(loop, [weak, why] {
      const auto still = weak.lock();
      if (!still || !still->turned) return;
      still->turned("unknown", {Refusal::handshake,
                                {Code::unavailable,
                                 "a TLS handshake failed: " + why +
                                     ": see the certificates in SLUICE_TLS_DIR of both sides"}});
    });
  });
}

void Server::Inside::bound_handshakes() {
  door->uncalled = std::make_unique<Uncalled>(io, [door = door.get()](const std::string& ip) {
    if (!door->turned) return;
    door->turned(
        ip.find(':') == std::string::npos ? "ipv4:" + ip : "ipv6:" + ip,
        {Refusal::handshake,
         {Code::unavailable, "too many connections without a call: the oldest is closed"}});
  });
}

Server::Server(asio::io_context& io, Opened opened, Turned turned)
    : inside_(std::make_unique<Inside>(io, std::move(opened), std::move(turned))) {}

Server::~Server() {
  if (!inside_->server) return;
  inside_->front.reset();
  inside_->handshakes.reset();
  for (const auto& [key, state] : inside_->door->calls.shut()) {
    state->close({Code::unavailable, "the server is shutting down"});
  }
  inside_->server->Shutdown(gpr_time_from_millis(kGoodbyeMilliseconds, GPR_TIMESPAN));
  inside_->server->Wait();
  inside_->door->calls.wait();
  inside_->door->opened = nullptr;
  inside_->door->turned = nullptr;
  inside_->door->uncalled.reset();
}

Result<net::Address, Problem> Server::open(const ServerOptions& options) {
  CHECK(!inside_->server);
  const auto address = net::parse_address(options.address);
  if (!address) return address.error();
  auto credentials = server_credentials(options.tls_dir);
  if (!credentials) return credentials.error();
  if (served(inside_->io, *address)) return not_bound(options.address);
  inside_->door = std::make_shared<Door>(inside_->io, options, inside_->opened, inside_->turned);
  inside_->doorman = std::make_unique<Doorman>(inside_->door);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  set_limits(builder, options);
  int unix_bound = 1;
  if (address->is_unix()) {
    builder.AddListeningPort(address->text(), *credentials, &unix_bound);
  } else {
    inside_->add_acceptors(builder, options, *credentials);
  }
  builder.RegisterCallbackGenericService(inside_->doorman.get());
  inside_->server = builder.BuildAndStart();
  if (!inside_->server || unix_bound == 0) {
    inside_->server.reset();
    return not_bound(options.address);
  }
  if (!options.tls_dir.empty()) {
    inside_->hear_handshakes();
    inside_->bound_handshakes();
  }
  if (address->is_unix()) return *address;
  inside_->front = std::make_unique<FirstByte>(
      inside_->io,
      FirstByte::Events{
          .tls = [inside = inside_.get()](net::Socket each) { inside->tls_came(std::move(each)); },
          .plain = [inside =
                        inside_.get()](net::Socket each) { inside->plain_came(std::move(each)); }});
  const auto bound = inside_->front->open(*address);
  if (!bound) {
    inside_->front.reset();
    inside_->handshakes.reset();
    inside_->door->uncalled.reset();
    inside_->server.reset();
    return not_bound(options.address);
  }
  return *bound;
}

}  // namespace sluice::rpc
