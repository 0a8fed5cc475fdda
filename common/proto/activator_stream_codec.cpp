#include "common/proto/activator_stream_codec.h"

#include "common/proto/stat_fields.h"

#include <algorithm>
#include <proto/activator_stream.pb.h>
#include <utility>

namespace sluice::proto {
namespace {

// Each read() says whether the message is one of ours; what is too much for us was judged before.

bool read(const std::string& wire, std::string& text) {
  if (wire.size() > kNameBytesMax) return false;
  text = wire;
  return true;
}

template <class List>
bool read_all(const List& wire, std::vector<std::string>& texts) {
  texts.reserve(static_cast<std::size_t>(wire.size()));
  return std::all_of(wire.begin(), wire.end(), [&texts](const std::string& text) {
    return read(text, texts.emplace_back());
  });
}

template <class List>
bool above(const List& wire, std::size_t max) {
  return static_cast<std::size_t>(wire.size()) > max;
}

// Further than a week, or backwards, no wait of ours goes.
Duration milliseconds(std::int64_t wire) {
  constexpr std::int64_t kMax = 7LL * 24 * 3600 * 1000;
  return std::chrono::milliseconds{std::clamp<std::int64_t>(wire, 0, kMax)};
}

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

Duration microseconds(std::int64_t wire) {
  constexpr std::int64_t kMax = 7LL * 24 * 3600 * 1'000'000;
  return std::chrono::microseconds{std::clamp<std::int64_t>(wire, 0, kMax)};
}

std::int64_t microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

void write(const RevisionId& revision, sluice::v1::RevisionKey& wire) {
  wire.set_namespace_(revision.space);
  wire.set_name(revision.name);
}

bool read(const sluice::v1::RevisionKey& wire, RevisionId& revision) {
  return is_revision_name(wire.namespace_()) && is_revision_name(wire.name()) &&
         read(wire.namespace_(), revision.space) && read(wire.name(), revision.name);
}

void write(const Waiting& waiting, sluice::v1::Waiting& wire) {
  write(waiting.revision, *wire.mutable_revision());
  wire.set_requests(waiting.requests);
  wire.set_oldest_ms(milliseconds(waiting.oldest));
}

template <class List>
bool read_all(const List& wire, std::vector<Waiting>& entries) {
  entries.reserve(static_cast<std::size_t>(wire.size()));
  for (const sluice::v1::Waiting& each : wire) {
    Waiting& entry = entries.emplace_back();
    if (!read(each.revision(), entry.revision)) return false;
    entry.requests = each.requests();
    entry.oldest = milliseconds(each.oldest_ms());
  }
  return true;
}

bool read(const sluice::v1::Hello& wire, Hello& hello) {
  hello.protocol = wire.protocol();
  // Of another protocol only the number is known to mean the same; it is refused by that.
  if (hello.protocol != kActivatorProtocol) return true;
  return read(wire.activator(), hello.activator) && read(wire.address(), hello.address) &&
         read(wire.version(), hello.version) && read_all(wire.waiting(), hello.waiting);
}

bool read(const sluice::v1::StatBatch& wire, StatBatch& batch) {
  batch.sequence = wire.sequence();
  batch.messages.reserve(static_cast<std::size_t>(wire.messages_size()));
  for (const sluice::v1::RevisionStat& each : wire.messages()) {
    auto message = read_stat_message(each);
    if (!message) continue;
    if (each.has_newest_ms()) message->newest = milliseconds(each.newest_ms());
    batch.messages.push_back(std::move(*message));
  }
  return read_all(wire.waiting(), batch.waiting);
}

bool read(const sluice::v1::ColdStart& wire, ColdStart& start) {
  start.queue = microseconds(wire.queue_us());
  start.decide = microseconds(wire.decide_us());
  start.create = microseconds(wire.create_us());
  start.start = microseconds(wire.start_us());
  start.ready = microseconds(wire.ready_us());
  start.first_byte = microseconds(wire.first_byte_us());
  return read(wire.revision(), start.revision) && read(wire.pod(), start.pod);
}

bool read(const sluice::v1::Buckets& wire, Buckets& buckets) {
  buckets.epoch = wire.epoch();
  return read_all(wire.all(), buckets.all) && read_all(wire.owned(), buckets.owned);
}

bool read(const sluice::v1::Welcome& wire, Welcome& welcome) {
  welcome.protocol = wire.protocol();
  if (welcome.protocol != kActivatorProtocol) return true;
  return read(wire.autoscaler(), welcome.autoscaler) && read(wire.version(), welcome.version) &&
         read(wire.buckets(), welcome.buckets);
}

RouteMode route_mode(sluice::v1::RouteMode wire) {
  switch (wire) {
    case sluice::v1::PROXY:
      return RouteMode::proxy;
    case sluice::v1::SERVE:
      return RouteMode::serve;
    default:
      return RouteMode::unspecified;  // an open enum: peers may know more values
  }
}

CannotScaleReason reason(sluice::v1::Reason wire) {
  switch (wire) {
    case sluice::v1::NO_CAPACITY:
      return CannotScaleReason::no_capacity;
    case sluice::v1::NO_MATCHING_PLACE:
      return CannotScaleReason::no_matching_place;
    case sluice::v1::START_FAILED:
      return CannotScaleReason::start_failed;
    case sluice::v1::PAUSED:
      return CannotScaleReason::paused;
    case sluice::v1::NODE_PRESSURE:
      return CannotScaleReason::node_pressure;
    default:
      return CannotScaleReason::unspecified;  // likewise
  }
}

bool read(const sluice::v1::RevisionState& wire, RevisionState& state) {
  state.version = wire.version();
  state.desired = wire.desired();
  state.granted = wire.granted();
  state.ready = wire.ready();
  state.route_mode = route_mode(wire.route_mode());
  state.activators = wire.activators();
  if (wire.has_cannot_scale()) {
    CannotScale& cannot = state.cannot_scale.emplace();
    cannot.reason = reason(wire.cannot_scale().reason());
    cannot.detail = wire.cannot_scale().detail().substr(0, kDetailBytesMax);
    cannot.retry_after = milliseconds(wire.cannot_scale().retry_after_ms());
  }
  return read(wire.revision(), state.revision) && read_all(wire.avoid(), state.avoid);
}

bool read(const sluice::v1::RevisionGone& wire, RevisionGone& gone) {
  gone.version = wire.version();
  return read(wire.revision(), gone.revision);
}

void write(const Hello& hello, sluice::v1::ActivatorMessage& message) {
  sluice::v1::Hello& wire = *message.mutable_hello();
  wire.set_protocol(hello.protocol);
  wire.set_activator(hello.activator);
  wire.set_address(hello.address);
  wire.set_version(hello.version);
  for (const Waiting& waiting : hello.waiting) write(waiting, *wire.add_waiting());
}

void write(const StatBatch& batch, sluice::v1::ActivatorMessage& message) {
  sluice::v1::StatBatch& wire = *message.mutable_stats();
  wire.set_sequence(batch.sequence);
  for (const StatMessage& stat : batch.messages) {
    sluice::v1::RevisionStat& own = *wire.add_messages();
    write_stat_message(stat, own);
    if (stat.newest) own.set_newest_ms(milliseconds(*stat.newest));
  }
  for (const Waiting& waiting : batch.waiting) write(waiting, *wire.add_waiting());
}

void write(const Applied& applied, sluice::v1::ActivatorMessage& message) {
  write(applied.revision, *message.mutable_applied()->mutable_revision());
  message.mutable_applied()->set_version(applied.version);
}

void write(const ColdStart& start, sluice::v1::ActivatorMessage& message) {
  sluice::v1::ColdStart& wire = *message.mutable_cold_start();
  write(start.revision, *wire.mutable_revision());
  wire.set_pod(start.pod);
  wire.set_queue_us(microseconds(start.queue));
  wire.set_decide_us(microseconds(start.decide));
  wire.set_create_us(microseconds(start.create));
  wire.set_start_us(microseconds(start.start));
  wire.set_ready_us(microseconds(start.ready));
  wire.set_first_byte_us(microseconds(start.first_byte));
}

void write(const Buckets& buckets, sluice::v1::Buckets& wire) {
  for (const std::string& bucket : buckets.all) wire.add_all(bucket);
  for (const std::string& bucket : buckets.owned) wire.add_owned(bucket);
  wire.set_epoch(buckets.epoch);
}

void write(const Welcome& welcome, sluice::v1::AutoscalerMessage& message) {
  sluice::v1::Welcome& wire = *message.mutable_welcome();
  wire.set_protocol(welcome.protocol);
  wire.set_autoscaler(welcome.autoscaler);
  wire.set_version(welcome.version);
  write(welcome.buckets, *wire.mutable_buckets());
}

void write(const RevisionState& state, sluice::v1::AutoscalerMessage& message) {
  sluice::v1::RevisionState& wire = *message.mutable_state();
  write(state.revision, *wire.mutable_revision());
  wire.set_version(state.version);
  wire.set_desired(state.desired);
  wire.set_granted(state.granted);
  wire.set_ready(state.ready);
  wire.set_route_mode(static_cast<sluice::v1::RouteMode>(state.route_mode));
  wire.set_activators(state.activators);
  if (state.cannot_scale) {
    sluice::v1::CannotScale& cannot = *wire.mutable_cannot_scale();
    cannot.set_reason(static_cast<sluice::v1::Reason>(state.cannot_scale->reason));
    cannot.set_detail(state.cannot_scale->detail);
    cannot.set_retry_after_ms(milliseconds(state.cannot_scale->retry_after));
  }
  for (const std::string& address : state.avoid) wire.add_avoid(address);
}

void write(const RevisionGone& gone, sluice::v1::AutoscalerMessage& message) {
  write(gone.revision, *message.mutable_gone()->mutable_revision());
  message.mutable_gone()->set_version(gone.version);
}

void write(const SnapshotEnd& end, sluice::v1::AutoscalerMessage& message) {
  message.mutable_snapshot_end()->set_revisions(end.revisions);
}

void write(const Buckets& buckets, sluice::v1::AutoscalerMessage& message) {
  write(buckets, *message.mutable_buckets());
}

bool too_large(const sluice::v1::ActivatorMessage& message) {
  return above(message.hello().waiting(), kWaitingMax) ||
         above(message.stats().waiting(), kWaitingMax) ||
         above(message.stats().messages(), kStatsMax);
}

bool too_large(const sluice::v1::Buckets& buckets) {
  return above(buckets.all(), kBucketNamesMax) || above(buckets.owned(), kBucketNamesMax);
}

bool too_large(const sluice::v1::AutoscalerMessage& message) {
  return too_large(message.welcome().buckets()) || too_large(message.buckets()) ||
         above(message.state().avoid(), kAvoidMax);
}

template <class Twin, class Message, class Wire>
Result<std::optional<Message>> twin_of(const Wire& wire) {
  Twin twin;
  if (!read(wire, twin)) return Error::bad_request;
  return std::optional<Message>{std::move(twin)};
}

template <class Wire>
Result<Wire> parse(std::string_view bytes) {
  if (bytes.size() > kStreamBytesMax) return Error::too_large;
  Wire message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::bad_request;
  }
  if (too_large(message)) return Error::too_large;
  return message;
}

template <class Wire, class Message>
std::string bytes_of(const Message& message) {
  Wire wire;
  std::visit([&wire](const auto& each) { write(each, wire); }, message);
  return wire.SerializeAsString();
}

}  // namespace

