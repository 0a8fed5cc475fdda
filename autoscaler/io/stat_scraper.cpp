#include "autoscaler/io/stat_scraper.h"

#include "autoscaler/core/activators/pushed_stat.h"
#include "autoscaler/core/activators/stat_intake.h"
#include "common/net/address.h"
#include "common/proto/stat_codec.h"

#include <utility>

namespace sluice::autoscaler {
namespace {

// The next round begins after a second; an answer that takes longer is of no use to this one.
constexpr std::chrono::milliseconds kScrapeTimeout{900};

net::FetchRequest scrape_request(const net::Address& target) {
  net::FetchRequest request;
  request.target = target;
  request.head =
      "GET /metrics HTTP/1.1\r\nHost: " + (target.is_unix() ? "localhost" : target.text()) +
      "\r\nAccept: application/protobuf\r\nConnection: close\r\n\r\n";
  request.timeout = kScrapeTimeout;
  request.body_max = kAnswerBytesMax;
  return request;
}

Result<Stat, ScrapeError> stat_of(const Result<net::FetchResponse>& response) {
  if (!response) return ScrapeError::unreachable;
  const auto body = accept_answer({.status = response->head.status,
                                   .content_type = response->head.fields.find("content-type"),
                                   .body = response->body});
  if (!body) return body.error();
  const auto decoded = proto::decode_stat(*body);
  if (!decoded) return ScrapeError::undecodable;
  const Stat stat = figures_of(*decoded);
  if (flaw_of(stat)) return ScrapeError::implausible;
  return stat;
}

}  // namespace

StatScraper::StatScraper(boost::asio::io_context& io, std::mt19937_64& random, Events events)
    : io_{io}, random_{random}, events_{std::move(events)} {}

void StatScraper::start(std::span<const Pod> pods, Duration stable_window, TimePoint now) {
  give_up();
  scrape_.emplace(scrape_candidates(pods, stable_window, now), random_);
  ask();
}

void StatScraper::give_up() {
  ++round_;
  fetches_.clear();
  scrape_.reset();
}

void StatScraper::ask() {
  while (const auto address = scrape_->next()) {
    const auto target = net::parse_address(*address);
    if (!target) {
      scrape_->failed(ScrapeError::unreachable);
      continue;
    }
    fetches_.push_back(std::make_unique<net::Fetch>(
        io_, scrape_request(*target),
        [this, round = round_, address = *address](const Result<net::FetchResponse>& response) {
          take(round, address, response);
        }));
  }
  if (fetches_.empty()) scrape_.reset();  // nobody to ask: nothing is recorded, and no error
}

void StatScraper::take(std::uint64_t round, const std::string& address,
                       const Result<net::FetchResponse>& response) {
  if (round != round_ || !scrape_) return;
  const auto stat = stat_of(response);
  if (stat) {
    scrape_->succeeded(*stat);
    events_.answered(address, *stat);
  } else {
    if (stat.error() == ScrapeError::implausible) events_.flawed();
    scrape_->failed(stat.error());
  }
  ask();
  end_if_finished();
}

void StatScraper::end_if_finished() {
  if (!scrape_ || !scrape_->finished()) return;
  const ScrapeResult result = scrape_->result();
  scrape_.reset();
  const auto done = std::move(fetches_);  // this answer's own among them: gone when we return
  events_.ended(result);
}

}  // namespace sluice::autoscaler
