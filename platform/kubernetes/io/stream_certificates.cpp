#include "platform/kubernetes/io/stream_certificates.h"

#include "common/certificates/identity.h"
#include "common/files/file_io.h"

#include <array>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

namespace sluice::autoscaler {
namespace {

using certificates::LeafSpec;
using certificates::Role;
using certificates::Set;
using certificates::Step;
using certificates::uri_of;
using kube::Answer;
using kube::Verb;

constexpr const char* kActivatorSecret = "sluice-activator-tls";
constexpr const char* kBundle = "sluice-ca";

// Certificates of agents by the old CA live on for as long as they are good.
constexpr Duration kLeafSpreads = kAgentLife + certificates::kLeafSpreads;

LeafSpec own_leaf(const std::string& space, const std::string& domain) {
  const std::string name = "autoscaler." + space;
  return {.common_name = "sluice autoscaler",
          .dns = {"autoscaler", name, name + ".svc", name + ".svc." + domain},
          .uris = {uri_of(Role::autoscaler)},
          .client = true};  // of the replica that takes over
}

LeafSpec activator_leaf() {
  return {.common_name = "sluice activator",
          .uris = {uri_of(Role::activator)},
          .server = false,
          .client = true};
}

certificates::KeeperSpec keeper_spec(const StreamCertificatesSpec& spec) {
  return {.place = {.space = spec.space, .name = spec.secret, .component = "autoscaler"},
          .leaf = own_leaf(spec.space, spec.domain),
          .leaf_spreads = kLeafSpreads,
          .pause = spec.pause,
          .retry = spec.retry};
}

std::string about(const std::string& object, const std::string& why) {
  return object + " (needs create, get and update on it): " + why;
}

}  // namespace

StreamCertificates::StreamCertificates(boost::asio::io_context& io, const Clock& clock,
                                       const log::Logger& log, kube::Client& client,
                                       StreamCertificatesSpec spec, Events events)
    : clock_{clock},
      log_{log},
      client_{client},
      spec_{std::move(spec)},
      events_{std::move(events)},
      keeper_{io,
              clock,
              log,
              client,
              keeper_spec(spec_),
              {.took = [this](const Set& set) { write_files(set); },
               .carry = [this](const Set& set, const Carried& done) { carry(set, done); }}} {}

// The key before the certificate, the CAs before both: gRPC reads all of them again within seconds,
// and a pair whose halves do not belong together for that long refuses handshakes, not streams.
void StreamCertificates::write_files(const Set& set) {
  const std::filesystem::path dir{spec_.dir};
  const std::array files{std::pair{"ca.crt", set.bundle()}, std::pair{"tls.key", set.leaf_key},
                         std::pair{"tls.crt", set.leaf}};
  const ::mode_t usual = ::umask(S_IRWXG | S_IRWXO);
  std::optional<Problem> wrong;
  for (const auto& [name, content] : files) {
    if (!wrong) wrong = files::replace_file(dir / name, content);
  }
  ::umask(usual);
  if (wrong) return events_.failed({"SLUICE_TLS_DIR: " + wrong->what, wrong->fix});
  events_.ready();
}

std::string StreamCertificates::path_of(const std::string& kind, const std::string& name) const {
  return "/api/v1/namespaces/" + spec_.space + "/" + kind + (name.empty() ? "" : "/" + name);
}

Result<certificates::Signed, Problem> StreamCertificates::sign_agent(
    const std::string& node, const std::string& public_key) const {
  const Set& set = keeper_.set();
  const TimePoint now = clock_.now();
  const auto ca = certificates::span_of(set.ca);
  if (!set.old_ca.empty() && ca && now - ca->from < certificates::kCaSpreads) {
    return Problem{"the new CA may not have reached every client yet",
                   "try again in a few minutes"};
  }
  return certificates::sign(set, public_key,
                            {.common_name = "sluice node agent",
                             .uris = {uri_of(Role::node_agent, node)},
                             .server = false,
                             .client = true},
                            kAgentLife, now);
}

// What activators have comes first: a node agent waits for nothing but its own certificate.
void StreamCertificates::carry(const Set& set, const Carried& done) {
  if (set.ca_key.empty()) return done(std::nullopt);
  call_ = client_.send({.verb = Verb::get, .path = path_of("secrets", kActivatorSecret)},
                       [this, set, done](const Answer& answer) {
                         if (!answer && answer.error().status != 404) {
                           return done(about(kActivatorSecret, answer.error().text()));
                         }
                         settle_activators(
                             set, answer ? certificates::read_secret(*answer) : std::nullopt, done);
                       });
}

// The same plan as for our own certificate decides when a leaf is renewed; CAs are not its matter.
void StreamCertificates::settle_activators(const Set& set,
                                           const std::optional<certificates::Secret>& is,
                                           const Carried& done) {
  certificates::Secret next = is.value_or(certificates::Secret{});
  const std::string trusted = std::exchange(next.set.ca, set.bundle());
  Set judged = set;
  judged.leaf = next.set.leaf;
  judged.leaf_key = next.set.leaf_key;
  const TimePoint now = clock_.now();
  const Step due =
      certificates::next_step(certificates::state_of(judged, activator_leaf()), now, kLeafSpreads);
  const bool renews = due == Step::renew_leaf;
  if (!renews && trusted == next.set.ca) return carry_bundle(set, done);
  if (renews) {
    const auto made = certificates::take_step(judged, Step::renew_leaf, activator_leaf(), now);
    if (!made) return done(made.error().text());
    next.set.leaf = made->leaf;
    next.set.leaf_key = made->leaf_key;
  }
  next.set.ca_key.clear();
  next.set.old_ca.clear();
  const certificates::Place place{
      .space = spec_.space, .name = kActivatorSecret, .component = "activator"};
  put("secrets", kActivatorSecret, !is, certificates::secret_document(place, next),
      [this, set, done](const std::optional<std::string>& why) {
        if (why) return done(*why);
        carry_bundle(set, done);
      });
}

void StreamCertificates::carry_bundle(const Set& set, const Carried& done) {
  call_ = client_.send(
      {.verb = Verb::get, .path = path_of("configmaps", kBundle)},
      [this, bundle = set.bundle(), done](const Answer& answer) {
        if (!answer && answer.error().status != 404) {
          return done(about(kBundle, answer.error().text()));
        }
        const auto is = answer ? certificates::read_bundle(*answer) : std::nullopt;
        if (is && is->pem == bundle) return done(std::nullopt);
        const certificates::Place place{
            .space = spec_.space, .name = kBundle, .component = "node-agent"};
        put("configmaps", kBundle, !is,
            certificates::bundle_document(place, bundle, is ? is->resource_version : ""), done);
      });
}

// A conflict is another replica's doing: the next round sees what it did.
void StreamCertificates::put(const std::string& kind, const std::string& name, bool creates,
                             std::string document,
                             std::function<void(std::optional<std::string>)> done) {
  kube::Request request{.verb = creates ? Verb::create : Verb::replace,
                        .path = path_of(kind, creates ? "" : name),
                        .body = std::move(document)};
  call_ =
      client_.send(std::move(request), [this, name, done = std::move(done)](const Answer& answer) {
        if (!answer && answer.error().status != 409) {
          return done(about(name, answer.error().text()));
        }
        if (answer) log_.write(log::Severity::info, "certificates written", {{"object", name}});
        done(std::nullopt);
      });
}

}  // namespace sluice::autoscaler
