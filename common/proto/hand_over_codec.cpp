#include "common/proto/hand_over_codec.h"

#include "common/proto/stat_fields.h"

#include <algorithm>
#include <cmath>
#include <proto/hand_over.pb.h>
#include <utility>

namespace sluice::proto {
namespace {

constexpr std::size_t kNameMax = 253;
constexpr std::int64_t kNanos = 1'000'000'000;

// Whatever is subtracted from whatever else stays a number.
constexpr std::int64_t kTimeMax = 4 * kNanos * kNanos;
constexpr std::int64_t kBucketMax = kTimeMax / kNanos;
constexpr std::int64_t kSpanMax = 24 * 3600 * kNanos;

// Each read() says whether the message is one of ours.

bool read(std::int64_t wire, TimePoint& at) {
  at = TimePoint{Duration{wire}};
  return wire >= 0 && wire <= kTimeMax;
}

bool read(std::int64_t wire, Duration& span) {
  span = Duration{wire};
  return wire >= 0 && wire <= kSpanMax;
}

bool read(bool is_there, std::int64_t wire, std::optional<TimePoint>& at) {
  return !is_there || read(wire, at.emplace());
}

bool read(bool is_there, std::int64_t wire, std::optional<std::int64_t>& bucket) {
  if (is_there) bucket = wire;
  return !is_there || (wire >= 0 && wire <= kBucketMax);
}

std::int64_t nanos(TimePoint at) {
  return at.time_since_epoch().count();
}

void write(const HandedWindow& window, sluice::v1::HandedWindow& wire) {
  wire.set_window_ns(window.window.count());
  if (window.first) wire.set_first(*window.first);
  if (window.last) wire.set_last(*window.last);
  wire.set_total(window.total);
  wire.mutable_values()->Add(window.values.begin(), window.values.end());
}

bool read(const sluice::v1::HandedWindow& wire, HandedWindow& window) {
  if (!read(wire.window_ns(), window.window) ||
      !read(wire.has_first(), wire.first(), window.first) ||
      !read(wire.has_last(), wire.last(), window.last)) {
    return false;
  }
  window.total = wire.total();
  window.values.assign(wire.values().begin(), wire.values().end());
  const std::int64_t buckets = (window.window.count() + kNanos - 1) / kNanos;
  const bool fits = buckets >= 1 && buckets <= static_cast<std::int64_t>(kHandedBucketsMax) &&
                    static_cast<std::int64_t>(window.values.size()) <= buckets;
  const bool in_order = !window.first || (window.last && *window.first <= *window.last);
  return fits && in_order && (window.last || window.values.empty()) &&
         std::isfinite(window.total) &&
         std::all_of(window.values.begin(), window.values.end(),
                     [](double value) { return std::isfinite(value); });
}

void write(const HandedDelay& delay, sluice::v1::HandedDelay& wire) {
  wire.set_slots(delay.slots);
  for (const HandedDelay::Entry& entry : delay.entries) {
    wire.add_slot(entry.slot);
    wire.add_value(entry.value);
  }
}

bool read(const sluice::v1::HandedDelay& wire, HandedDelay& delay) {
  delay.slots = wire.slots();
  if (delay.slots < 1 || delay.slots > static_cast<std::int64_t>(kHandedSlotsMax)) return false;
  if (wire.slot_size() != wire.value_size() || wire.slot_size() > delay.slots) return false;
  for (int i = 0; i < wire.slot_size(); ++i) {
    const HandedDelay::Entry entry{wire.slot(i), wire.value(i)};
    if (entry.slot < 0 || entry.slot > kBucketMax) return false;
    const bool falls = delay.entries.empty() || (delay.entries.back().slot < entry.slot &&
                                                 delay.entries.back().value > entry.value);
    if (!falls) return false;
    delay.entries.push_back(entry);
  }
  return true;
}

void write(const HandedAttention& attention, sluice::v1::HandedAttention& wire) {
  wire.set_evaluated_ns(nanos(attention.evaluated));
  wire.set_step_ns(attention.step.count());
  wire.set_usual_ns(attention.usual.count());
  if (attention.absent_since) wire.set_absent_since_ns(nanos(*attention.absent_since));
  if (attention.resumed) wire.set_resumed_ns(nanos(*attention.resumed));
  wire.set_known_ns(attention.known.count());
  wire.set_had_data(attention.had_data);
  wire.set_settled(attention.settled);
}

bool read(const sluice::v1::HandedAttention& wire, HandedAttention& attention) {
  attention.had_data = wire.had_data();
  attention.settled = wire.settled();
  return read(wire.evaluated_ns(), attention.evaluated) && read(wire.step_ns(), attention.step) &&
         read(wire.usual_ns(), attention.usual) && read(wire.known_ns(), attention.known) &&
         read(wire.has_absent_since_ns(), wire.absent_since_ns(), attention.absent_since) &&
         read(wire.has_resumed_ns(), wire.resumed_ns(), attention.resumed);
}

sluice::v1::HandedActivity on_the_wire(HandedActivity activity) {
  switch (activity) {
    case HandedActivity::inactive:
      return sluice::v1::HANDED_INACTIVE;
    case HandedActivity::activating:
      return sluice::v1::HANDED_ACTIVATING;
    case HandedActivity::active:
      return sluice::v1::HANDED_ACTIVE;
  }
  return sluice::v1::HANDED_ACTIVITY_UNSPECIFIED;
}

bool read(sluice::v1::HandedActivity wire, HandedActivity& activity) {
  switch (wire) {
    case sluice::v1::HANDED_INACTIVE:
      activity = HandedActivity::inactive;
      return true;
    case sluice::v1::HANDED_ACTIVATING:
      activity = HandedActivity::activating;
      return true;
    case sluice::v1::HANDED_ACTIVE:
      activity = HandedActivity::active;
      return true;
    default:
      return false;  // of a later version: it cannot be gone on with
  }
}

void write(const HandedRevision& handed, sluice::v1::HandedRevision& wire) {
  const HandedScaler& scaler = handed.scaler;
  wire.set_namespace_(handed.revision.space);
  wire.set_name(handed.revision.name);
  write(scaler.collector.concurrency_stable, *wire.mutable_concurrency_stable());
  write(scaler.collector.concurrency_panic, *wire.mutable_concurrency_panic());
  write(scaler.collector.rps_stable, *wire.mutable_rps_stable());
  write(scaler.collector.rps_panic, *wire.mutable_rps_panic());
  if (scaler.collector.newest) wire.set_newest_ns(nanos(*scaler.collector.newest));
  if (scaler.decider.panic_since) wire.set_panic_since_ns(nanos(*scaler.decider.panic_since));
  if (scaler.decider.panic_entered) wire.set_panic_entered_ns(nanos(*scaler.decider.panic_entered));
  wire.set_peak_pods(scaler.decider.peak_pods);
  if (scaler.decider.delay) write(*scaler.decider.delay, *wire.mutable_delay());
  wire.set_desired(scaler.desired);
  wire.set_excess_burst_capacity(scaler.excess_burst_capacity);
  wire.set_activity(on_the_wire(scaler.activity));
  wire.set_activity_since_ns(nanos(scaler.activity_since));
  wire.set_serves(scaler.serves);
  wire.set_initialized(scaler.initialized);
  wire.set_told_to_sleep(scaler.told_to_sleep);
  wire.set_woken_by_hand(scaler.woken_by_hand);
  write(scaler.attention, *wire.mutable_attention());
}

bool read(const sluice::v1::HandedRevision& wire, HandedRevision& handed) {
  if (!is_revision_name(wire.namespace_()) || !is_revision_name(wire.name())) return false;
  handed.revision = {wire.namespace_(), wire.name()};
  HandedScaler& scaler = handed.scaler;
  HandedCollector& collector = scaler.collector;
  HandedDecider& decider = scaler.decider;
  decider.peak_pods = wire.peak_pods();
  scaler.desired = wire.desired();
  scaler.excess_burst_capacity = wire.excess_burst_capacity();
  scaler.serves = wire.serves();
  scaler.initialized = wire.initialized();
  scaler.told_to_sleep = wire.told_to_sleep();
  scaler.woken_by_hand = wire.woken_by_hand();
  return scaler.desired >= -1 && decider.peak_pods >= 0 &&
         read(wire.concurrency_stable(), collector.concurrency_stable) &&
         read(wire.concurrency_panic(), collector.concurrency_panic) &&
         read(wire.rps_stable(), collector.rps_stable) &&
         read(wire.rps_panic(), collector.rps_panic) &&
         read(wire.has_newest_ns(), wire.newest_ns(), collector.newest) &&
         read(wire.has_panic_since_ns(), wire.panic_since_ns(), decider.panic_since) &&
         read(wire.has_panic_entered_ns(), wire.panic_entered_ns(), decider.panic_entered) &&
         (!wire.has_delay() || read(wire.delay(), decider.delay.emplace())) &&
         read(wire.activity(), scaler.activity) &&
         read(wire.activity_since_ns(), scaler.activity_since) &&
         read(wire.attention(), scaler.attention);
}

template <class Wire>
Result<Wire> parse(std::string_view bytes) {
  if (bytes.size() > kHandOverBytesMax) return Error::too_large;
  Wire message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::bad_request;
  }
  return message;
}

}  // namespace

