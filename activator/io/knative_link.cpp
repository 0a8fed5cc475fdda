#include "activator/io/knative_link.h"

#include "common/proto/stat_messages_codec.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <utility>

namespace sluice::activator {
namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Beyond this many the pokes that were not sent yet are dropped: a request that still waits is in
// the next interval's figures.
constexpr std::size_t kUnsentMax = 1'000;
constexpr std::size_t kFrameBytesMax = 64 * 1024;  // of what we only skip

proto::StatMessage message_of(const RevisionStat& stat, const std::string& pod) {
  proto::StatMessage message;
  message.revision = stat.revision;
  message.stat.pod_name = pod;
  message.stat.average_concurrent_requests = stat.average_concurrent_requests;
  message.stat.request_count = stat.request_count;
  return message;
}

// One connection, from dialling to its end. Shared with the handlers of its operations, which do
// nothing once it is over.
struct Connection {
  explicit Connection(asio::io_context& io) : resolver{io}, stream{io}, deadline{io}, pinger{io} {}

  tcp::resolver resolver;
  websocket::stream<tcp::socket> stream;
  asio::steady_timer deadline;  // of the handshake, then of the next pong
  asio::steady_timer pinger;
  boost::beast::flat_buffer in;
  std::string out;  // the frame being written
  bool open = false;
  bool writing = false;
  bool over = false;
};

}  // namespace

struct KnativeLink::Inside {
  Inside(asio::io_context& context, const log::Logger& logger, KnativeLinkSpec rules,
         PeerEvents hears)
      : io{context},
        log{logger},
        spec{std::move(rules)},
        events{std::move(hears)},
        pause{context},
        random{std::hash<std::string>{}(spec.pod)} {}

  using Link = std::shared_ptr<Connection>;

  void dial();
  void resolved(const Link& link, const tcp::resolver::results_type& found);
  void shake_hands(const Link& link);
  void opened(const Link& link);
  void limit(const Link& link, Duration allowed);
  void ping(const Link& link);
  void read(const Link& link);
  void write();
  void end(const Link& link, const std::string& why);
  void send_held();

  asio::io_context& io;
  const log::Logger& log;
  KnativeLinkSpec spec;
  PeerEvents events;
  Link connection;
  asio::steady_timer pause;
  std::minstd_rand random;
  int failures = 0;
  bool told = false;
  std::uint64_t errors = 0;
  std::deque<std::string> pokes;     // frames not sent yet
  std::optional<std::string> batch;  // of the newest interval, not sent yet
};

void KnativeLink::Inside::dial() {
  connection = std::make_shared<Connection>(io);
  const Link link = connection;
  limit(link, spec.handshake);
  const std::size_t colon = spec.target.rfind(':');
  std::string host = spec.target.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  link->resolver.async_resolve(
      host, spec.target.substr(colon + 1),
      [this, link](const error_code& ec, const tcp::resolver::results_type& found) {
        if (link->over) return;
        if (ec) {
          end(link, ec.message());
        } else {
          resolved(link, found);
        }
      });
}

void KnativeLink::Inside::resolved(const Link& link, const tcp::resolver::results_type& found) {
  asio::async_connect(link->stream.next_layer(), found,
                      [this, link](const error_code& ec, const tcp::endpoint& /*reached*/) {
                        if (link->over) return;
                        if (ec) {
                          end(link, ec.message());
                        } else {
                          shake_hands(link);
                        }
                      });
}

void KnativeLink::Inside::shake_hands(const Link& link) {
  error_code ignored;
  link->stream.next_layer().set_option(tcp::no_delay{true}, ignored);
  link->stream.binary(true);
  link->stream.read_message_max(kFrameBytesMax);
  link->stream.set_option(websocket::stream_base::timeout{std::chrono::seconds{3},
                                                          websocket::stream_base::none(), false});
  link->stream.async_handshake(spec.target, "/", [this, link](const error_code& ec) {
    if (link->over) return;
    if (ec) {
      end(link, ec.message());
    } else {
      opened(link);
    }
  });
}

void KnativeLink::Inside::opened(const Link& link) {
  link->open = true;
  failures = 0;
  told = false;
  log.write(log::Severity::info, "connected to the autoscaler", {{"autoscaler", spec.target}});
  limit(link, spec.silence_max);
  link->stream.control_callback(
      [this, raw = link.get()](websocket::frame_type kind, boost::beast::string_view /*text*/) {
        // The callback lives in the stream, so the connection is there.
        if (kind == websocket::frame_type::pong && !raw->over && connection.get() == raw) {
          limit(connection, spec.silence_max);
        }
      });
  ping(link);
  read(link);
  send_held();
  events.on_reached();
}

