#include "common/rpc/client.h"

#include "common/base/check.h"
#include "common/base/lifetime.h"
#include "common/rpc/byte_message.h"
#include "common/rpc/call_state.h"
#include "common/rpc/channel.h"
#include "common/rpc/credentials.h"
#include "common/rpc/live_calls.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <grpcpp/create_channel.h>
#include <random>
#include <string_view>
#include <utility>

namespace sluice::rpc {
namespace {

namespace asio = boost::asio;

constexpr Duration kDial = std::chrono::seconds{5};  // for one attempt to connect

// One attempt as its Client sees it; cleared of the Client when that no longer needs it.
struct Attempt {
  std::function<void()> on_taken;               // the server has the call
  std::function<void(const Ending&)> on_ended;  // gRPC has let go of it
};

// A call owned by gRPC, until finish(); then it is deleted when gRPC no longer uses it.
class Outgoing final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                       public CallWire {
 public:
  Outgoing(std::shared_ptr<LiveCalls> calls, std::shared_ptr<CallState> state,
           std::shared_ptr<Attempt> attempt)
      : calls_(std::move(calls)), state_(std::move(state)), attempt_(std::move(attempt)) {}

  void start(Stub& stub, const std::string& method, bool one_message) {
    if (one_message) how_.set_last_message();
    stub.PrepareBidiStreamingCall(&context_, method, {}, this);
    AddHold();
    StartCall();
  }

  void read() override { StartRead(&in_); }

  void write(std::string bytes) override {
    out_ = buffer_of(bytes);
    StartWrite(&out_, how_);
  }

  void finish(const Ending& ending, End how) override {
    if (how != End::peer_gone) {
      said_ = ending;
      context_.TryCancel();
    }
    RemoveHold();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    asio::post(state_->io(), [state = state_, attempt = attempt_, ok] {
      if (!state->attached()) return;
      if (!ok) return state->peer_gone({});
      // A copy, since the Client may lose interest in the middle of it.
      if (const auto taken = attempt->on_taken) taken();
      state->read();
    });
  }

  void OnReadDone(bool ok) override {
    auto bytes = ok ? bytes_of(in_) : std::nullopt;
    in_.Clear();
    asio::post(state_->io(), [state = state_, bytes = std::move(bytes)]() mutable {
      state->read_done(std::move(bytes));
    });
  }

  void OnWriteDone(bool ok) override {
    asio::post(state_->io(), [state = state_, ok] { state->write_done(ok); });
  }

  // Deleted on the io thread: the context holds the channel, and the thread that drops the last
  // channel of a process waits for gRPC's threads, of which this is one.
  void OnDone(const grpc::Status& status) override {
    Ending ending{static_cast<Code>(status.error_code()), status.error_message()};
    const auto calls = calls_;
    auto state = state_;
    asio::io_context& io = state->io();
    asio::post(io, [self = std::unique_ptr<Outgoing>{this}, ending = std::move(ending)] {
      const auto attempt = self->attempt_;
      if (const auto ended = attempt->on_ended) ended(self->said_ ? *self->said_ : ending);
    });
    calls->leave(std::move(state));
  }

 private:
  std::shared_ptr<LiveCalls> calls_;
  std::shared_ptr<CallState> state_;
  std::shared_ptr<Attempt> attempt_;
  // Our own last word, which the status would show as a mere cancellation. On the io thread.
  std::optional<Ending> said_;
  grpc::ClientContext context_;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
  grpc::WriteOptions how_;
};

// A channel lives for one attempt: the pauses between two are ours, not those that a channel makes.
grpc::ChannelArguments arguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments = channel_arguments(kDial);
  // A socket of this machine breaks where all can see it, and its server may take pings ill.
  if (!options.target.starts_with("unix:")) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMilliseconds);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMilliseconds);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytesMax));
  arguments.SetMaxSendMessageSize(static_cast<int>(kMessageBytesMax));
  if (!options.tls_name.empty()) arguments.SetSslTargetNameOverride(options.tls_name);
  return arguments;
}

// What gRPC says of two sides of which one speaks TLS, or of certificates that do not belong
// together, names no setting of ours.
Ending explained(Ending ending, const ClientOptions& options) {
  constexpr std::array<std::string_view, 4> kSigns{"andshake", "GOAWAY", "ocket closed", "reset"};
  const bool sign = std::any_of(kSigns.begin(), kSigns.end(), [&ending](std::string_view each) {
    return ending.text.find(each) != std::string::npos;
  });
  if (ending.code != Code::unavailable || !sign) return ending;
  const bool with_tls = !options.tls_dir.empty();
  ending.text += with_tls
                     ? " (this side speaks TLS: is SLUICE_TLS_DIR set on the other, with "
                       "certificates of the same CA that are valid now?)"
                     : " (this side speaks plain text: SLUICE_TLS_DIR is not set; does the other "
                       "side speak TLS?)";
  return ending;
}

std::string in_grpc_words(const std::string& target) {
  return target.starts_with(':') ? "127.0.0.1" + target : target;
}

}  // namespace

