#include "platform/kubernetes/io/activator_probes.h"

#include "common/base/check.h"
#include "common/net/address.h"

#include <boost/asio/post.hpp>

#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::chrono::milliseconds kProbeTimeout{1000};

// A thousand scalers at start are not a thousand connections at once.
constexpr std::size_t kFlyingMax = 64;

net::FetchRequest probe_request(const std::string& address, std::uint16_t port) {
  net::FetchRequest request;
  request.target.host = address;
  request.target.port = port;
  request.text = "GET /healthz HTTP/1.1\r\nHost: " + request.target.text() +
                 "\r\nUser-Agent: sluice-autoscaler\r\nK-Network-Probe: activator\r\n"
                 "Connection: close\r\n\r\n";
  request.timeout = kProbeTimeout;
  request.body_max = 1024;
  return request;
}

bool stands(const net::FetchResult& response) {
  return response && response->head.status == 200 && response->body == "activator";
}

}  // namespace

ActivatorProbes::ActivatorProbes(boost::asio::io_context& io, const Clock& clock,
                                 std::function<void(const RevisionId&)> changed)
    : io_{io}, clock_{clock}, changed_{std::move(changed)}, timer_{io} {}

void ActivatorProbes::set_port(const RevisionId& id, std::uint16_t port,
                               const std::set<std::string>& standing) {
  book_.set_port(id, port, clock_.now(), standing);
  arm();
}

void ActivatorProbes::forget(const RevisionId& id) {
  book_.forget(id);
  questions_.erase(id);
}

bool ActivatorProbes::set_activators(std::set<std::string> addresses) {
  const bool news = book_.set_activators(std::move(addresses), clock_.now());
  arm();
  return news;
}

// Every change ends here: the timer stands for what is due next. A wait that was cancelled is
// passed over; the timer is ours, so a wait that ends finds us.
void ActivatorProbes::arm() {
  const auto due = book_.next_due();
  if (!due || flying_.size() >= kFlyingMax) return;
  timer_.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(*due - clock_.now()));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) probe_due();
  });
}

void ActivatorProbes::probe_due() {
  for (ProbeBook::Target& target : book_.take(clock_.now(), kFlyingMax - flying_.size())) {
    net::FetchRequest request = probe_request(target.address, target.port);
    auto fetch = std::make_unique<net::Fetch>(
        io_, std::move(request), [this, target](const net::FetchResult& response) {
          const auto landed = flying_.extract(target);  // ourselves: gone when this returns
          if (book_.answered(target, stands(response), clock_.now())) changed_(target.id);
          arm();
        });
    flying_.insert_or_assign(std::move(target), std::move(fetch));
  }
  arm();
}

void ActivatorProbes::ask(const RevisionId& id, std::uint16_t port,
                          const std::vector<std::string>& addresses,
                          std::function<void(bool ok)> done) {
  end(id, false);
  if (addresses.empty()) {
    boost::asio::post(io_, [done = std::move(done)] { done(false); });
    return;
  }
  auto question = std::make_unique<Question>();
  question->open = addresses.size();
  question->done = std::move(done);
  for (const std::string& address : addresses) {
    question->fetches.push_back(std::make_unique<net::Fetch>(
        io_, probe_request(address, port),
        [this, id, asked = question.get()](const net::FetchResult& response) {
          CHECK(asked->open > 0);
          --asked->open;
          asked->ok = asked->ok && stands(response);
          if (asked->open == 0) end(id, asked->ok);
        }));
  }
  questions_.insert_or_assign(id, std::move(question));
}

void ActivatorProbes::end(const RevisionId& id, bool ok) {
  const auto ended = questions_.extract(id);
  if (!ended.empty()) ended.mapped()->done(ok);
}

}  // namespace sluice::autoscaler
