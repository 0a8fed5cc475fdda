#include "autoscaler/kubernetes/io/enrolment.h"

#include "common/certificates/identity.h"
#include "common/kube/json_read.h"
#include "common/kube/objects.h"
#include "common/proto/node_stream_codec.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

namespace reading = kube::reading;

constexpr const char* kReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kNodeName = "authentication.kubernetes.io/node-name";
constexpr const char* kPodName = "authentication.kubernetes.io/pod-name";
constexpr std::size_t kPodNameMax = 253;
constexpr std::string_view kPodLetters = "abcdefghijklmnopqrstuvwxyz0123456789-.";

std::string only(const reading::json& extra, const char* key) {
  const auto all = reading::strings(extra, key);
  return all.size() == 1 ? all.front() : std::string{};
}

Problem no_agent(const std::string& what) {
  return {"the token is not one of a node agent: " + what,
          "see SLUICE_TOKEN_FILE of the agent: a token of its service account for the audience " +
              std::string{proto::kEnrollAudience}};
}

}  // namespace

std::string token_review(const std::string& token) {
  const reading::json review{{"apiVersion", "authentication.k8s.io/v1"},
                             {"kind", "TokenReview"},
                             {"spec", {{"token", token}, {"audiences", {proto::kEnrollAudience}}}}};
  return review.dump(-1, ' ', false, reading::json::error_handler_t::replace);
}

Result<ReviewedToken, Problem> read_token_review(std::string_view json, const std::string& space) {
  reading::json review;
  if (!reading::parse_document(json, review)) return no_agent("its review cannot be read");
  const auto& status = reading::member(review, "status");
  if (!reading::flag(status, "authenticated")) return no_agent("it is not valid, or not any more");
  // An API server that does not know audiences leaves them out: its yes is for itself.
  const auto audiences = reading::strings(status, "audiences");
  if (std::find(audiences.begin(), audiences.end(), proto::kEnrollAudience) == audiences.end()) {
    return no_agent("it is for another audience");
  }
  const auto& user = reading::member(status, "user");
  const std::string name = reading::text(user, "username");
  if (name != "system:serviceaccount:" + space + ":node-agent") {
    return no_agent("it is of " + (name.empty() ? std::string{"an unnamed user"} : name));
  }
  const auto& extra = reading::member(user, "extra");
  return ReviewedToken{.node = only(extra, kNodeName), .pod = only(extra, kPodName)};
}

Enrolment::Enrolment(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                     kube::Client& client, Refusals& refusals, std::string space, Sign sign)
    : io_{io},
      clock_{clock},
      log_{log},
      client_{client},
      refusals_{refusals},
      space_{std::move(space)},
      sign_{std::move(sign)} {}

Enrolment::~Enrolment() {
  close();
}

void Enrolment::close() {
  for (auto& [id, line] : lines_) {
    line.call->close({rpc::Code::unavailable, "this autoscaler ends"});
  }
  lines_.clear();
}

void Enrolment::take(std::unique_ptr<rpc::Call> call) {
  if (lines_.size() >= kCallsMax) {
    call->close({rpc::Code::resource_exhausted, "too many agents enrol at a time"});
    return;
  }
  const std::uint64_t id = next_++;
  Line& line = lines_[id];
  line.call = std::move(call);
  line.limit = std::make_unique<boost::asio::steady_timer>(io_, kCallLimit);
  line.limit->async_wait([this, id](const boost::system::error_code& ec) {
    if (!ec) end(id, {rpc::Code::deadline_exceeded, "the enrolment takes too long"});
  });
  line.call->start({.on_message = [this, id](const std::string& bytes) { received(id, bytes); },
                    .on_writable = {},
                    .on_closed = [this, id](const rpc::Ending& /*ending*/) { lines_.erase(id); }});
}

void Enrolment::received(std::uint64_t id, const std::string& bytes) {
  const auto at = lines_.find(id);
  if (at == lines_.end()) return;
  auto request = proto::decode_enroll_request(bytes);
  if (!request || !at->second.public_key.empty() || request->public_key.empty()) {
    return end(id,
               {rpc::Code::invalid_argument, "the request cannot be read, or is not the first"});
  }
  if (request->protocol != proto::kNodeProtocol) {
    return end(id, {rpc::Code::failed_precondition,
                    "protocol " + std::to_string(request->protocol) + " is not " +
                        std::to_string(proto::kNodeProtocol)});
  }
  if (!pace_.take(clock_.now())) {
    refusals_.add("enrolment_pace", at->second.call->peer(),
                  "agents enrol faster than the API server is asked: they try again by themselves");
    return end(id, {rpc::Code::resource_exhausted, "too many agents enrol at a time; try again"});
  }
  at->second.public_key = std::move(request->public_key);
  at->second.question = client_.send(
      {.verb = kube::Verb::create, .path = kReviews, .body = token_review(request->token)},
      [this, id](const kube::Answer& answer) { reviewed(id, answer); });
}

void Enrolment::reviewed(std::uint64_t id, const kube::Answer& answer) {
  const auto at = lines_.find(id);
  if (at == lines_.end()) return;
  if (!answer) {
    log_.write(log::Severity::warning,
               "a node agent cannot be enrolled (needs create on tokenreviews)",
               {{"why", answer.error().text()}});
    return end(id, {rpc::Code::unavailable, "the API server does not say whose token it is"});
  }
  const auto token = read_token_review(*answer, space_);
  if (!token) {
    refusals_.add("token", at->second.call->peer(), token.error().text());
    return end(id, {rpc::Code::permission_denied, token.error().text()});
  }
  if (!token->node.empty()) return give(id, token->node);
  // An API server before 1.30 says the pod only.
  if (token->pod.empty() || token->pod.size() > kPodNameMax ||
      token->pod.find_first_not_of(kPodLetters) != std::string::npos) {
    refusals_.add("token", at->second.call->peer(), no_agent("it is bound to no pod").text());
    return end(id, {rpc::Code::permission_denied, no_agent("it is bound to no pod").text()});
  }
  at->second.question = client_.send(
      {.verb = kube::Verb::get, .path = "/api/v1/namespaces/" + space_ + "/pods/" + token->pod},
      [this, id](const kube::Answer& pod) { have_pod(id, pod); });
}

void Enrolment::have_pod(std::uint64_t id, const kube::Answer& answer) {
  if (!lines_.contains(id)) return;
  const auto pod = answer ? kube::decode_pod(*answer) : std::nullopt;
  if (pod && !pod->node.empty()) return give(id, pod->node);
  end(id, {rpc::Code::unavailable, "the API server does not say where the agent's pod runs"});
}

void Enrolment::give(std::uint64_t id, const std::string& node) {
  Line& line = lines_.at(id);
  if (!certificates::is_node_name(node)) {
    return end(id, {rpc::Code::permission_denied, "that is no name of a node"});
  }
  const auto made = sign_(node, line.public_key);
  if (!made) return end(id, {rpc::Code::unavailable, made.error().text()});
  if (!line.call->writable()) return;
  ++given_;
  log_.write(log::Severity::info, "a node agent has a certificate", {{"node", node}});
  line.call->write(proto::encode(proto::EnrollReply{.certificate = made->certificate}));
}

void Enrolment::end(std::uint64_t id, const rpc::Ending& ending) {
  const auto at = lines_.find(id);
  if (at == lines_.end()) return;
  at->second.call->close(ending);
  lines_.erase(at);
}

}  // namespace sluice::autoscaler
