#include "memory-pressure/io/reports.h"

#include "common/net/address.h"
#include "common/net/host_and_port.h"
#include "common/net/ip_text.h"

#include <algorithm>
#include <utility>

namespace sluice::node_agent {
namespace {

namespace asio = boost::asio;

std::string target_of(const asio::ip::tcp::endpoint& endpoint) {
  return net::Address{.host = endpoint.address().to_string(), .port = endpoint.port(), .path = {}}
      .text();
}

std::string in_one_line(const std::set<std::string>& troubles) {
  std::string all;
  for (const std::string& each : troubles) all.append(all.empty() ? "" : "; ").append(each);
  return all;
}

}  // namespace

Reports::Reports(asio::io_context& io, Loop& loop, const log::Logger& log, Options options,
                 TellReport tell)
    : io_{io},
      loop_{loop},
      log_{log},
      options_{std::move(options)},
      tell_{std::move(tell)},
      timer_{loop.timer()},
      random_{options_.seed} {}

std::optional<Problem> Reports::start() {
  if (options_.addresses.empty()) return std::nullopt;
  for (const std::string& address : options_.addresses) {
    Place& place = places_.emplace_back();
    const auto parts = net::host_and_port(address);
    if (parts && !net::is_ip(parts->host)) {
      place.host = parts->host;
      place.port = parts->port;
      place.resolver.emplace(io_);
    } else {
      place.targets.push_back({.address = address, .tls_name = {}});
    }
  }
  // Only to see whether the files of tls_dir are there.
  if (auto problem = call({.address = options_.addresses.front(), .tls_name = {}})) return problem;
  begin_round();
  return std::nullopt;
}

void Reports::begin_round() {
  looked_up_ = static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(),
                    [](const Place& place) { return place.resolver.has_value(); }));
  if (looked_up_ == 0) return lay_out();
  for (Place& place : places_) {
    if (place.resolver) look_up(place);
  }
}

// A name that cannot be looked up stands for the addresses that it had.
void Reports::look_up(Place& place) {
  place.resolver->async_resolve(
      place.host, place.port,
      [this, &place, alive = alive_.watch()](const auto& ec, const auto& found) {
        if (alive.over()) return;
        if (ec) {
          troubles_.insert("cannot look up " + place.host + ": " + ec.message());
        } else {
          place.targets.clear();
          for (const auto& each : found) {
            place.targets.push_back(
                {.address = target_of(each.endpoint()), .tls_name = place.host});
          }
        }
        if (--looked_up_ == 0) lay_out();
      });
}

// The replica that was tried last comes last: it took no reports, or takes none any more.
void Reports::lay_out() {
  for (const Place& place : places_) {
    turns_.insert(turns_.end(), place.targets.begin(), place.targets.end());
  }
  if (turns_.size() > kReplicasMax) {
    if (!std::exchange(full_, true)) {
      log_.write(
          log::Severity::warning, "some replicas of the autoscaler are not tried",
          {{"replicas", std::to_string(turns_.size())}, {"limit", std::to_string(kReplicasMax)}});
    }
    turns_.resize(kReplicasMax);
  }
  std::stable_partition(turns_.begin(), turns_.end(),
                        [this](const Target& each) { return each.address != last_; });
  try_next();
}

// A file of tls_dir may be missing or half written while it is being replaced.
void Reports::try_next() {
  while (!turns_.empty()) {
    const Target target = std::move(turns_.front());
    turns_.pop_front();
    last_ = target.address;
    const auto problem = call(target);
    if (!problem) return stream_->start();
    troubles_.insert(problem->text());
  }
  end_round();
}

// The stream before goes when this one is there: gRPC's threads live as long as there is any.
std::optional<Problem> Reports::call(const Target& target) {
  auto made = ReportStream::make(
      io_, loop_, log_,
      {.target = target.address,
       .method = {},
       .tls_dir = options_.tls_dir,
       .tls_name = target.tls_name,
       .seed = options_.seed + ++made_},
      tell_, [this](const rpc::Ending& ending, bool taken) { ended(ending, taken); });
  if (!made) return made.error();
  reports_before_ = reports();
  stream_ = std::move(*made);
  return std::nullopt;
}

// UNAVAILABLE is the word of a replica that does not lead, or cannot be reached. Any other refusal
// comes from one that may lead, and so does the end of a stream: many agents hear it together.
void Reports::ended(const rpc::Ending& ending, bool taken) {
  troubles_.insert(stream_->target() + ": " + ending.show());
  if (taken) {
    failures_ = 0;
    last_trouble_.clear();
  }
  const bool refused = !taken && ending.code == rpc::Code::unavailable;
  if (!refused || turns_.empty()) return end_round();
  timer_->after({}, [this] { try_next(); });
}

void Reports::end_round() {
  const std::string why = in_one_line(troubles_);
  if (why != last_trouble_) {
    log_.write(log::Severity::warning, "cannot report to the autoscaler", {{"why", why}});
  }
  last_trouble_ = why;
  troubles_.clear();
  turns_.clear();
  std::uniform_real_distribution<double> dice{0, 1};
  timer_->after(rpc::retry_pause(++failures_, dice(random_)), [this] { begin_round(); });
}

void Reports::news() {
  if (stream_) stream_->news();
}

void Reports::stop() {
  alive_.end();  // an answer of the resolver may still come
  timer_->cancel();
  for (Place& place : places_) {
    if (place.resolver) place.resolver->cancel();
  }
  reports_before_ = reports();
  stream_.reset();
}

std::uint64_t Reports::reports() const {
  return reports_before_ + (stream_ ? stream_->reports() : 0);
}

}  // namespace sluice::node_agent
