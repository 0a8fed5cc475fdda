#pragma once

#include "autoscaler/io/api_routes.h"
#include "autoscaler/io/fleet_view.h"
#include "autoscaler/io/joined_api.h"
#include "autoscaler/io/peers.h"
#include "autoscaler/io/view_api.h"
#include "common/api/change_access.h"
#include "tests/unit/autoscaler/io/fleet_stage.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

class Replica;

/// The other replicas, as one of them asks them.
class FakePeers final : public Peers {
 public:
  explicit FakePeers(Loop& loop) : loop_{loop} {}

  [[nodiscard]] std::optional<PeerList> list() const override { return known; }

  void ask(const Peer& peer, const std::string& target, std::chrono::milliseconds deadline,
           Answered answered) override;

  void change(const Peer& peer, const PeerChange& change, Answered answered) override;

  std::optional<PeerList> known = PeerList{};
  std::map<std::string, Replica*> replicas;
  std::vector<std::string> asked;  ///< `NAME TARGET`, `NAME POST TARGET BODY TOKEN`
  bool deaf = false;               ///< no change is answered

 private:
  void answered_late(std::chrono::milliseconds deadline, const Answered& answered);
  void answered_soon(const http::ApiAnswer& answer, const Answered& answered);

  Loop& loop_;
  std::vector<std::unique_ptr<Timer>> late_;  // answers that do not come
};

/// A replica of the autoscaler in virtual time, which governs what it is given.
class Replica final : public FleetTest {
 public:
  explicit Replica(std::string name) : name_{std::move(name)}, api_{api_of(name_)} {
    events_.begin();
  }

  void TestBody() override {}

  /// A revision of `service` with these pods, as many as are wanted.
  void pods(const std::string& service, const std::vector<std::string>& states,
            const std::string& revision_name = "") {
    model::Revision revision;
    revision.id = {"shop", revision_name.empty() ? service : revision_name};
    revision.service = service;
    revision.chosen = static_cast<std::int32_t>(states.size());
    add_pods(revision, states);
    platform_.replicas = static_cast<std::int32_t>(states.size());
    fleet_.on_revision(std::move(revision));
  }

  /// A revision that is scaled by its load, of which there is none.
  void scaled(const std::string& service) {
    model::Revision revision;
    revision.id = {"shop", service};
    revision.service = service;
    fleet_.on_revision(std::move(revision));
  }

  void gone(const std::string& service) { fleet_.on_revision_gone({"shop", service}); }

  void hears(const std::string& node, proto::NodePressure pressure) {
    proto::NodeReport report;
    report.node = node;
    report.pressure = pressure;
    static_cast<void>(nodes_.hear(std::move(report), clock_.now()));
  }

  void publish(const nlohmann::json& event) { ring_.publish(event); }

  /// What is answered without asking others.
  [[nodiscard]] http::ApiAnswer answer(const std::string& target) {
    std::optional<http::ApiAnswer> answer;
    ask(target, [&answer](http::ApiAnswer whole) { answer = std::move(whole); });
    run(std::chrono::milliseconds{0});
    return answer.value_or(http::ApiAnswer{.status = 0, .body = "no answer"});
  }

  [[nodiscard]] api::ApiAnswer open(const std::string& target, const std::string& last_id = "") {
    return joined_.answer({.method = "GET",
                           .target = target,
                           .body = {},
                           .last_event_id = last_id,
                           .proof = api::Proof::own_user});
  }

  void ask(const std::string& target, const api::ApiAnswer::Later& done) {
    tell(open(target), done);
  }

  void change(const std::string& target, const std::string& body, const api::ChangeFields& fields,
              const api::ApiAnswer::Later& done) {
    tell(joined_.answer({.method = "POST",
                         .target = target,
                         .body = body,
                         .last_event_id = {},
                         .proof = api::Proof::own_user,
                         .change = fields}),
         done);
  }

  void run(Duration length) { time_.run_for(length); }

  [[nodiscard]] Loop& loop() { return clock_; }

  bool silent = false;             ///< it answers no other replica
  std::string secret = "a token";  ///< that a change needs