std::vector<std::string> encode_take_requests(const std::string& autoscaler, TimePoint sent,
                                              std::span<const HandedRevision> revisions) {
  std::vector<std::string> messages;
  sluice::v1::TakeRequest wire;
  std::size_t bytes = 0;
  const auto close = [&] {
    wire.set_protocol(kHandOverProtocol);
    wire.set_autoscaler(autoscaler);
    wire.set_sent_ns(nanos(sent));
    messages.push_back(wire.SerializeAsString());
    wire.Clear();
    bytes = 0;
  };
  for (const HandedRevision& handed : revisions) {
    write(handed, *wire.add_revisions());
    bytes += wire.revisions(wire.revisions_size() - 1).ByteSizeLong();
    const bool many = static_cast<std::size_t>(wire.revisions_size()) >= kHandedMax;
    if (many || bytes >= kHandOverFullBytes) close();
  }
  if (wire.revisions_size() > 0) close();
  return messages;
}

std::string encode(const TakeReply& reply) {
  sluice::v1::TakeReply wire;
  wire.set_protocol(reply.protocol);
  wire.set_taken(reply.taken);
  wire.set_left(reply.left);
  return wire.SerializeAsString();
}

Result<TakeRequest> decode_take_request(std::string_view bytes) {
  const auto wire = parse<sluice::v1::TakeRequest>(bytes);
  if (!wire) return wire.error();
  TakeRequest request{.protocol = wire->protocol(), .autoscaler = {}};
  if (request.protocol != kHandOverProtocol) return request;
  if (static_cast<std::size_t>(wire->revisions_size()) > kHandedMax) return Error::too_large;
  if (wire->autoscaler().size() > kNameMax || !read(wire->sent_ns(), request.sent)) {
    return Error::bad_request;
  }
  request.autoscaler = wire->autoscaler();
  request.revisions.reserve(static_cast<std::size_t>(wire->revisions_size()));
  for (const sluice::v1::HandedRevision& each : wire->revisions()) {
    if (!read(each, request.revisions.emplace_back())) return Error::bad_request;
  }
  return request;
}

Result<TakeReply> decode_take_reply(std::string_view bytes) {
  const auto wire = parse<sluice::v1::TakeReply>(bytes);
  if (!wire) return wire.error();
  return TakeReply{.protocol = wire->protocol(), .taken = wire->taken(), .left = wire->left()};
}

}  // namespace sluice::proto
