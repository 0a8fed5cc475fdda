#include "autoscaler/io/peer_live.h"

#include "autoscaler/io/joined_list.h"
#include "autoscaler/io/view_json.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;
using Where = ServiceFinder::Found::Where;

constexpr Duration kFleet = std::chrono::seconds{1};
constexpr Duration kFoundFor = std::chrono::seconds{5};
constexpr Duration kNotFoundFor = std::chrono::seconds{1};

std::string changes_target(const std::string& view, const std::string& after) {
  return target_here("/api/v1/changes?view=" + view +
                     (after.empty() ? "" : "&after=" + http::url_encoded(after)));
}

// The words of an event's type are those of a stream: no line begins within.
std::vector<PeerEvent> events_of(const json& body) {
  std::vector<PeerEvent> events;
  for (const json& each : reading::array(body, "events")) {
    PeerEvent event{.key = {}, .type = reading::text(each, "type"), .data = {}};
    if (event.type.find_first_of("\r\n") != std::string::npos) continue;
    const json& data = reading::member(each, "data");
    event.key = api::key_of(data);
    event.data = json_line(data);
    events.push_back(std::move(event));
  }
  return events;
}

std::string events_text(const json& body) {
  std::string text;
  for (const PeerEvent& event : events_of(body)) text += event.text();
  return text;
}

json body_of(const std::optional<PeerAnswer>& answer) {
  return answer && answer->status == PeerAnswer::kOk ? reading::parsed(answer->body) : json{};
}

}  // namespace

std::string PeerEvent::text() const {
  return "event: " + type + "\ndata: " + data + "\n\n";
}

PeerService::PeerService(Loop& loop, Peers& peers, ServiceFinder finder, ServiceName name,
                         OnNews on_news)
    : loop_{loop},
      peers_{peers},
      finder_{finder},
      name_{std::move(name)},
      on_news_{std::move(on_news)} {}

void PeerService::look() {
  if (asking_) return;
  if (loop_.now() >= find_at_) find();
  if (!asking_ && found_.where == Where::peer) ask();
}

void PeerService::find() {
  asking_ = true;
  finder_.find(name_, [this, alive = alive_.watch()](const ServiceFinder::Found& found) {
    if (alive.over()) return;
    asking_ = false;
    find_at_ = loop_.now() + (found.where == Where::nowhere ? kNotFoundFor : kFoundFor);
    // One that was followed and does not answer now is followed on: it may be slow.
    if (found.where == Where::nowhere && !found.missing.empty()) return;
    const bool moved = found.where != found_.where || found.peer != found_.peer;
    const bool was_shown = std::exchange(found_, found).where != Where::nowhere;
    if (!moved) return;
    after_.clear();
    if (was_shown) on_news_({.reset = true, .sample = {}, .events = {}});
  });
}

void PeerService::ask() {
  asking_ = true;
  const std::string view =
      "service&ns=" + http::url_encoded(name_.space) + "&name=" + http::url_encoded(name_.name);
  peers_.ask(found_.peer, changes_target(view, after_), Peers::kDeadline,
             [this, alive = alive_.watch()](const std::optional<PeerAnswer>& answer) {
               if (alive.over()) return;
               asking_ = false;
               take(answer);
             });
}

void PeerService::take(const std::optional<PeerAnswer>& answer) {
  const json body = body_of(answer);
  if (!body.is_object()) {
    find_at_ = TimePoint::min();
    return;
  }
  after_ = reading::text(body, "after");
  PeerNews news{.reset = reading::flag(body, "reset"), .sample = {}, .events = events_text(body)};
  const json& row = reading::member(body, "row");
  if (row.is_array()) {
    news.sample = "\"row\":" + json_line(row) +
                  ",\"replicas\":" + json_line(reading::array(body, "replicas"));
  }
  on_news_(news);
}

PeerLive::PeerLive(Loop& loop, Peers& peers, ServiceFinder finder)
    : loop_{loop}, peers_{peers}, finder_{finder}, timer_{loop.timer()} {}

std::unique_ptr<PeerService> PeerLive::service(const ServiceName& name,
                                               PeerService::OnNews on_news) {
  return std::make_unique<PeerService>(loop_, peers_, finder_, name, std::move(on_news));
}