Duration retry_pause(std::uint32_t failures, double dice) {
  const double steps = failures > 0 ? failures - 1 : 0;
  const double first = to_seconds(kRetryFirst);
  const double max = to_seconds(kRetryMax);
  const double pause = std::min(max, first * std::pow(kRetryGrowth, std::min(steps, 100.0)));
  return from_seconds(std::min(max, pause * (0.5 + dice)));
}

struct Client::Inside {
  Inside(asio::io_context& context, ClientOptions with, Events tell,
         std::shared_ptr<grpc::ChannelCredentials> by)
      : io(context),
        guard(asio::make_work_guard(context)),
        options(std::move(with)),
        events(std::move(tell)),
        credentials(std::move(by)),
        retry(context),
        random(options.seed) {}

  void dial();
  void taken();
  void ended(const Ending& ending);
  void drop(const Ending& ending);

  asio::io_context& io;  // of the program, as documented
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  ClientOptions options;
  Events events;
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::shared_ptr<LiveCalls> calls = std::make_shared<LiveCalls>();
  std::unique_ptr<Stub> stub;
  std::shared_ptr<CallState> state;
  std::shared_ptr<Attempt> attempt;
  asio::steady_timer retry;
  std::mt19937_64 random;
  std::uint32_t failures = 0;
  bool started = false;
  bool stopped = false;
  bool connected = false;
  bool answered = false;  // a message came on this call
  bool unwanted = false;  // given up by reconnect()
  Lifetime alive;
};

void Client::Inside::dial() {
  if (stopped) return;
  answered = unwanted = false;
  // The channel before goes only when this one is in use: gRPC's threads live as long as any is,
  // and to wait for their end, and start others, at each attempt would hold up the loop.
  const auto before =
      std::exchange(stub, std::make_unique<Stub>(grpc::CreateCustomChannel(
                              in_grpc_words(options.target), credentials, arguments(options))));
  state = std::make_shared<CallState>(io, options.write_limit);
  attempt = std::make_shared<Attempt>();
  attempt->on_taken = [this] { taken(); };
  attempt->on_ended = [this](const Ending& ending) { ended(ending); };
  state->listen({.on_message =
                     [this](std::string bytes) {
                       answered = true;
                       if (events.on_message) events.on_message(std::move(bytes));
                     },
                 .on_writable =
                     [this] {
                       if (events.on_writable) events.on_writable();
                     },
                 .on_closed = {}});
  CHECK(calls->enter(state, 1'000));
  auto call = std::make_unique<Outgoing>(calls, state, attempt);
  state->attach(*call);
  const bool one_message = options.opening.has_value();
  call.release()->start(*stub, options.method, one_message);  // deletes itself when gRPC is done
  if (options.opening) state->write(*options.opening);
}

void Client::Inside::taken() {
  connected = true;
  if (events.on_connected) events.on_connected();
}

void Client::Inside::ended(const Ending& ending) {
  state.reset();
  attempt.reset();
  const bool was_connected = std::exchange(connected, false);
  failures = answered && !unwanted ? 1 : failures + 1;
  const double dice = std::uniform_real_distribution<double>{0.0, 1.0}(random);
  const Duration pause = retry_pause(failures, dice);
  retry.expires_after(pause);
  retry.async_wait([this, alive = alive.watch()](auto error) {
    if (!error && !alive.over()) dial();
  });
  if (!events.on_closed) return;
  events.on_closed({was_connected ? ending : explained(ending, options), was_connected, pause});
}

void Client::Inside::drop(const Ending& ending) {
  if (state) state->close(ending);
}

Result<std::unique_ptr<Client>, Problem> Client::make(asio::io_context& io, ClientOptions options,
                                                      Events events) {
  auto credentials = client_credentials(options.tls_dir);
  if (!credentials) return credentials.error();
  auto inside =
      std::make_unique<Inside>(io, std::move(options), std::move(events), std::move(*credentials));
  return std::unique_ptr<Client>{new Client{std::move(inside)}};
}

Client::Client(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

Client::~Client() {
  stop();
  (void)inside_->calls->shut();
  inside_->calls->wait();
}

void Client::start() {
  CHECK(!inside_->started);
  inside_->started = true;
  inside_->dial();
}

void Client::stop() {
  inside_->stopped = true;
  inside_->retry.cancel();
  inside_->connected = false;
  if (inside_->attempt) *inside_->attempt = {};
  inside_->drop({Code::cancelled, "the client has stopped"});
  inside_->guard.reset();
}

bool Client::connected() const {
  return inside_->connected;
}

bool Client::writable() const {
  return inside_->connected && inside_->state->writable();
}

void Client::write(std::string bytes) {
  CHECK(writable());
  inside_->state->write(std::move(bytes));
}

void Client::reconnect(Ending why) {
  inside_->unwanted = true;
  inside_->drop(why);
}

const std::string& Client::target() const {
  return inside_->options.target;
}

}  // namespace sluice::rpc
