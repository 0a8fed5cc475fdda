#include "autoscaler/io/joined_api.h"

#include "common/json/parse.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using api::ApiAnswer;
using api::ApiRequest;
using http::ApiTarget;
using http::problem_answer;
using nlohmann::json;
using Answers = std::vector<std::optional<PeerAnswer>>;

constexpr std::array<std::string_view, 5> kOfService{"explain", "history", "recording", "series",
                                                     "cold-starts"};
constexpr std::array<std::string_view, 4> kChanges{"wake", "sleep", "scale", "move"};
// At most that much is added to a target that is asked on.
constexpr std::size_t kTargetAdded = 100;

ApiAnswer refused(const http::ApiProblem& problem) {
  return {problem_answer(problem), {}, {}, {}};
}

bool is_change(const ApiRequest& request, const ApiTarget& target) {
  const std::vector<std::string>& path = target.path;
  return request.method == "POST" && path.size() == 6 && path[0] == "api" && path[1] == "v1" &&
         path[2] == "services" &&
         std::find(kChanges.begin(), kChanges.end(), path[5]) != kChanges.end();
}

http::ApiProblem change_unanswered(const std::string& what, const std::string& holder) {
  return {503, "replica-missing", "A replica is missing",
          holder + " governs " + what + " and did not answer: whether it has changed is not known",
          "look at its status, and send the change again: made twice it is the same"};
}

// As many rows as the target asks for.
Result<std::size_t, http::ApiProblem> limit_of(const ApiTarget& target) {
  ApiTarget limited;
  if (target.query.contains("limit")) limited.query.emplace("limit", target.text("limit"));
  const auto page = http::page_of(limited, std::numeric_limits<std::size_t>::max());
  if (!page) return page.error();
  return page->end;
}

}  // namespace

JoinedApi::JoinedApi(std::string name, Loop& loop, api::ApiSource& own, Api& services, Peers& peers,
                     ChangeRule change)
    : name_{std::move(name)},
      loop_{loop},
      own_{own},
      peers_{peers},
      finder_{services, peers},
      change_{std::move(change)} {}

ApiAnswer JoinedApi::answer(const ApiRequest& request) {
  const auto list = peers_.list();
  if (!list) return own_.answer(request);
  const auto target = http::parse_target(request.target);
  if (!target || target->flag(Peers::kHere)) return own_.answer(request);
  if (is_change(request, *target)) {
    // A refusal is said here: nothing of it is passed on.
    if (list->is_all_here() || change_(request)) return own_.answer(request);
    return answer_with(request, changer_for(request, *target));
  }
  const Make make = request.method == "GET" ? maker_for(*target) : Make{};
  if (!make) return own_.answer(request);
  if (list->is_all_here()) {
    const bool is_list = target->path == std::vector<std::string>{"api", "v1", "services"};
    return is_list ? list_alone(request) : own_.answer(request);
  }
  return answer_with(request, make);
}

ApiAnswer JoinedApi::answer_with(const ApiRequest& request, Make make) {
  if (request.target.size() + kTargetAdded > http::kApiTargetMax) {
    return refused({414, "target-too-long", "Target too long",
                    "the target is too long to be asked of other replicas", "shorten it"});
  }
  if (*asking_ >= kAskingMax) {
    return refused({503, "too-many-questions", "Too many questions",
                    "too many answers wait for other replicas", "ask again"});
  }
  ++*asking_;
  const auto place = std::shared_ptr<void>(nullptr, [asking = asking_](void*) { --*asking; });
  ApiRequest kept = request;
  // Views into a message that is gone by then; only changes need them, and those are judged.
  kept.change = {};
  ApiAnswer answer;
  answer.later = [make = std::move(make), kept = std::move(kept), place](const Later& done) {
    make(kept, [done, place](http::ApiAnswer whole) { done(std::move(whole)); });
  };
  return answer;
}

JoinedApi::Make JoinedApi::changer_for(const ApiRequest& request, const ApiTarget& target) {
  return
      [this, name = ServiceName{target.path[3], target.path[4]}, token = token_of(request)](
          const ApiRequest& kept, const Later& done) { change_service(name, kept, token, done); };
}

// The one of two that the rule takes: the other is not ours to pass on.
std::string JoinedApi::token_of(const ApiRequest& request) const {
  ApiRequest with_field;
  with_field.method = request.method;
  with_field.target = request.target;
  with_field.change.token = request.change.token;
  const bool by_field = !request.change.token.empty() && !change_(with_field);
  return std::string{by_field ? request.change.token
                              : api::bearer_of(request.change.authorization)};
}

