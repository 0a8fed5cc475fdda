#include "autoscaler/io/http_stat_source.h"

#include "autoscaler/core/activators/pushed_stat.h"
#include "autoscaler/core/activators/stat_intake.h"
#include "common/net/address.h"
#include "common/net/fetch.h"
#include "common/proto/stat_codec.h"

#include <utility>

namespace sluice::autoscaler {
namespace {

// The next round begins after a second; an answer that takes longer is of no use to this one.
constexpr std::chrono::milliseconds kScrapeTimeout{900};

net::FetchRequest scrape_request(const net::Address& target) {
  net::FetchRequest request;
  request.target = target;
  request.text =
      "GET /metrics HTTP/1.1\r\nHost: " + (target.is_unix() ? "localhost" : target.text()) +
      "\r\nAccept: application/protobuf\r\nConnection: close\r\n\r\n";
  request.timeout = kScrapeTimeout;
  request.body_max = kAnswerBytesMax;
  return request;
}

Result<Stat, ScrapeError> stat_of(const net::FetchResult& response) {
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

class HttpQuestion final : public StatSource::Question {
 public:
  HttpQuestion(boost::asio::io_context& io, const net::Address& target,
               StatSource::Answered answered)
      : answered_{std::move(answered)},
        fetch_{io, scrape_request(target),
               [this](const net::FetchResult& response) { take(response); }} {}

 private:
  void take(const net::FetchResult& response) {
    const StatSource::Answered answered = std::move(answered_);
    answered(stat_of(response));
  }

  StatSource::Answered answered_;
  net::Fetch fetch_;
};

}  // namespace

std::unique_ptr<StatSource::Question> HttpStatSource::ask(const std::string& address,
                                                          Answered answered) {
  const auto target = net::parse_address(address);
  if (!target) return nullptr;
  return std::make_unique<HttpQuestion>(io_, *target, std::move(answered));
}

}  // namespace sluice::autoscaler
