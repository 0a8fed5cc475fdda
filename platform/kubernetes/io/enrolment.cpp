#include "platform/kubernetes/io/enrolment.h"

#include "common/certificates/enrolment_text.h"
#include "common/certificates/identity.h"
#include "common/http/own_response.h"
#include "common/json/write.h"
#include "common/kube/json_read.h"
#include "common/kube/objects.h"

#include <algorithm>
#include <sys/socket.h>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr const char* kReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kNodeName = "authentication.kubernetes.io/node-name";
constexpr const char* kPodName = "authentication.kubernetes.io/pod-name";
constexpr int kTryAgain = 5;  // seconds
constexpr std::size_t kPodNameMax = 253;
constexpr std::string_view kPodLetters = "abcdefghijklmnopqrstuvwxyz0123456789-.";

std::string only(const nlohmann::json& extra, const char* key) {
  const auto all = reading::strings(extra, key);
  return all.size() == 1 ? all.front() : std::string{};
}

Problem wrong_token(const std::string& what) {
  return {"the token is not that of a node agent: " + what,
          "see SLUICE_TOKEN_FILE of the agent: a token of its service account for the audience " +
              std::string{certificates::kEnrollAudience}};
}

std::string peer_of(int descriptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  if (::getpeername(descriptor, address, &size) != 0) return {};
  return net::ip_of(net::Endpoint{address, size});
}

net::ServerLimits limits() {
  net::ServerLimits limits;
  limits.head_bytes_max = certificates::kEnrollHeadMax;
  limits.fields_max = 50;
  limits.open_heads_bytes_max = Enrolment::kConnectionsMax * certificates::kEnrollHeadMax;
  limits.connections_max = Enrolment::kConnectionsMax;
  limits.streams_max = 1;
  limits.head_timeout = Enrolment::kRequestLimit;
  limits.write_timeout = Enrolment::kRequestLimit;
  limits.unused_timeout = Enrolment::kRequestLimit;
  limits.upload_patience = std::chrono::seconds{1};
  return limits;
}

}  // namespace

std::string token_review(const std::string& token) {
  const nlohmann::json review{
      {"apiVersion", "authentication.k8s.io/v1"},
      {"kind", "TokenReview"},
      {"spec", {{"token", token}, {"audiences", {certificates::kEnrollAudience}}}}};
  return json_line(review);
}

Result<ReviewedToken, Problem> read_token_review(std::string_view json, const std::string& space) {
  nlohmann::json review;
  if (!kube::parse_document(json, review)) return wrong_token("its review cannot be read");
  const auto& status = reading::member(review, "status");
  if (!reading::flag(status, "authenticated")) return wrong_token("it is invalid or has expired");
  // An API server that does not know audiences leaves them out: its yes is for itself.
  const auto audiences = reading::strings(status, "audiences");
  if (std::find(audiences.begin(), audiences.end(), certificates::kEnrollAudience) ==
      audiences.end()) {
    return wrong_token("it is for another audience");
  }
  const auto& user = reading::member(status, "user");
  const std::string name = reading::text(user, "username");
  if (name != "system:serviceaccount:" + space + ":node-agent") {
    return wrong_token("it belongs to " + (name.empty() ? std::string{"an unnamed user"} : name));
  }
  const auto& extra = reading::member(user, "extra");
  return ReviewedToken{.node = only(extra, kNodeName), .pod = only(extra, kPodName)};
}

// What is kept of a request while the API server is asked.
struct Enrolment::Asking final : public net::ExchangeState {
  std::string public_key;
  kube::Client::Call question;
  bool unsettled = false;  // pace_ waits for the result
};

// A handshake is the dearest that a stranger can ask for: one that is asked too often is not begun.
class Enrolment::PacedSessions final : public net::TlsSessions {
 public:
  PacedSessions(Enrolment& enrolment, std::unique_ptr<net::TlsContext> context)
      : enrolment_{enrolment}, context_{std::move(context)} {}

  [[nodiscard]] net::TlsContext& context() { return *context_; }

  [[nodiscard]] std::unique_ptr<net::TlsSession> make_session(int descriptor) override {
    const std::string peer = peer_of(descriptor);
    if (enrolment_.pace_.connects(peer, enrolment_.clock_.now())) {
      return context_->make_session(descriptor);
    }
    enrolment_.refusals_.add(
        "enrolment_pace", peer,
        "the peer opens more connections than a node agent does: this one is closed");
    return nullptr;
  }

 private:
  Enrolment& enrolment_;  // owns this
  std::unique_ptr<net::TlsContext> context_;
};

Enrolment::Enrolment(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                     kube::Client& client, Refusals& refusals, std::string space, Sign sign)
    : OwnGateway{"autoscaler"},
      clock_{clock},
      log_{log},
      client_{client},
      refusals_{refusals},
      space_{std::move(space)},
      sign_{std::move(sign)},
      server_{io, clock, *this, limits()} {}

Enrolment::~Enrolment() = default;