JoinedApi::Make JoinedApi::maker_for(const ApiTarget& target) {
  const std::vector<std::string>& path = target.path;
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1") return {};
  const auto made_by = [this](void (JoinedApi::*make)(const ApiRequest&, const Later&)) -> Make {
    return [this, make](const ApiRequest& request, const Later& done) {
      (this->*make)(request, done);
    };
  };
  if (path.size() == 3) {
    if (path[2] == "services") return made_by(&JoinedApi::list);
    if (path[2] == "overview") return made_by(&JoinedApi::overview);
    return path[2] == "nodes" ? made_by(&JoinedApi::nodes) : Make{};
  }
  const bool is_known =
      path.size() == 5 || (path.size() == 6 && std::find(kOfService.begin(), kOfService.end(),
                                                         path[5]) != kOfService.end());
  if (path[2] != "services" || !is_known) return {};
  return [this, name = ServiceName{path[3], path[4]}](
             const ApiRequest& request, const Later& done) { of_service(name, request, done); };
}

// In as many turns as it takes.
void JoinedApi::answer_here(const ApiRequest& request, const Later& done) {
  auto answer = std::make_shared<ApiAnswer>(own_.answer(request));
  if (answer->later) return answer->later(done);
  collect(std::move(answer), done);
}

void JoinedApi::collect(std::shared_ptr<ApiAnswer> answer, const Later& done) {
  if (!answer->parts || !answer->parts(answer->body)) return done(*answer);
  loop_.post([this, alive = alive_.watch(), answer = std::move(answer), done] {
    if (!alive.over()) collect(answer, done);
  });
}

// A list that is being joined.
struct JoinedApi::Listing {
  std::string target;
  std::size_t limit = 0;
  ListPlaces from;
  JoinedList rows;
  std::vector<std::string> missing{};
  Later done{};

  // What a replica is asked that has so much of it behind it.
  [[nodiscard]] std::string target_of(const std::string& replica) const {
    const auto at = from.find(replica);
    return target_here(target, {{"limit", std::to_string(limit)},
                                {"next", std::to_string(at == from.end() ? 0 : at->second)}});
  }
};

Result<std::shared_ptr<JoinedApi::Listing>, http::ApiProblem> JoinedApi::listing_of(
    const ApiRequest& request) {
  const auto target = http::parse_target(request.target);
  const auto from = parse_places(target->text("next"));
  if (!from) {
    return http::bad_parameter("next", target->text("next"),
                               "give the `next` value of the previous answer");
  }
  const auto limit = limit_of(*target);
  if (!limit) return limit.error();
  RowQuery order;
  if (target->flag("brief") && target->query.contains("sort")) order.sort = target->text("sort");
  return std::make_shared<Listing>(Listing{.target = request.target,
                                           .limit = *limit,
                                           .from = *from,
                                           .rows = {std::move(order), *limit, *from}});
}

// Another replica may read the list on, so that its places have names.
ApiAnswer JoinedApi::list_alone(const ApiRequest& request) {
  const auto made = listing_of(request);
  if (!made) return refused(made.error());
  ApiRequest marked = request;
  marked.target = (*made)->target_of(name_);
  const auto own = std::make_shared<ApiAnswer>(own_.answer(marked));
  if (own->status != PeerAnswer::kOk) return std::move(*own);
  ApiAnswer answer;
  answer.parts = [name = name_, listing = *made, own, added = false](std::string& body) mutable {
    if (!added && own->parts && own->parts(own->body)) return true;
    if (!std::exchange(added, true)) listing->rows.add(name, std::move(own->body));
    if (listing->rows.step()) return true;
    body += listing->rows.text({});
    return false;
  };
  return answer;
}

void JoinedApi::list(const ApiRequest& request, const Later& done) {
  const auto made = listing_of(request);
  if (!made) return done(problem_answer(made.error()));
  const auto& listing = *made;
  listing->done = done;
  ApiRequest own = request;
  own.target = listing->target_of(name_);
  answer_here(own, [this, alive = alive_.watch(), listing](http::ApiAnswer answer) {
    if (alive.over()) return;
    // What is wrong with the question shows here.
    if (answer.status != PeerAnswer::kOk) return listing->done(std::move(answer));
    listing->rows.add(name_, std::move(answer.body));
    ask_lists(listing);
  });
}

void JoinedApi::ask_lists(const std::shared_ptr<Listing>& listing) {
  const PeerList list = peers_.list().value_or(PeerList{});
  const auto waits = std::make_shared<std::size_t>(list.peers.size());
  listing->missing = list.unheld;
  if (*waits == 0) return merge(listing);
  for (const Peer& peer : list.peers) {
    peers_.ask(peer, listing->target_of(peer.name), Peers::kDeadline,
               [this, alive = alive_.watch(), listing, waits,
                name = peer.name](std::optional<PeerAnswer> answer) {
                 if (alive.over()) return;
                 if (answer && answer->status == PeerAnswer::kOk) {
                   listing->rows.add(name, std::move(answer->body));
                 } else {
                   listing->missing.push_back(name);
                 }
                 if (--*waits == 0) merge(listing);
               });
  }
}