void PeerLive::read_fleet(bool reads) {
  if (std::exchange(reads_, reads) == reads) return;
  ++era_;
  followed_.clear();
  rows_ = {};
  shown_by_.clear();
  if (reads) {
    tick(true);
  } else {
    timer_->cancel();
    tell_waiting();
  }
}

void PeerLive::when_heard(std::function<void()> done) {
  waits_.push_back(std::move(done));
  tell_waiting();
}

void PeerLive::tell_waiting() {
  for (const auto& [name, followed] : followed_) {
    if (!followed.heard) return;
  }
  for (const auto& done : std::exchange(waits_, {})) done();
}

void PeerLive::tick(bool begins) {
  PeerList list = peers_.list().value_or(PeerList{});
  unheld_ = std::move(list.unheld);
  std::map<std::string, Followed> kept;
  for (Peer& peer : list.peers) {
    const auto found = followed_.find(peer.name);
    const bool same = found != followed_.end() && found->second.peer == peer;
    const std::string name = peer.name;
    kept.emplace(
        name, same ? std::move(found->second) : Followed{.peer = std::move(peer), .lost = !begins});
  }
  followed_ = std::move(kept);
  for (auto& [name, followed] : followed_) {
    if (!followed.asking) ask(name, followed);
  }
  timer_->after(kFleet, [this] { tick(false); });
}

void PeerLive::ask(const std::string& name, Followed& followed) {
  followed.asking = true;
  peers_.ask(
      followed.peer, changes_target("fleet", followed.after), Peers::kDeadline,
      [this, alive = alive_.watch(), era = era_, name](const std::optional<PeerAnswer>& answer) {
        if (!alive.over() && era == era_) take(name, answer);
      });
}

void PeerLive::take(const std::string& name, const std::optional<PeerAnswer>& answer) {
  const auto found = followed_.find(name);
  if (found == followed_.end()) return;
  Followed& followed = found->second;
  followed.asking = false;
  followed.heard = true;
  const json body = body_of(answer);
  if (!body.is_object()) {
    followed.overview.clear();
    followed.lost = true;
    if (!std::exchange(followed.silent, true) && on_gap_) on_gap_(name, false);
    return tell_waiting();
  }
  followed.silent = false;
  followed.after = reading::text(body, "after");
  followed.overview = json_line(reading::member(body, "overview"));
  if (std::exchange(followed.lost, false) || reading::flag(body, "reset")) {
    ++breaks_;
    if (on_gap_) on_gap_(name, true);
  }
  take_rows(name, body);
  const std::vector<PeerEvent> events = events_of(body);
  if (!events.empty() && on_events_) on_events_(events);
  if (reading::flag(body, "more")) ask(name, followed);
  tell_waiting();
}

// A service that moves from one replica to another may be shown by the second before the first has
// dropped it.
void PeerLive::take_rows(const std::string& name, const json& body) {
  for (const json& gone : reading::array(body, "gone")) {
    FleetRow row{.id = {reading::text(gone, "namespace"), reading::text(gone, "revision")},
                 .service = reading::text(gone, "name"),
                 .state = FleetTiles::kStates.front(),
                 .trouble = {}};
    const auto shown = shown_by_.find(row.id);
    if (shown != shown_by_.end() && shown->second != name) continue;
    const RevisionId id = row.id;
    shown_by_.erase(id);
    // Only what is there can go: most of them have not changed before.
    rows_.put(std::move(row));
    rows_.drop(id);
  }
  for (const json& text : reading::array(body, "rows")) {
    auto row = read_row(text);
    if (!row) continue;
    shown_by_[row->id] = name;
    rows_.put(std::move(*row));
  }
}

std::vector<std::string> PeerLive::silent() const {
  std::vector<std::string> names;
  for (const auto& [name, followed] : followed_) {
    if (followed.silent) names.push_back(name);
  }
  return names;
}

void PeerLive::add_to(json& overview) const {
  std::vector<std::string> missing = silent();
  for (const auto& [name, followed] : followed_) {
    if (!followed.overview.empty()) add_overview(overview, reading::parsed(followed.overview));
  }
  missing.insert(missing.end(), unheld_.begin(), unheld_.end());
  set_missing(overview, missing);
}

}  // namespace sluice::autoscaler
