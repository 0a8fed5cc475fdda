#include "memory-pressure/io/reports.h"

#include "common/net/address.h"
#include "common/net/host_and_port.h"
#include "common/net/ip_text.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::node_agent {
namespace {

namespace asio = boost::asio;

// Replicas come and go seldom, and every node asks.
constexpr Duration kLookUp = std::chrono::seconds{30};
// After a replica was lost.
constexpr Duration kLookUpSoon = std::chrono::seconds{1};

std::string target_of(const asio::ip::tcp::endpoint& endpoint) {
  return net::Address{.host = endpoint.address().to_string(), .port = endpoint.port(), .path = {}}
      .text();
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
  for (const std::string& address : options_.addresses) {
    const auto parts = net::host_and_port(address);
    const bool named = parts && !net::is_ip(parts->host);
    if (named) {
      names_.push_back(std::make_unique<Name>(Name{parts->host, parts->port, Tcp::resolver{io_}}));
    }
    // For a name only to see whether the files of tls_dir are there.
    if (auto problem = add(address, nullptr)) return problem;
    if (named) lines_.erase(address);
  }
  for (const auto& [target, line] : lines_) line.stream->start();
  look_up();
  return std::nullopt;
}

std::optional<Problem> Reports::add(const std::string& target, const Name* name) {
  if (lines_.contains(target)) return std::nullopt;
  if (lines_.size() >= kReplicasMax) {
    if (!std::exchange(full_, true)) {
      log_.write(log::Severity::warning, "some replicas of the autoscaler get no reports",
                 {{"replica", target}, {"limit", std::to_string(kReplicasMax)}});
    }
    return std::nullopt;
  }
  auto stream = ReportStream::make(io_, loop_, log_,
                                   {.target = target,
                                    .method = {},
                                    .tls_dir = options_.tls_dir,
                                    .tls_name = name == nullptr ? std::string{} : name->host,
                                    .seed = options_.seed + ++made_},
                                   tell_, [this] {
                                     if (!names_.empty()) look_up_within(kLookUpSoon);
                                   });
  if (!stream) return stream.error();
  lines_.emplace(target, Line{name, std::move(*stream)});
  return std::nullopt;
}

// A look-up that is due sooner stays.
void Reports::look_up_within(Duration pause) {
  const TimePoint at = loop_.now() + pause;
  if (due_ && *due_ <= at) return;
  due_ = at;
  timer_->after(pause, [this] {
    due_.reset();
    look_up();
  });
}

void Reports::look_up() {
  if (names_.empty()) return;
  look_up_within(kLookUp);
  for (const auto& name : names_) {
    if (std::exchange(name->asked, true)) continue;
    name->resolver.async_resolve(
        name->host, name->port,
        [this, &name = *name, alive = alive_.watch()](const auto& ec, const auto& found) {
          if (alive.over()) return;
          name.asked = false;
          if (ec) return failed(name, "cannot look up " + name.host + ": " + ec.message());
          if (const auto problem = settle(name, found)) return failed(name, problem->text());
          name.failures = 0;
          name.trouble.clear();
        });
  }
}

// One whose call is open is kept though its address is gone: it ends by itself. A replica that the
// name has by two addresses gets each report twice: a report is the full state. Problem: a file of
// tls_dir is missing or half written, since it is being replaced.
std::optional<Problem> Reports::settle(const Name& name, const Tcp::resolver::results_type& found) {
  std::set<std::string> targets;
  for (const auto& each : found) targets.insert(target_of(each.endpoint()));
  std::erase_if(lines_, [&](const auto& each) {
    const auto& [target, line] = each;
    if (line.name != &name || targets.contains(target) || line.stream->connected()) return false;
    reports_before_ += line.stream->reports();
    return true;
  });
  for (const std::string& target : targets) {
    if (lines_.contains(target)) continue;
    if (auto problem = add(target, &name)) return problem;
    if (const auto line = lines_.find(target); line != lines_.end()) line->second.stream->start();
  }
  return std::nullopt;
}

void Reports::failed(Name& name, const std::string& why) {
  if (why != name.trouble) {
    log_.write(log::Severity::warning, "cannot report to the autoscaler", {{"why", why}});
  }
  name.trouble = why;
  ++name.failures;
  std::uniform_real_distribution<double> dice{0, 1};
  look_up_within(std::max(kLookUpSoon, rpc::retry_pause(name.failures, dice(random_))));
}

void Reports::news() {
  for (const auto& [target, line] : lines_) line.stream->news();
}

void Reports::stop() {
  alive_.end();  // an answer of the resolver may still come
  timer_->cancel();
  for (const auto& name : names_) name->resolver.cancel();
  reports_before_ = reports();
  lines_.clear();
}

bool Reports::connected() const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [](const auto& each) { return each.second.stream->connected(); });
}

std::uint64_t Reports::reports() const {
  std::uint64_t all = reports_before_;
  for (const auto& [target, line] : lines_) all += line.stream->reports();
  return all;
}

}  // namespace sluice::node_agent