std::string encode(const ActivatorMessage& message) {
  return bytes_of<sluice::v1::ActivatorMessage>(message);
}

std::string encode(const AutoscalerMessage& message) {
  return bytes_of<sluice::v1::AutoscalerMessage>(message);
}

Result<std::optional<ActivatorMessage>> decode_activator_message(std::string_view bytes) {
  using Wire = sluice::v1::ActivatorMessage;
  const Result<Wire> message = parse<Wire>(bytes);
  if (!message) return message.error();
  switch (message->message_case()) {
    case Wire::kHello:
      return twin_of<Hello, ActivatorMessage>(message->hello());
    case Wire::kStats:
      return twin_of<StatBatch, ActivatorMessage>(message->stats());
    case Wire::kApplied: {
      Applied applied{{}, message->applied().version()};
      if (!read(message->applied().revision(), applied.revision)) return Error::bad_request;
      return std::optional<ActivatorMessage>{std::move(applied)};
    }
    case Wire::kColdStart:
      return twin_of<ColdStart, ActivatorMessage>(message->cold_start());
    case Wire::MESSAGE_NOT_SET:
      break;
  }
  return std::optional<ActivatorMessage>{};
}

Result<std::optional<AutoscalerMessage>> decode_autoscaler_message(std::string_view bytes) {
  using Wire = sluice::v1::AutoscalerMessage;
  const Result<Wire> message = parse<Wire>(bytes);
  if (!message) return message.error();
  switch (message->message_case()) {
    case Wire::kWelcome:
      return twin_of<Welcome, AutoscalerMessage>(message->welcome());
    case Wire::kState:
      return twin_of<RevisionState, AutoscalerMessage>(message->state());
    case Wire::kGone:
      return twin_of<RevisionGone, AutoscalerMessage>(message->gone());
    case Wire::kBuckets:
      return twin_of<Buckets, AutoscalerMessage>(message->buckets());
    case Wire::kSnapshotEnd: {
      const SnapshotEnd end{message->snapshot_end().revisions()};
      return std::optional<AutoscalerMessage>{end};
    }
    case Wire::MESSAGE_NOT_SET:
      break;
  }
  return std::optional<AutoscalerMessage>{};
}

}  // namespace sluice::proto