void KnativeLink::Inside::limit(const Link& link, Duration allowed) {
  link->deadline.expires_after(allowed);
  link->deadline.async_wait([this, link](const error_code& ec) {
    if (!ec && !link->over)
      end(link, link->open ? "it does not answer pings" : "no answer in time");
  });
}

void KnativeLink::Inside::ping(const Link& link) {
  link->pinger.expires_after(spec.ping);
  link->pinger.async_wait([this, link](const error_code& waited) {
    if (waited || link->over) return;
    link->stream.async_ping({}, [this, link](const error_code& ec) {
      if (link->over) return;
      if (ec) {
        end(link, ec.message());
      } else {
        ping(link);
      }
    });
  });
}

// Nothing is expected but pongs and the end; what else comes is skipped.
void KnativeLink::Inside::read(const Link& link) {
  link->stream.async_read(link->in, [this, link](const error_code& ec, std::size_t /*bytes*/) {
    if (link->over) return;
    if (ec) {
      end(link, ec.message());
      return;
    }
    link->in.clear();
    read(link);
  });
}

void KnativeLink::Inside::write() {
  const Link link = connection;
  if (!link || !link->open || link->writing || link->over) return;
  if (!pokes.empty()) {
    link->out = std::move(pokes.front());
    pokes.pop_front();
  } else if (batch) {
    link->out = std::move(*batch);
    batch.reset();
  } else {
    return;
  }
  link->writing = true;
  link->stream.async_write(asio::buffer(link->out),
                           [this, link](const error_code& ec, std::size_t /*bytes*/) {
                             if (link->over) return;
                             link->writing = false;
                             if (ec) {
                               end(link, ec.message());
                             } else {
                               write();
                             }
                           });
}

// Waiting requests were reported without effect, or not at all, while the way was cut.
void KnativeLink::Inside::send_held() {
  std::vector<proto::StatMessage> messages;
  for (const proto::Waiting& waiting : events.held()) {
    const double requests = waiting.requests;
    messages.push_back(message_of({waiting.revision, requests, requests}, spec.pod));
  }
  if (!messages.empty()) pokes.push_back(proto::encode_stat_messages(messages));
  write();
}

void KnativeLink::Inside::end(const Link& link, const std::string& why) {
  link->over = true;
  link->open = false;
  link->deadline.cancel();
  link->pinger.cancel();
  link->resolver.cancel();
  error_code ignored;
  link->stream.next_layer().close(ignored);
  connection.reset();
  pokes.clear();
  batch.reset();
  ++errors;
  if (!told) {
    told = true;
    log.write(log::Severity::warning,
              "the autoscaler cannot be reached; requests are served as before",
              {{"autoscaler", spec.target}, {"reason", why}});
  }
  double wait = static_cast<double>(spec.pause_first.count());
  for (int step = 0; step < failures; ++step) wait *= spec.pause_growth;
  wait *= 1 + std::uniform_real_distribution<double>{0, 0.5}(random);
  failures = (failures + 1) % spec.pauses;
  pause.expires_after(Duration{static_cast<std::int64_t>(wait)});
  pause.async_wait([this](const error_code& ec) {
    if (!ec) dial();
  });
}

KnativeLink::KnativeLink(asio::io_context& io, const log::Logger& log, KnativeLinkSpec spec,
                         PeerEvents events)
    : inside_{std::make_unique<Inside>(io, log, std::move(spec), std::move(events))} {}

KnativeLink::~KnativeLink() {
  if (inside_->connection) inside_->connection->over = true;
}

void KnativeLink::start() {
  inside_->dial();
}

// A write that is possible begins in this call.
void KnativeLink::poke(const RevisionStat& stat, const proto::Waiting& /*held*/,
                       TimePoint /*now*/) {
  if (!reachable()) {
    ++inside_->errors;
    return;
  }
  if (inside_->pokes.size() >= kUnsentMax) return;
  const proto::StatMessage message = message_of(stat, inside_->spec.pod);
  inside_->pokes.push_back(proto::encode_stat_messages({&message, 1}));
  inside_->write();
}

void KnativeLink::tick(std::span<const RevisionStat> stats,
                       std::span<const proto::Waiting> /*waiting*/, TimePoint /*now*/) {
  if (stats.empty() || !reachable()) return;
  std::vector<proto::StatMessage> messages;
  messages.reserve(stats.size());
  for (const RevisionStat& stat : stats) {
    messages.push_back(message_of(stat, inside_->spec.pod));
  }
  inside_->batch = proto::encode_stat_messages(messages);
  inside_->write();
}

bool KnativeLink::reachable() const {
  return inside_->connection && inside_->connection->open;
}

std::uint64_t KnativeLink::errors() const {
  return inside_->errors;
}

}  // namespace sluice::activator