Result<net::Address, Problem> Enrolment::serve(const net::Address& address,
                                               const net::TlsPair& pair) {
  if (tls_) {
    const auto replaced = tls_->context().replace(pair);
    if (!replaced) return replaced.error();
    return bound_;
  }
  auto made = net::TlsContext::make({.protocols = {"http/1.1"}}, pair);
  if (!made) return made.error();
  tls_ = std::make_unique<PacedSessions>(*this, std::move(*made));
  auto bound = server_.listen(address, tls_.get());
  if (bound) bound_ = *bound;
  return bound;
}

void Enrolment::close() {
  server_.stop_accepting();
  server_.close_all();
}

std::unique_ptr<net::ExchangeState> Enrolment::make_state() {
  return std::make_unique<Asking>();
}

void Enrolment::begin(net::Exchange& exchange) {
  auto request = certificates::read_enroll_request(exchange.request());
  if (!request) return refuse(exchange, request.error().status, request.error().why);
  const std::string peer{exchange.peer_ip()};
  if (const Duration wait = pace_.ask(peer, clock_.now()); wait > Duration{0}) {
    refusals_.add("enrolment_pace", peer,
                  "more requests for certificates than are passed to the API server: this one is "
                  "answered with 429, and agents retry");
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    return refuse(exchange, 429, "too many requests for certificates; try again later",
                  static_cast<int>(seconds));
  }
  auto& asking = static_cast<Asking&>(exchange.state());
  asking.public_key = std::move(request->public_key);
  asking.unsettled = true;
  exchange.set_timeouts({.max = kAnswerLimit});
  exchange.hold();
  asking.question = client_.send(
      {.verb = kube::Verb::create, .path = kReviews, .body = token_review(request->token)},
      [this, &exchange](const kube::Answer& answer) { reviewed(exchange, answer); });
}

// A client that leaves before the API server has verified its token does not count as an agent.
void Enrolment::end(net::Exchange& exchange, const net::Outcome& outcome) {
  auto& asking = static_cast<Asking&>(exchange.state());
  asking.question = {};
  if (!std::exchange(asking.unsettled, false)) return;
  const bool left = outcome.end == net::Outcome::End::client_gone;
  pace_.settled(std::string{exchange.peer_ip()},
                left ? EnrolmentPace::Verdict::stranger : EnrolmentPace::Verdict::unknown);
}

void Enrolment::reviewed(net::Exchange& exchange, const kube::Answer& answer) {
  if (!answer) {
    log_.write(log::Severity::warning,
               "a node agent cannot be enrolled (needs create on tokenreviews)",
               {{"why", answer.error().text()}});
    return refuse(exchange, 503, "the API server could not review the token", kTryAgain);
  }
  const auto token = read_token_review(*answer, space_);
  if (!token) return no_agent(exchange, token.error().text());
  if (!token->node.empty()) return give(exchange, token->node);
  // An API server before 1.30 says the pod only.
  if (token->pod.empty() || token->pod.size() > kPodNameMax ||
      token->pod.find_first_not_of(kPodLetters) != std::string::npos) {
    return no_agent(exchange, wrong_token("it is not bound to a pod").text());
  }
  static_cast<Asking&>(exchange.state()).question = client_.send(
      {.verb = kube::Verb::get, .path = "/api/v1/namespaces/" + space_ + "/pods/" + token->pod},
      [this, &exchange](const kube::Answer& pod) { have_pod(exchange, pod); });
}

void Enrolment::have_pod(net::Exchange& exchange, const kube::Answer& answer) {
  const auto pod = answer ? kube::decode_pod(*answer) : std::nullopt;
  if (pod && !pod->node.empty()) return give(exchange, pod->node);
  refuse(exchange, 503, "the node of the agent's pod could not be read from the API server",
         kTryAgain);
}

void Enrolment::give(net::Exchange& exchange, const std::string& node) {
  auto& asking = static_cast<Asking&>(exchange.state());
  asking.unsettled = false;
  pace_.settled(std::string{exchange.peer_ip()}, EnrolmentPace::Verdict::agent);
  if (!certificates::is_node_name(node)) {
    return refuse(exchange, 403, "that is not a node name");
  }
  const auto made = sign_(node, asking.public_key);
  if (!made) return refuse(exchange, 503, made.error().text(), kTryAgain);
  ++given_;
  log_.write(log::Severity::info, "certificate issued to a node agent", {{"node", node}});
  http::OwnResponse answer = http::plain_response(200, made->certificate);
  answer.content_type = certificates::kEnrollAnswerType;
  answer.close = true;
  exchange.respond(answer);
}

void Enrolment::no_agent(net::Exchange& exchange, const std::string& why) {
  const std::string peer{exchange.peer_ip()};
  static_cast<Asking&>(exchange.state()).unsettled = false;
  pace_.settled(peer, EnrolmentPace::Verdict::stranger);
  refusals_.add("token", peer, why);
  refuse(exchange, 403, why);
}

void Enrolment::refuse(net::Exchange& exchange, int status, const std::string& why,
                       int retry_after) {
  http::OwnResponse answer = http::plain_response(status, why + "\n");
  answer.sluice_error = "not-enrolled";
  answer.retry_after_s = retry_after;
  answer.close = true;
  exchange.respond(answer);
}

}  // namespace sluice::autoscaler
