#include "injector/io/certificate_keeper.h"

#include "injector/io/webhook_bundle.h"
#include <array>
#include <utility>

namespace sluice::injector {
namespace {

using kube::Answer;
using kube::Verb;

constexpr const char* kSecret = "injector-certificates";
constexpr const char* kName = "sluice injector";

constexpr const char* kRegistration = "/apis/admissionregistration.k8s.io/v1/";
constexpr std::array kConfigurations{"mutatingwebhookconfigurations/sluice-injector",
                                     "validatingwebhookconfigurations/sluice-requestscalers"};

std::string about(std::size_t which, const std::string& why) {
  return std::string{"the CA bundle (needs get and patch on "} + kConfigurations.at(which) +
         "): " + why;
}

certificates::KeeperSpec keeper_spec(CertificateKeeperSpec spec) {
  certificates::KeeperSpec keeper;
  keeper.place = {.space = std::move(spec.space), .name = kSecret, .component = "injector"};
  keeper.leaf.common_name = kName;
  keeper.leaf.dns = std::move(spec.names);
  keeper.pause = spec.pause;
  keeper.retry = spec.retry;
  return keeper;
}

}  // namespace

CertificateKeeper::CertificateKeeper(boost::asio::io_context& io, const Clock& clock,
                                     const log::Logger& log, kube::Client& client,
                                     CertificateKeeperSpec spec,
                                     std::function<void(const net::TlsPair&)> serve)
    : log_{log},
      client_{client},
      serve_{std::move(serve)},
      keeper_{io,
              clock,
              log,
              client,
              keeper_spec(std::move(spec)),
              {.took =
                   [this](const certificates::Set& set) {
                     if (set.leaf == pair_.certificate && set.leaf_key == pair_.key) return;
                     pair_ = set.pair();
                     serve_(pair_);
                   },
               .carry = [this](const certificates::Set& set,
                               const Carried& done) { check_bundle(0, set.bundle(), done); }}} {}

void CertificateKeeper::check_bundle(std::size_t which, const std::string& bundle,
                                     const Carried& done) {
  if (which == kConfigurations.size()) {
    registered_ = true;
    return done(std::nullopt);
  }
  const std::string path = std::string{kRegistration} + kConfigurations.at(which);
  call_ = client_.send({.verb = Verb::get, .path = path, .body = {}, .object = {}},
                       [this, which, bundle, done](const Answer& answer) {
                         if (!answer && answer.error().status == 404) {
                           return miss(which, bundle, done, about(which, answer.error().text()));
                         }
                         if (!answer) return done(about(which, answer.error().text()));
                         if (which > 0) unchecked_ = false;
                         auto steps = bundle_patch(*answer, bundle);
                         if (!steps) return done(about(which, "the configuration has no webhooks"));
                         if (steps->empty()) return check_bundle(which + 1, bundle, done);
                         patch_bundle(which, bundle, done, std::move(*steps));
                       });
}

// Without the first no pod is injected. Without another RequestScalers go unchecked, which is no
// reason to leave pods alone.
void CertificateKeeper::miss(std::size_t which, const std::string& bundle, const Carried& done,
                             const std::string& what) {
  if (which > 0) {
    if (!std::exchange(unchecked_, true)) {
      log_.write(log::Severity::warning,
                 "RequestScalers are not validated: there is no webhook configuration",
                 {{"object", kConfigurations.at(which)}});
    }
    return check_bundle(which + 1, bundle, done);
  }
  registered_ = false;
  done(what);
}

// What was registered stays so: an API server in trouble has forgotten nothing.
void CertificateKeeper::patch_bundle(std::size_t which, const std::string& bundle,
                                     const Carried& done, std::string steps) {
  kube::Request request{.verb = Verb::json_patch,
                        .path = std::string{kRegistration} + kConfigurations.at(which),
                        .body = std::move(steps),
                        .object = {}};
  call_ = client_.send(std::move(request), [this, which, bundle, done](const Answer& answer) {
    if (!answer) {
      // The bundle is another, and stays so.
      if (answer.error().status == 403) registered_ = false;
      return done(about(which, answer.error().text()));
    }
    log_.write(log::Severity::info, "CA bundle written", {{"object", kConfigurations.at(which)}});
    check_bundle(which + 1, bundle, done);
  });
}

}  // namespace sluice::injector
