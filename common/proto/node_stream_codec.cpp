#include "common/proto/node_stream_codec.h"

#include <algorithm>
#include <proto/node_stream.pb.h>
#include <utility>

namespace sluice::proto {
namespace {

bool read(const std::string& wire, std::string& text) {
  if (wire.size() > kNodeNameBytesMax) return false;
  text = wire;
  return true;
}

std::int64_t size_of(std::int64_t wire) {
  return std::max<std::int64_t>(wire, 0);
}

// Negated so that not-a-number reads as 0 too.
double share(double wire) {
  return !(wire > 0) ? 0 : std::min(wire, 100.0);
}

NodePressure pressure(sluice::v1::Pressure wire) {
  switch (wire) {
    case sluice::v1::OK:
      return NodePressure::ok;
    case sluice::v1::HIGH:
      return NodePressure::high;
    case sluice::v1::CRITICAL:
      return NodePressure::critical;
    default:
      return NodePressure::unspecified;  // an open enum: peers may know more values
  }
}

bool read(const sluice::v1::ThrottledContainer& wire, ThrottledContainer& container) {
  container.quota_us = wire.quota_us();
  container.period_us = wire.period_us();
  container.since_ms = wire.since_ms();
  container.ladder_step = wire.ladder_step();
  return read(wire.pod_uid(), container.pod_uid) && read(wire.namespace_(), container.space) &&
         read(wire.pod(), container.pod) && read(wire.container(), container.container);
}

void write(const ThrottledContainer& container, sluice::v1::ThrottledContainer& wire) {
  wire.set_pod_uid(container.pod_uid);
  wire.set_namespace_(container.space);
  wire.set_pod(container.pod);
  wire.set_container(container.container);
  wire.set_quota_us(container.quota_us);
  wire.set_period_us(container.period_us);
  wire.set_since_ms(container.since_ms);
  wire.set_ladder_step(container.ladder_step);
}

bool read(const sluice::v1::NodeReport& wire, NodeReport& report) {
  report.sequence = wire.sequence();
  report.pressure = pressure(wire.pressure());
  report.capacity_bytes = size_of(wire.capacity_bytes());
  report.used_bytes = size_of(wire.used_bytes());
  report.reserve_bytes = size_of(wire.reserve_bytes());
  report.growth_bytes_per_second = wire.growth_bytes_per_second();
  report.some_avg10 = share(wire.some_avg10());
  report.full_avg10 = share(wire.full_avg10());
  report.admit_bytes = size_of(wire.admit_bytes());
  report.degraded = wire.degraded();
  report.dry_run = wire.dry_run();
  for (const sluice::v1::ThrottledContainer& each : wire.throttled()) {
    if (!read(each, report.throttled.emplace_back())) return false;
  }
  return !wire.node().empty() && read(wire.node(), report.node) &&
         read(wire.boot_id(), report.boot_id) && read(wire.version(), report.version);
}

template <class Wire>
Result<Wire> parse(std::string_view bytes) {
  if (bytes.size() > kNodeStreamBytesMax) return Error::too_large;
  Wire message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::bad_request;
  }
  return message;
}

}  // namespace

std::string encode(const NodeReport& report) {
  sluice::v1::NodeReport wire;
  wire.set_protocol(report.protocol);
  wire.set_node(report.node);
  wire.set_boot_id(report.boot_id);
  wire.set_sequence(report.sequence);
  wire.set_pressure(static_cast<sluice::v1::Pressure>(report.pressure));
  wire.set_capacity_bytes(report.capacity_bytes);
  wire.set_used_bytes(report.used_bytes);
  wire.set_reserve_bytes(report.reserve_bytes);
  wire.set_growth_bytes_per_second(report.growth_bytes_per_second);
  wire.set_some_avg10(report.some_avg10);
  wire.set_full_avg10(report.full_avg10);
  wire.set_admit_bytes(report.admit_bytes);
  for (const ThrottledContainer& each : report.throttled) write(each, *wire.add_throttled());
  wire.set_degraded(report.degraded);
  wire.set_dry_run(report.dry_run);
  wire.set_version(report.version);
  return wire.SerializeAsString();
}

std::string encode(const NodeReportAck& ack) {
  sluice::v1::NodeReportAck wire;
  wire.set_sequence(ack.sequence);
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(ack.report_interval);
  wire.set_report_interval_ms(static_cast<std::uint32_t>(interval.count()));
  return wire.SerializeAsString();
}

Result<NodeReport> decode_node_report(std::string_view bytes) {
  const auto wire = parse<sluice::v1::NodeReport>(bytes);
  if (!wire) return wire.error();
  if (static_cast<std::size_t>(wire->throttled_size()) > kThrottledMax) return Error::too_large;
  NodeReport report;
  report.protocol = wire->protocol();
  // Of another protocol only the number is known to mean the same; it is refused by that.
  if (report.protocol == kNodeProtocol && !read(*wire, report)) return Error::bad_request;
  return report;
}

Result<NodeReportAck> decode_node_report_ack(std::string_view bytes) {
  const auto wire = parse<sluice::v1::NodeReportAck>(bytes);
  if (!wire) return wire.error();
  NodeReportAck ack;
  ack.sequence = wire->sequence();
  if (wire->report_interval_ms() != 0) {
    ack.report_interval =
        std::clamp<Duration>(std::chrono::milliseconds{wire->report_interval_ms()},
                             kReportIntervalMin, kReportIntervalMax);
  }
  return ack;
}

}  // namespace sluice::proto