 private:
  static void tell(api::ApiAnswer answer, const api::ApiAnswer::Later& done) {
    if (answer.later) return answer.later(done);
    while (answer.parts && answer.parts(answer.body)) {
    }
    done(answer);
  }

  [[nodiscard]] ChangeRule rule() {
    return [this](const api::ApiRequest& request) {
      return api::judge_change(request.change, secret, "a file");
    };
  }

  std::string name_;
  FleetView view_{clock_, events_, nullptr};
  Api api_;

 public:
  FakePeers peers{clock_};

 private:
  ViewApi views_{{.program = {.name = name_, .version = "1", .platform = "test", .started = {}},
                  .form = "cluster"},
                 {.clock = clock_,
                  .api = api_,
                  .view = view_,
                  .history = history_,
                  .front = nullptr,
                  .peers = &peers}};
  Clock wall_;
  ApiRoutes routes_{wall_, api_, nullptr, rule(), &views_};
  JoinedApi joined_{name_, clock_, routes_, api_, peers, rule()};
};

inline void FakePeers::ask(const Peer& peer, const std::string& target,
                           std::chrono::milliseconds deadline, Answered answered) {
  asked.push_back(peer.name + " " + target);
  Replica& other = *replicas.at(peer.name);
  if (other.silent) return answered_late(deadline, answered);
  answered_soon(other.answer(target), answered);
}

inline void FakePeers::change(const Peer& peer, const PeerChange& change, Answered answered) {
  asked.push_back(peer.name + " POST " + change.target + " " + change.body + " " + change.token);
  Replica& other = *replicas.at(peer.name);
  if (other.silent || deaf) return answered_late(kLongDeadline, answered);
  const api::ChangeFields fields{.token = change.token};
  other.change(change.target, change.body, fields,
               [this, &answered](const http::ApiAnswer& made) { answered_soon(made, answered); });
}

inline void FakePeers::answered_late(std::chrono::milliseconds deadline, const Answered& answered) {
  late_.push_back(loop_.timer());
  late_.back()->after(deadline, [answered] { answered(std::nullopt); });
}

inline void FakePeers::answered_soon(const http::ApiAnswer& answer, const Answered& answered) {
  loop_.post([answer, answered] {
    answered(PeerAnswer{
        .status = answer.status, .content_type = answer.content_type, .body = answer.body});
  });
}

/// Replicas `one`, `two` and `three`, which know each other.
class ReplicasTest : public ::testing::Test {
 protected:
  ReplicasTest() {
    const std::vector<std::pair<std::string, Replica*>> all{
        {"one", &one_}, {"three", &three_}, {"two", &two_}};
    for (const auto& [name, replica] : all) {
      for (const auto& [other, peer] : all) {
        if (other == name) continue;
        replica->peers.known->peers.push_back({.name = other});
        replica->peers.replicas[other] = peer;
      }
    }
  }

  // All of them, until those of one that waits for others have come.
  void run(Duration length) {
    for (Replica* const each : {&two_, &three_, &one_}) each->run(length);
  }

  nlohmann::json get(Replica& replica, const std::string& target) {
    return nlohmann::json::parse(ask(replica, target).body);
  }

  http::ApiAnswer ask(Replica& replica, const std::string& target) {
    std::optional<http::ApiAnswer> answer;
    replica.ask("/api/v1/" + target,
                [&answer](http::ApiAnswer whole) { answer = std::move(whole); });
    replica.run(std::chrono::milliseconds{1500});
    return answer.value_or(http::ApiAnswer{.status = 0, .body = "null"});
  }

  http::ApiAnswer change(Replica& replica, const std::string& target, const std::string& body = "",
                         const api::ChangeFields& fields = {.token = "a token"}) {
    std::optional<http::ApiAnswer> answer;
    replica.change("/api/v1/services/shop/" + target, body, fields,
                   [&answer](http::ApiAnswer whole) { answer = std::move(whole); });
    replica.run(std::chrono::seconds{12});
    return answer.value_or(http::ApiAnswer{.status = 0, .body = "null"});
  }

  Replica one_{"one"};
  Replica two_{"two"};
  Replica three_{"three"};
};

}  // namespace sluice::autoscaler
