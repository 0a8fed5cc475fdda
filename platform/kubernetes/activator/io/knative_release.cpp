#include "platform/kubernetes/activator/io/knative_release.h"

#include "common/kube/group_presence.h"
#include "common/kube/json_read.h"

#include <utility>

namespace sluice::activator {

using settings::KnativeContract;

namespace {

constexpr const char* kDefinition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/revisions.serving.knative.dev";

}  // namespace

std::optional<std::string> release_label(std::string_view document) {
  nlohmann::json definition;
  if (!kube::parse_object(document, definition)) return std::nullopt;
  return reading::text(reading::member(reading::member(definition, "metadata"), "labels"),
                       "app.kubernetes.io/version");
}

KnativeRelease::KnativeRelease(boost::asio::io_context& io, kube::Client& client,
                               const log::Logger& log)
    : client_{client}, log_{log}, timer_{io} {}

KnativeRelease::~KnativeRelease() {
  alive_.end();
}

void KnativeRelease::start(Told told) {
  told_ = std::move(told);
  ask();
}

void KnativeRelease::ask() {
  kube::Request request;
  request.path = kDefinition;
  call_ = client_.send(std::move(request), [this](const kube::Answer& answer) { take(answer); });
}

// A refusal is an answer: who may not read it will not be allowed to by asking soon again.
void KnativeRelease::take(const kube::Answer& answer) {
  if (!answer && answer.error().kind != kube::Failure::Kind::refused) {
    problem_ = answer.error().text();
    ask_later(kube::GroupPresence::pause_after(++failures_));
    return;
  }
  problem_.clear();
  failures_ = 0;
  ask_later(kPause);
  if (!answer) {
    warn_once("its version cannot be read: " + answer.error().text());
    tell(contract_.value_or(KnativeContract::current));
    return;
  }
  take_release(release_label(*answer).value_or(std::string{}));
}

void KnativeRelease::take_release(const std::string& release) {
  const auto contract = settings::contract_of(release);
  if (!contract) {
    warn_once("'" + release + "', its label app.kubernetes.io/version, is not a release");
    tell(KnativeContract::current);
    return;
  }
  warned_.clear();
  if (std::exchange(release_, release) != release) {
    const bool older = *contract == KnativeContract::older;
    log_.write(log::Severity::info, "beside Knative",
               {{"version", release}, {"contract", older ? "older" : "current"}});
  }
  tell(*contract);
}

void KnativeRelease::tell(KnativeContract contract) {
  if (std::exchange(contract_, contract) != contract) told_(contract);
}

void KnativeRelease::warn_once(const std::string& why) {
  if (std::exchange(warned_, why) == why) return;
  release_.clear();
  log_.write(
      log::Severity::warning,
      "the contract of the installed Knative is not known; its revisions follow that of 1.19",
      {{"reason", why}, {"fix", "set SLUICE_KNATIVE_CONTRACT to its version, such as 1.15"}});
}

void KnativeRelease::ask_later(Duration pause) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause));
  timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (!ec && !alive.over()) ask();
  });
}

}  // namespace sluice::activator
