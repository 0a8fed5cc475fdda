// Reads from a cluster what doctor_knative judges.

#include "common/base/version.h"
#include "common/json/parse.h"
#include "common/kube/access.h"
#include "common/kube/client.h"
#include "common/kube/json_read.h"
#include "common/log/log.h"

#include <boost/asio/io_context.hpp>

#include "programs/sluice/commands/doctor_knative.h"
#include "programs/sluice/commands/plugin_run.h"
#include "programs/sluice/commands/verb.h"
#include <ostream>
#include <utility>

namespace sluice::commands {
namespace {

using nlohmann::json;
using reading::member;
using reading::text;

constexpr const char* kClass = "autoscaling.knative.dev/class";
constexpr const char* kVersionLabel = "app.kubernetes.io/version";
constexpr const char* kPartOf = "app.kubernetes.io/part-of";  // ours may stand beside Knative's
constexpr int kPage = 500;
constexpr std::size_t kProgramsMost = 50;
constexpr std::size_t kClassesMost = 20;
constexpr int kPagesMost = 100;
constexpr const char* kTokenLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=";  // base64, for addresses

/// One request after the other; the first failure that is no 404 stays.
class Reader {
 public:
  Reader(boost::asio::io_context& io, kube::Client& client) : io_{io}, client_{client} {}

  /// Null where there is no such object.
  json get(const std::string& path) {
    json read;
    if (failure_) return read;
    kube::Request request;
    request.path = path;
    const auto call = client_.send(std::move(request), [this, &read, &path](kube::Answer answer) {
      if (answer) {
        read = reading::parsed(*answer);
      } else if (answer.error().status != 404) {
        failure_ = path + ": " + answer.error().text();
      }
      io_.stop();
    });
    io_.restart();
    io_.run();
    return read;
  }

  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }

 private:
  boost::asio::io_context& io_;
  kube::Client& client_;
  std::optional<std::string> failure_;
};

std::optional<kube::StringMap> config_map(Reader& reader, const std::string& space,
                                          const char* name) {
  const json object = reader.get("/api/v1/namespaces/" + space + "/configmaps/" + name);
  if (object.is_null()) return std::nullopt;
  return reading::string_map(object, "data");
}

void read_programs(Reader& reader, KnativeFacts& facts) {
  const json list = reader.get("/apis/apps/v1/namespaces/" + facts.space +
                               "/deployments?limit=" + std::to_string(kPage));
  for (const json& item : member(list, "items")) {
    if (facts.programs.size() >= kProgramsMost) return;
    const json& metadata = member(item, "metadata");
    if (text(member(metadata, "labels"), kPartOf) == "sluice") continue;
    const json& containers =
        member(member(member(member(item, "spec"), "template"), "spec"), "containers");
    const bool any = containers.is_array() && !containers.empty();
    facts.programs.push_back({text(metadata, "name"),
                              text(member(metadata, "labels"), kVersionLabel),
                              any ? text(containers.front(), "image") : std::string{}});
  }
}

void read_classes(Reader& reader, KnativeFacts& facts) {
  std::string next;
  for (int page = 0; page < kPagesMost; ++page) {
    const json list =
        reader.get("/apis/autoscaling.internal.knative.dev/v1alpha1/podautoscalers?" +
                   ("limit=" + std::to_string(kPage)) + (next.empty() ? "" : "&continue=" + next));
    for (const json& item : member(list, "items")) {
      const std::string name = text(member(member(item, "metadata"), "annotations"), kClass);
      if (facts.classes.contains(name) || facts.classes.size() < kClassesMost) {
        ++facts.classes[name];
      }
    }
    next = text(member(list, "metadata"), "continue");
    if (next.empty() || next.find_first_not_of(kTokenLetters) != std::string::npos) return;
  }
}

KnativeFacts read_facts(Reader& reader, const std::string& space) {
  KnativeFacts facts;
  facts.space = space;
  read_programs(reader, facts);
  facts.autoscaler = config_map(reader, space, "config-autoscaler");
  facts.deployment = config_map(reader, space, "config-deployment");
  facts.network = config_map(reader, space, "config-network");
  facts.observability = config_map(reader, space, "config-observability");
  const std::string services = "/api/v1/namespaces/" + space + "/services/";
  const json front = reader.get(services + "activator-service");
  facts.activators = reading::string_map(member(front, "spec"), "selector");
  const json stats = reader.get(services + "autoscaler");
  if (text(member(stats, "spec"), "type") == "ExternalName") {
    facts.stats = text(member(stats, "spec"), "externalName");
  }
  const json image = reader.get("/apis/caching.internal.knative.dev/v1alpha1/namespaces/" + space +
                                "/images/queue-proxy");
  facts.sidecar = text(member(image, "spec"), "image");
  read_classes(reader, facts);
  return facts;
}

}  // namespace

int run_doctor_knative(const Surroundings& with, const std::string& space) {
  if (const auto wrong = wrong_namespace(space)) return report(with, *wrong);
  auto person = access_of_person(with.clock);
  if (!person) return report(with, {kExitConfig, person.error().text()});
  kube::Access& access = person->access;
  const std::string server = access.address.text();
  const log::Logger log{"sluice", log::Severity::error};
  boost::asio::io_context io{1};
  auto client = kube::Client::make(io, with.clock, log, std::move(access));
  if (!client) return report(with, {kExitConfig, client.error().text()});

  Reader reader{io, **client};
  const KnativeFacts facts = read_facts(reader, space);
  if (reader.failure()) return report(with, {kExitFailure, *reader.failure()});
  const KnativeReport found = judge_knative(facts, std::string{kVersion});
  if (!found.found) {
    return report(with, {kExitFailure, "there is no Knative in the namespace " + space + " at " +
                                           server + "; name its namespace with --namespace"});
  }
  with.out << knative_text(found);
  return found.good() ? kExitOk : kExitFailure;
}

}  // namespace sluice::commands
