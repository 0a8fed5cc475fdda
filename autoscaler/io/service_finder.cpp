#include "autoscaler/io/service_finder.h"

#include "common/json/parse.h"
#include "common/json/read.h"

#include <nlohmann/json.hpp>

#include <tuple>
#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

// The greatest is shown. A service goes before a revision of that name.
std::tuple<bool, std::int64_t, std::string> rank_of(const json& status, const ServiceName& name) {
  return {reading::text(status, "name") == name.name, reading::whole(status, "desired").value_or(0),
          reading::text(status, "revision")};
}

bool is_answer(const std::optional<PeerAnswer>& answer) {
  return answer && (answer->status == PeerAnswer::kOk || answer->status == 404);
}

}  // namespace

std::string path_of(const ServiceName& name) {
  return "/api/v1/services/" + http::url_encoded(name.space) + "/" + http::url_encoded(name.name);
}

http::ApiProblem replica_missing(const std::string& what, const std::vector<std::string>& missing) {
  std::string names;
  for (const std::string& each : missing) names += (names.empty() ? "" : ", ") + each;
  return {503, "replica-missing", "A replica is missing",
          "what is known has no " + what +
              ", and of the autoscaler's replicas these did not answer: " + names,
          "ask again: another replica takes over when a lease has ended"};
}

std::vector<std::string> missing_of(const PeerList& list,
                                    const std::vector<std::optional<PeerAnswer>>& answers) {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < list.peers.size(); ++i) {
    if (i >= answers.size() || !is_answer(answers[i])) missing.push_back(list.peers[i].name);
  }
  missing.insert(missing.end(), list.unheld.begin(), list.unheld.end());
  return missing;
}

// A scaler's one revision has its name.
bool ServiceFinder::governs_alone(const ServiceName& name) const {
  const Revision* const revision = api_.find(name);
  return revision != nullptr && revision->facts().id.name == name.name &&
         revision->facts().service == name.name;
}

void ServiceFinder::find(const ServiceName& name, Done done) {
  using Where = Found::Where;
  const auto list = peers_.list();
  const Revision* const own = api_.find(name);
  if (!list || governs_alone(name)) {
    return done({.where = own == nullptr ? Where::nowhere : Where::here});
  }
  json status = own == nullptr ? json{} : api_.status(*own);
  ask_all(peers_, list->peers, target_here(path_of(name)),
          [list = *list, name, status = std::move(status),
           done = std::move(done)](const std::vector<std::optional<PeerAnswer>>& answers) {
            Found found{.missing = missing_of(list, answers)};
            auto best = rank_of(status, name);
            if (status.is_object()) found.where = Where::here;
            for (std::size_t i = 0; i < answers.size(); ++i) {
              if (!answers[i] || answers[i]->status != PeerAnswer::kOk) continue;
              const json other = reading::parsed(answers[i]->body);
              if (!other.is_object()) continue;
              auto rank = rank_of(other, name);
              if (found.where != Where::nowhere && rank <= best) continue;
              best = std::move(rank);
              found.where = Where::peer;
              found.peer = list.peers[i];
            }
            done(found);
          });
}

}  // namespace sluice::autoscaler
