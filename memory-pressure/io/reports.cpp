#include "memory-pressure/io/reports.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::node_agent {
namespace {

namespace asio = boost::asio;

// Replicas come and go seldom, and every node asks.
constexpr Duration kLookUp = std::chrono::seconds{30};
// After a replica was lost, or could not be looked up.
constexpr Duration kLookUpSoon = std::chrono::seconds{1};

bool is_name(const std::string& host) {
  boost::system::error_code none;
  (void)asio::ip::make_address(host, none);
  return static_cast<bool>(none) && !host.empty() && host.front() != '[';
}

std::string target_of(const asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
         std::to_string(endpoint.port());
}

}  // namespace

Reports::Reports(asio::io_context& io, const Clock& clock, const log::Logger& log, Options options,
                 TellReport tell)
    : io_{io},
      clock_{clock},
      log_{log},
      options_{std::move(options)},
      tell_{std::move(tell)},
      timer_{io} {}

std::optional<Problem> Reports::start() {
  for (const std::string& address : options_.addresses) {
    const std::size_t colon = address.rfind(':');
    const std::string host = address.substr(0, colon);
    const bool named = !address.starts_with("unix:") && is_name(host);
    if (named) {
      names_.push_back(
          std::make_unique<Name>(Name{host, address.substr(colon + 1), Tcp::resolver{io_}}));
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
  if (lines_.contains(target) || lines_.size() >= kReplicasMax) return std::nullopt;
  auto stream = ReportStream::make(io_, clock_, log_,
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

void Reports::look_up_within(Duration pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this, alive = alive_.watch()](const auto& ec) {
    if (!ec && !alive.over()) look_up();
  });
}

void Reports::look_up() {
  if (names_.empty()) return;
  look_up_within(kLookUp);
  for (const auto& name : names_) {
    name->resolver.async_resolve(
        name->host, name->port,
        [this, &name = *name, alive = alive_.watch()](const auto& ec, const auto& found) {
          if (alive.over() || ec == asio::error::operation_aborted) return;
          if (ec) return trouble("cannot look up " + name.host + ": " + ec.message());
          last_trouble_.clear();
          settle(name, found);
        });
  }
}

// One whose call is open is kept though its address is gone: it ends by itself.
void Reports::settle(const Name& name, const Tcp::resolver::results_type& found) {
  // Of two families each would be a second stream to the same replica.
  const auto family = found.begin()->endpoint().protocol();
  std::set<std::string> targets;
  for (const auto& each : found) {
    if (each.endpoint().protocol() == family) targets.insert(target_of(each.endpoint()));
  }
  std::erase_if(lines_, [&](const auto& each) {
    const auto& [target, line] = each;
    if (line.name != &name || targets.contains(target) || line.stream->connected()) return false;
    reports_before_ += line.stream->reports();
    return true;
  });
  for (const std::string& target : targets) {
    if (lines_.contains(target)) continue;
    // A file of tls_dir is missing or half written: it is being replaced.
    if (const auto problem = add(target, &name)) return trouble(problem->text());
    if (const auto line = lines_.find(target); line != lines_.end()) line->second.stream->start();
  }
}

void Reports::trouble(const std::string& what) {
  if (what != last_trouble_) {
    log_.write(log::Severity::warning, "cannot report to the autoscaler", {{"why", what}});
  }
  last_trouble_ = what;
  look_up_within(kLookUpSoon);
}

void Reports::news() {
  for (const auto& [target, line] : lines_) line.stream->news();
}

void Reports::stop() {
  timer_.cancel();
  for (const auto& name : names_) name->resolver.cancel();
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
