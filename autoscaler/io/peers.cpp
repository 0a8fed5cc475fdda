#include "autoscaler/io/peers.h"

#include "common/api/api_text.h"
#include "common/net/fetch.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr const char* kFields = "\r\nAccept: application/json\r\nConnection: close\r\n";

}  // namespace

// The first of two parameters of one name counts, however the second is written.
std::string target_here(const std::string& target,
                        const std::vector<std::pair<std::string, std::string>>& more) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string marked = target.substr(0, mark) + "?" + Peers::kHere + "=1";
  for (const auto& [name, value] : more) marked += "&" + name + "=" + http::url_encoded(value);
  if (mark + 1 < target.size()) marked += "&" + target.substr(mark + 1);
  return marked;
}

void ask_all(Peers& peers, const std::vector<Peer>& chosen, const std::string& target,
             std::function<void(std::vector<std::optional<PeerAnswer>>)> done) {
  struct Round {
    std::vector<std::optional<PeerAnswer>> answers;
    std::size_t waits = 0;
    std::function<void(std::vector<std::optional<PeerAnswer>>)> done;
  };

  const auto round = std::make_shared<Round>(Round{
      .answers = std::vector<std::optional<PeerAnswer>>(chosen.size()),
      .waits = chosen.size(),
      .done = std::move(done),
  });
  if (chosen.empty()) return round->done({});
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    peers.ask(chosen[i], target, Peers::kDeadline, [round, i](std::optional<PeerAnswer> answer) {
      round->answers[i] = std::move(answer);
      if (--round->waits == 0) round->done(std::move(round->answers));
    });
  }
}

HttpPeers::HttpPeers(boost::asio::io_context& io, std::function<std::optional<PeerList>()> list)
    : io_{io}, list_{std::move(list)} {}

HttpPeers::~HttpPeers() = default;

void HttpPeers::ask(const Peer& peer, const std::string& target, std::chrono::milliseconds deadline,
                    Answered answered) {
  send(peer, "GET " + target + " HTTP/1.1\r\nHost: " + peer.api.text() + kFields + "\r\n", deadline,
       std::move(answered));
}

void HttpPeers::change(const Peer& peer, const PeerChange& change, Answered answered) {
  send(peer,
       "POST " + change.target + " HTTP/1.1\r\nHost: " + peer.api.text() + kFields +
           "Sluice-Edit: " + change.token +
           "\r\nContent-Length: " + std::to_string(change.body.size()) + "\r\n\r\n" + change.body,
       kLongDeadline, std::move(answered));
}

void HttpPeers::send(const Peer& peer, std::string text, std::chrono::milliseconds deadline,
                     Answered answered) {
  if (asks_.size() >= kAsksMax) {
    boost::asio::post(io_, [alive = alive_.watch(), answered = std::move(answered)] {
      if (!alive.over()) answered(std::nullopt);
    });
    return;
  }
  net::FetchRequest request;
  request.target = peer.api;
  request.text = std::move(text);
  request.timeout = deadline;
  request.body_max = kBytesMax;
  const std::uint64_t id = ++last_;
  const auto take = [this, id, answered = std::move(answered)](const net::FetchResult& result) {
    // What is called may end this.
    const auto asked = asks_.extract(id);
    const Answered tell = answered;
    if (!result) return tell(std::nullopt);
    tell(PeerAnswer{.status = result->head.status,
                    .content_type = std::string{result->head.fields.find("content-type")},
                    .body = result->body});
  };
  asks_.emplace(id, std::make_unique<net::Fetch>(io_, std::move(request), take));
}

}  // namespace sluice::autoscaler
