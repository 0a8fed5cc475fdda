#include "memory-pressure/io/report_stream.h"

#include "common/proto/node_stream_codec.h"

#include <algorithm>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr Duration kLeastPause = std::chrono::milliseconds{250};  // four a second
constexpr double kScatter = 0.1;
constexpr Duration kAckWait = std::chrono::seconds{10};
constexpr std::int64_t kAdmitShare = 10;  // of capacity: a tenth

// Who is throttled, and how hard: not for how long.
bool same_throttles(const std::vector<proto::ThrottledContainer>& a,
                    const std::vector<proto::ThrottledContainer>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool is_news(const proto::NodeReport& last, const proto::NodeReport& next) {
  if (last.pressure != next.pressure || last.degraded != next.degraded) return true;
  if (!same_throttles(last.throttled, next.throttled)) return true;
  const std::int64_t moved = std::abs(next.admit_bytes - last.admit_bytes);
  return moved > next.capacity_bytes / kAdmitShare;
}

}  // namespace

TimePoint ReportPace::due(const proto::NodeReport& next) const {
  if (!last_) return TimePoint{};
  return is_news(*last_, next) ? std::min(regular_, sent_at_ + kLeastPause) : regular_;
}

void ReportPace::sent(const proto::NodeReport& report, TimePoint now) {
  last_ = report;
  sent_at_ = now;
  std::uniform_real_distribution<double> scatter{1 - kScatter, 1 + kScatter};
  regular_ = now + from_seconds(to_seconds(interval_) * scatter(random_));
}

Result<std::unique_ptr<ReportStream>, Problem> ReportStream::make(
    boost::asio::io_context& io, Loop& loop, const log::Logger& log, rpc::ClientOptions client,
    const TellReport& tell, Ended ended) {
  std::unique_ptr<ReportStream> made{new ReportStream{loop, log, tell, client.seed}};
  ReportStream& stream = *made;
  stream.ended_ = std::move(ended);
  client.method = proto::kNodeStreamMethod;
  auto called = rpc::Client::make(
      io, std::move(client),
      {.on_connected = [&stream] { stream.send_when_due(); },
       .on_message = [&stream](const std::string& bytes) { stream.heard(bytes); },
       .on_writable = [&stream] { stream.send_when_due(); },
       .on_closed = [&stream](const rpc::Client::Closed& closed) { stream.end(closed.ending); }});
  if (!called) return called.error();
  stream.client_ = std::move(*called);
  return made;
}

void ReportStream::start() {
  await_ack();
  client_->start();
}

// One that neither takes reports nor refuses them would keep them from the one that takes them.
void ReportStream::await_ack() {
  if (std::exchange(awaited_, true)) return;
  patience_->after(kAckWait, [this] {
    end({rpc::Code::unavailable, "no acknowledgement within 10 s"});
  });
}

// The client would call the same replica again.
void ReportStream::end(const rpc::Ending& ending) {
  client_->stop();
  timer_->cancel();
  patience_->cancel();
  ended_(ending, std::exchange(taken_, false));
}

void ReportStream::heard(const std::string& bytes) {
  const auto ack = proto::decode_node_report_ack(bytes);
  if (!ack) return end({rpc::Code::invalid_argument, "invalid acknowledgement"});
  if (!std::exchange(taken_, true)) {
    log_.write(log::Severity::info, "reporting to the autoscaler",
               {{"address", client_->target()}});
  }
  awaited_ = false;
  patience_->cancel();
  pace_.set_interval(ack->report_interval);
}

void ReportStream::send_when_due() {
  if (!client_->writable()) return;
  proto::NodeReport report = tell_();
  const TimePoint now = loop_.now();
  const TimePoint due = pace_.due(report);
  if (due > now) {
    return timer_->after(due - now, [this] { send_when_due(); });
  }
  report.sequence = ++sequence_;
  client_->write(proto::encode(report));
  pace_.sent(report, now);
  ++reports_;
  await_ack();
}

}  // namespace sluice::node_agent
