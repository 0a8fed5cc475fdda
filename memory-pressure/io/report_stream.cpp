#include "memory-pressure/io/report_stream.h"

#include "common/proto/node_stream_codec.h"

#include <algorithm>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr Duration kLeastPause = std::chrono::milliseconds{250};  // four a second
constexpr double kScatter = 0.1;
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

ReportStream::ReportStream(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                           Options options, Tell tell)
    : io_{io},
      clock_{clock},
      log_{log},
      options_{std::move(options)},
      tell_{std::move(tell)},
      pace_{options_.seed},
      timer_{io},
      redial_{io} {}

std::optional<Problem> ReportStream::start() {
  return options_.addresses.empty() ? std::nullopt : dial();
}

std::optional<Problem> ReportStream::dial() {
  client_.reset();
  auto client =
      rpc::Client::make(io_,
                        {.target = options_.addresses[at_],
                         .method = proto::kNodeStreamMethod,
                         .tls_dir = options_.tls_dir,
                         .seed = options_.seed + failures_},
                        {.on_connected =
                             [this] {
                               sequence_ = 0;
                               pace_.restart();
                               send_when_due();
                             },
                         .on_message = [this](const std::string& bytes) { heard(bytes); },
                         .on_writable = [this] { send_when_due(); },
                         .on_closed = [this](const rpc::Client::Closed& closed) { lost(closed); }});
  if (!client) return client.error();
  client_ = std::move(*client);
  client_->start();
  return std::nullopt;
}

// A replica that does not hold the first bucket answers UNAVAILABLE: the next may.
void ReportStream::lost(const rpc::Client::Closed& closed) {
  timer_.cancel();
  const std::string trouble = options_.addresses[at_] + ": " + closed.ending.show();
  if (trouble != last_trouble_) {
    log_.write(log::Severity::warning, "cannot report to the autoscaler", {{"why", trouble}});
  }
  last_trouble_ = trouble;
  if (options_.addresses.size() < 2) return;  // the client tries again by itself
  client_->stop();
  at_ = (at_ + 1) % options_.addresses.size();
  failures_ = closed.connected ? 1 : failures_ + 1;
  redial();
}

void ReportStream::redial() {
  const auto rounds = static_cast<std::uint32_t>(failures_ / options_.addresses.size()) + 1;
  redial_.expires_after(rpc::retry_pause(rounds, 0.5));
  redial_.async_wait([this, alive = alive_.watch()](auto error) {
    if (error || alive.over()) return;
    const auto problem = dial();
    if (!problem) return;
    // A file of tls_dir is missing or half written: it is being replaced.
    if (problem->text() != last_trouble_) log_.write(log::Severity::error, problem->text());
    last_trouble_ = problem->text();
    ++failures_;
    redial();
  });
}

void ReportStream::heard(const std::string& bytes) {
  const auto ack = proto::decode_node_report_ack(bytes);
  if (!ack) {
    client_->reconnect({rpc::Code::invalid_argument, "invalid acknowledgement"});
    return;
  }
  if (ack->sequence == 1) {
    log_.write(log::Severity::info, "reporting to the autoscaler",
               {{"address", options_.addresses[at_]}});
    last_trouble_.clear();
  }
  failures_ = 0;
  pace_.set_interval(ack->report_interval);
}

void ReportStream::news() {
  if (connected()) send_when_due();
}

void ReportStream::send_when_due() {
  if (!client_ || !client_->writable()) return;
  proto::NodeReport report = tell_();
  const TimePoint now = clock_.now();
  const TimePoint due = pace_.due(report);
  if (due > now) {
    timer_.expires_after(due - now);
    timer_.async_wait([this, alive = alive_.watch()](auto error) {
      if (!error && !alive.over()) send_when_due();
    });
    return;
  }
  report.sequence = ++sequence_;
  client_->write(proto::encode(report));
  pace_.sent(report, now);
  ++reports_;
}

void ReportStream::stop() {
  timer_.cancel();
  redial_.cancel();
  if (client_) client_->stop();
}

}  // namespace sluice::node_agent
