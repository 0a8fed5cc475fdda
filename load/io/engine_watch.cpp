#include "load/io/engine_watch.h"

#include "common/net/h1/h1_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "load/io/engine_events.h"
#include <set>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kServicesBytesMax = 4U << 20U;
// The engine takes request targets of 4096 bytes.
constexpr std::size_t kRowsBytesMax = 3500;

}  // namespace

struct EngineWatch::Impl {
  // `live` has all that `events` has, and figures once a second; older engines have only the other.
  enum class Stage { services, live, events, over };

  Impl(asio::io_context& io, const Clock& time, std::vector<Target> where, EngineApi whose,
       Duration wait)
      : loop{io},
        clock{time},
        targets{std::move(where)},
        api{std::move(whose)},
        patience{wait},
        events{[this](std::string_view event, std::string_view data) { take(event, data); }} {}

  void ask(Stage next, const std::string& path);
  void on_head(const http::ResponseHead& head);
  void on_body(std::string_view piece);
  void on_end(const net::H1Client::Ending& ending);
  void give_up();
  bool join_all();
  [[nodiscard]] std::string joined_rows() const;

  [[nodiscard]] bool is_stream() const { return stage == Stage::live || stage == Stage::events; }

  void tell_ready();
  void take(std::string_view event, std::string_view data);

  asio::io_context& loop;
  const Clock& clock;
  const std::vector<Target> targets;
  const EngineApi api;
  const Duration patience;
  std::shared_ptr<net::H1Client> client;
  asio::steady_timer alarm{loop};
  EventLines events;
  std::vector<ReplicaTrack> tracks = std::vector<ReplicaTrack>(targets.size());
  std::function<void()> ready;
  std::function<void()> changed;
  Stage stage = Stage::services;
  std::string services;
  TimePoint run_began;
  bool begun = false;
  bool asks_events = false;
};

void EngineWatch::Impl::ask(Stage next, const std::string& path) {
  stage = next;
  client = std::make_shared<net::H1Client>(loop);
  net::H1Client::ask(client, api.at,
                     "GET " + api.path + path + " HTTP/1.1\r\nHost: " + api.host +
                         "\r\nUser-Agent: sluice-load\r\nConnection: close\r\n\r\n",
                     {.head = [this](const http::ResponseHead& head) { on_head(head); },
                      .body = [this](std::string_view piece) { on_body(piece); },
                      .ended = [this](const net::H1Client::Ending& ending) { on_end(ending); }});
}

void EngineWatch::Impl::on_head(const http::ResponseHead& head) {
  if (head.status != 200 && stage == Stage::live) {
    stage = Stage::services;  // until the answer is over
    asks_events = true;
  } else if (head.status != 200) {
    give_up();
  } else if (is_stream()) {
    tell_ready();
  }
}

void EngineWatch::Impl::on_body(std::string_view piece) {
  if (is_stream()) {
    events.feed(piece);
  } else if (asks_events) {
    return;
  } else if (services.size() + piece.size() <= kServicesBytesMax) {
    services.append(piece);
  }
}

void EngineWatch::Impl::on_end(const net::H1Client::Ending& ending) {
  const bool is_answer =
      stage == Stage::services && ending.kind == net::H1Client::Ending::Kind::whole;
  if (is_answer && asks_events) {
    ask(Stage::events, "/events?types=decision,replica,cold_start");
  } else if (is_answer && join_all()) {
    ask(Stage::live, "/live?view=fleet&rows=" + joined_rows());
  } else {
    give_up();
  }
}

// Whether a target is a service of the engine.
bool EngineWatch::Impl::join_all() {
  bool joined = false;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    joined = (api.service.empty() ? join_service(services, targets[i], tracks[i])
                                  : join_status(services, tracks[i])) ||
             joined;
  }
  return joined;
}

// The services of the targets, as `rows` of the live stream names them.
std::string EngineWatch::Impl::joined_rows() const {
  std::set<std::string> rows;
  for (const ReplicaTrack& track : tracks) {
    if (track.joined()) rows.insert(track.space() + "/" + track.service());
  }
  std::string out;
  for (const std::string& row : rows) {
    if (out.size() + row.size() > kRowsBytesMax) break;
    out += (out.empty() ? "" : ",") + row;
  }
  return out;
}

void EngineWatch::Impl::give_up() {
  stage = Stage::over;
  if (client) client->close();
  tell_ready();
}

void EngineWatch::Impl::tell_ready() {
  if (!ready) return;
  alarm.cancel();
  // Without a stream the figures would be one moment's: better none.
  if (!is_stream()) tracks.assign(targets.size(), {});
  asio::post(loop, std::exchange(ready, nullptr));
}

void EngineWatch::Impl::take(std::string_view event, std::string_view data) {
  if (stage == Stage::over) return;  // stopped by the event before it
  const Duration at = begun ? clock.now() - run_began : Duration::zero();
  if (apply_event(event, data, at, tracks) && changed) changed();
}

EngineApi engine_beside(const Target& target, const std::string& address) {
  return {.at = {.host = address, .port = target.port, .path = {}},
          .path = std::string{kEngineApi},
          .host = "localhost:" + std::to_string(target.port)};
}

EngineWatch::EngineWatch(asio::io_context& loop, const Clock& clock, std::vector<Target> targets,
                         EngineApi api, Duration patience)
    : impl_{std::make_unique<Impl>(loop, clock, std::move(targets), std::move(api), patience)} {}

EngineWatch::~EngineWatch() {
  if (impl_->client) impl_->client->close();
}

void EngineWatch::start(std::function<void()> ready) {
  Impl& watch = *impl_;
  watch.ready = std::move(ready);
  watch.alarm.expires_after(watch.patience);
  watch.alarm.async_wait([&watch](const boost::system::error_code& error) {
    if (!error && watch.ready) watch.give_up();
  });
  const EngineApi& api = watch.api;
  watch.ask(Impl::Stage::services, api.service.empty()
                                       ? "/services?limit=1000"
                                       : "/services/" + api.space + "/" + api.service);
}

void EngineWatch::begin(TimePoint run_began) {
  impl_->run_began = run_began;
  impl_->begun = true;
  for (ReplicaTrack& track : impl_->tracks) {
    if (track.joined()) track.begin();
  }
}

void EngineWatch::on_change(std::function<void()> changed) {
  impl_->changed = std::move(changed);
}

void EngineWatch::stop(std::function<void()> closed) {
  Impl& watch = *impl_;
  watch.alarm.cancel();
  watch.ready = nullptr;
  watch.give_up();
  for (ReplicaTrack& track : watch.tracks) track.finish(watch.clock.now() - watch.run_began);
  asio::post(watch.loop, std::move(closed));
}

const std::vector<ReplicaTrack>& EngineWatch::tracks() const {
  return impl_->tracks;
}

}  // namespace sluice::loadgen
