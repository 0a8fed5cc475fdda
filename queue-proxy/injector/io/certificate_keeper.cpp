#include "queue-proxy/injector/io/certificate_keeper.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::injector {
namespace {

using kube::Answer;
using kube::Verb;

constexpr Duration kAfterConflict = std::chrono::milliseconds{200};

constexpr const char* kSecret = "injector-certificates";

constexpr const char* kRegistration = "/apis/admissionregistration.k8s.io/v1/";
constexpr std::array kConfigurations{"mutatingwebhookconfigurations/sluice-injector",
                                     "validatingwebhookconfigurations/sluice-requestscalers"};

const char* name_of(CertificateStep step) {
  switch (step) {
    case CertificateStep::none:
      return "none";
    case CertificateStep::make_all:
      return "new CA and certificate";
    case CertificateStep::renew_leaf:
      return "new certificate";
    case CertificateStep::renew_ca:
      return "new CA beside the old one";
    case CertificateStep::drop_old_ca:
      return "old CA dropped";
  }
  return "";
}

}  // namespace

CertificateKeeper::CertificateKeeper(boost::asio::io_context& io, const Clock& clock,
                                     const log::Logger& log, kube::Client& client,
                                     CertificateKeeperSpec spec,
                                     std::function<void(const net::TlsPair&)> serve)
    : clock_{clock},
      log_{log},
      client_{client},
      spec_{std::move(spec)},
      serve_{std::move(serve)},
      timer_{io},
      retry_{spec_.retry} {}

std::string CertificateKeeper::secrets_path() const {
  return "/api/v1/namespaces/" + spec_.space + "/secrets";
}

void CertificateKeeper::begin() {
  call_ = client_.send(
      {.verb = Verb::get, .path = secrets_path() + "/" + kSecret, .body = {}, .object = {}},
      [this](Answer answer) { have_secret(std::move(answer)); });
}

void CertificateKeeper::have_secret(Answer answer) {
  if (answer) {
    auto secret = read_secret(*answer);
    if (secret) return settle(std::move(*secret), true);
    return fail("reading the certificates",
                {.kind = kube::Failure::Kind::garbled, .reason = {}, .message = {}});
  }
  if (answer.error().status == 404) return settle({}, false);
  fail("reading the certificates (needs get on secrets " + std::string{kSecret} + ")",
       answer.error());
}

// One step a round: the next round reads what has come of it.
void CertificateKeeper::settle(CertificateSecret secret, bool exists) {
  const TimePoint now = clock_.now();
  const CertificateState state = state_of(secret.set, spec_.names);
  const CertificateStep step = next_step(state, now);
  // While a step is being taken, what is there serves on.
  if (exists && step != CertificateStep::make_all) take_up(secret.set);
  if (step == CertificateStep::none) return check_bundle(0);
  auto next = take_step(secret.set, step, spec_.names, now);
  if (!next) {
    return fail(next.error().what,
                {.kind = kube::Failure::Kind::garbled, .reason = {}, .message = {}});
  }
  write({.set = std::move(*next), .resource_version = exists ? secret.resource_version : ""}, step);
}

void CertificateKeeper::write(CertificateSecret next, CertificateStep step) {
  const bool creates = next.resource_version.empty();
  kube::Request request{.verb = creates ? Verb::create : Verb::replace,
                        .path = secrets_path() + (creates ? "" : std::string{"/"} + kSecret),
                        .body = secret_document(spec_.space, kSecret, next),
                        .object = {}};
  call_ = client_.send(std::move(request), [this, step,
                                            set = std::move(next.set)](const Answer& answer) {
    if (!answer) {
      // Another replica was faster: what it wrote is read next.
      if (answer.error().status == 409) return rest(kAfterConflict);
      return fail("writing the certificates (needs create and update on secrets)", answer.error());
    }
    log_.write(log::Severity::info, "certificates", {{"step", name_of(step)}});
    take_up(set);
    check_bundle(0);
  });
}

void CertificateKeeper::take_up(const CertificateSet& set) {
  const CertificateState state = state_of(set, spec_.names);
  const bool news = set.leaf != set_.leaf || set.leaf_key != set_.leaf_key;
  set_ = set;
  if (!state.leaf) return;
  good_until_ = state.leaf->until;
  if (news) serve_(set.pair());
}

void CertificateKeeper::check_bundle(std::size_t which) {
  if (which == kConfigurations.size()) {
    registered_ = true;
    if (!problem_.empty()) log_.write(log::Severity::info, "certificates are in order again");
    problem_.clear();
    retry_ = spec_.retry;
    return rest(spec_.pause);
  }
  const std::string path = std::string{kRegistration} + kConfigurations.at(which);
  call_ = client_.send(
      {.verb = Verb::get, .path = path, .body = {}, .object = {}},
      [this, which](const Answer& answer) {
        const std::string what =
            std::string{"the CA bundle (needs get and patch on "} + kConfigurations.at(which) + ")";
        if (!answer && answer.error().status == 404) return miss(which, what, answer.error());
        if (!answer) return fail(what, answer.error());
        if (which > 0) unchecked_ = false;
        auto steps = bundle_patch(*answer, set_.bundle());
        if (!steps)
          return fail(what, {.kind = kube::Failure::Kind::garbled, .reason = {}, .message = {}});
        if (steps->empty()) return check_bundle(which + 1);
        patch_bundle(which, std::move(*steps));
      });
}

// Without the first no pod is injected. Without another RequestScalers go unchecked, which is no
// reason to leave pods alone.
void CertificateKeeper::miss(std::size_t which, const std::string& what,
                             const kube::Failure& failure) {
  if (which > 0) {
    if (!std::exchange(unchecked_, true)) {
      log_.write(log::Severity::warning, "RequestScalers are not checked: there is no webhook",
                 {{"object", kConfigurations.at(which)}});
    }
    return check_bundle(which + 1);
  }
  registered_ = false;
  fail(what, failure);
}

void CertificateKeeper::patch_bundle(std::size_t which, std::string steps) {
  kube::Request request{.verb = Verb::json_patch,
                        .path = std::string{kRegistration} + kConfigurations.at(which),
                        .body = std::move(steps),
                        .object = {}};
  call_ = client_.send(std::move(request), [this, which](const Answer& answer) {
    if (!answer) {
      // The bundle is another, and stays so.
      if (answer.error().status == 403) registered_ = false;
      return fail(
          std::string{"the CA bundle (needs get and patch on "} + kConfigurations.at(which) + ")",
          answer.error());
    }
    log_.write(log::Severity::info, "CA bundle written", {{"object", kConfigurations.at(which)}});
    check_bundle(which + 1);
  });
}

// What was registered stays so: an API server in trouble has forgotten nothing.
void CertificateKeeper::fail(const std::string& what, const kube::Failure& failure) {
  const std::string problem = what + ": " + failure.text();
  if (problem != problem_) {
    log_.write(log::Severity::warning, "certificates: " + problem);
    problem_ = problem;
  }
  const Duration pause = retry_;
  retry_ = std::min(retry_ * 2, spec_.pause);
  rest(pause);
}

void CertificateKeeper::rest(Duration pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) begin();
  });
}

}  // namespace sluice::injector