void JoinedApi::merge(const std::shared_ptr<Listing>& listing) {
  if (!listing->rows.step()) {
    std::sort(listing->missing.begin(), listing->missing.end());
    http::ApiAnswer answer;
    answer.body = listing->rows.text(listing->missing);
    return listing->done(std::move(answer));
  }
  loop_.post([this, alive = alive_.watch(), listing] {
    if (!alive.over()) merge(listing);
  });
}

void JoinedApi::overview(const ApiRequest& request, const Later& done) {
  const PeerList list = peers_.list().value_or(PeerList{});
  ask_all(peers_, list.peers, target_here(request.target),
          [this, alive = alive_.watch(), list, request, done](const Answers& answers) {
            if (alive.over()) return;
            answer_here(request, [list, answers, done](http::ApiAnswer own) {
              json sum = reading::parsed(own.body);
              for (const auto& answer : answers) {
                if (answer && answer->status == PeerAnswer::kOk) {
                  add_overview(sum, reading::parsed(answer->body));
                }
              }
              set_missing(sum, missing_of(list, answers));
              done(http::json_answer(sum));
            });
          });
}

// They report to the one that holds the first bucket.
void JoinedApi::nodes(const ApiRequest& request, const Later& done) {
  const auto list = peers_.list();
  if (!list || !list->leader) return answer_here(request, done);
  const std::string leader = list->leader->name;
  peers_.ask(
      *list->leader, target_here(request.target), Peers::kDeadline,
      [this, alive = alive_.watch(), request, leader, done](std::optional<PeerAnswer> answer) {
        if (alive.over()) return;
        if (answer) {
          return done({answer->status, answer->content_type, std::move(answer->body)});
        }
        answer_here(request, [leader, done](http::ApiAnswer own) {
          json body = reading::parsed(own.body);
          if (own.status != PeerAnswer::kOk || !body.is_object()) return done(std::move(own));
          set_missing(body, {leader});
          done(http::json_answer(body));
        });
      });
}

void JoinedApi::of_service(const ServiceName& name, const ApiRequest& request, const Later& done) {
  finder_.find(
      name, [this, alive = alive_.watch(), name, request, done](const ServiceFinder::Found& found) {
        if (alive.over()) return;
        using Where = ServiceFinder::Found::Where;
        const std::string what = "service " + name.space + "/" + name.name;
        if (found.where == Where::peer) {
          return pass_on(found.peer, what, target_here(request.target), done);
        }
        if (found.where == Where::here) return answer_here(request, done);
        if (!found.missing.empty()) {
          return done(problem_answer(replica_missing(what, found.missing)));
        }
        done(problem_answer({404, "no-such-service", "No such service",
                             "no replica of the autoscaler governs a " + what,
                             "GET /api/v1/services lists them"}));
      });
}

// Judged again by the replica that makes it, this one too.
void JoinedApi::change_service(const ServiceName& name, const ApiRequest& request,
                               const std::string& token, const Later& done) {
  finder_.find(name, [this, alive = alive_.watch(), name, request, token,
                      done](const ServiceFinder::Found& found) {
    if (alive.over()) return;
    using Where = ServiceFinder::Found::Where;
    const std::string what = "service " + name.space + "/" + name.name;
    if (found.where == Where::peer) {
      const std::string holder = found.peer.name;
      return peers_.change(found.peer, {target_here(request.target), request.body, token},
                           [what, holder, done](std::optional<PeerAnswer> answer) {
                             if (!answer) {
                               return done(problem_answer(change_unanswered(what, holder)));
                             }
                             done({answer->status, answer->content_type, std::move(answer->body)});
                           });
    }
    if (found.where == Where::nowhere && !found.missing.empty()) {
      return done(problem_answer(replica_missing(what, found.missing)));
    }
    ApiRequest own = request;
    own.change.token = token;
    answer_here(own, done);
  });
}

void JoinedApi::pass_on(const Peer& peer, const std::string& what, const std::string& target,
                        const Later& done) {
  peers_.ask(peer, target, Peers::kLongDeadline,
             [what, name = peer.name, done](std::optional<PeerAnswer> answer) {
               if (!answer) return done(problem_answer(replica_missing(what, {name})));
               done({answer->status, answer->content_type, std::move(answer->body)});
             });
}

}  // namespace sluice::autoscaler
