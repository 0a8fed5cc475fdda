#include "autoscaler/io/live_view.h"

#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <list>
#include <map>
#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

constexpr Duration kQuarter = std::chrono::milliseconds{250};
constexpr Duration kSecond = std::chrono::seconds{1};
constexpr double kMilli = 1000;

std::string time_of(TimePoint now) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  return json(static_cast<double>(ms.count()) / kMilli).dump();
}

// A comment of GET /events.
std::string gap_note(const std::string& replica, bool again) {
  return again ? ": missed events of " + replica + "\n\n"
               : ": " + replica + " does not answer: its events are missing\n\n";
}

// `[id, state, in_flight, memory_bytes, throttled]` each.
json short_replicas(const json& replicas) {
  json list = json::array();
  for (const json& replica : replicas) {
    const auto member = [&replica](const char* name) { return replica.value(name, json{}); };
    list.push_back({member("id"), member("state"), member("in_flight"), member("memory_bytes"),
                    member("throttled")});
  }
  return list;
}

}  // namespace

api::EventFilter live_events(const std::string& space) {
  return {.types = {"decision", "replica", "cold_start", "memory", "warning", "error", "service",
                    "move", "place"},
          .space = space};
}

std::string live_type(const api::Event& event, const std::string& data) {
  const bool spec =
      event.key.type == "service" && reading::text(reading::parsed(data), "event") == "changed";
  return spec ? "spec" : event.key.type;
}

bool RowFilter::takes(const FleetRow& row) const {
  if (!query.takes(row)) return false;
  return names.empty() || names.contains(row.id.space + "/" + row.service);
}

// A service that streams show: its newest sample.
struct LiveView::Watched {
  ServiceName name;
  std::list<ServiceReader*> readers{};
  std::unique_ptr<PeerService> far{};  // null: no other replica can show it
  std::uint64_t number = 0;            // of the sample; 0: there is none yet
  std::string body{};                  // of it, without its time
  std::string text{};
  TimePoint sent{};
};

// Readers end with the streams that hold them, which may be after the view has gone.
struct LiveView::Shared {
  LiveView* view = nullptr;
  std::list<FleetReader*> fleet{};
  std::list<EventReader*> events{};
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Watched>> services{};
};

// Of other replicas; beyond the limit a reader has to begin again.
void LiveView::append_events(std::string& events, const std::string& text) {
  events = events.size() + text.size() > kEventBytesMax ? kStreamReset : events + text;
}

// What a stream of the view has in common with the others: who waits for its news.
class LiveView::Reader : public api::ApiStates {
 public:
  void on_news(std::function<void()> news) override { news_ = std::move(news); }

  void tell() const {
    if (news_) news_();
  }

 private:
  std::function<void()> news_;
};

class LiveView::FleetReader final : public Reader {
 public:
  FleetReader(std::shared_ptr<Shared> shared, RowFilter asked, Reasons shown)
      : filter{std::move(asked)}, reasons{shown}, shared_{std::move(shared)} {
    shared_->fleet.push_back(this);
  }

  FleetReader(const FleetReader&) = delete;
  FleetReader& operator=(const FleetReader&) = delete;

  ~FleetReader() override {
    shared_->fleet.remove(this);
    if (shared_->view != nullptr) shared_->view->readers_changed();
  }

  [[nodiscard]] std::string take() override {
    return std::exchange(events_, {}) +
           (shared_->view == nullptr ? std::string{} : shared_->view->rows_for(*this));
  }

  void add_events(const std::string& text) { append_events(events_, text); }

  // Where it is in a book of rows.
  struct Place {
    const FleetRows* of = nullptr;
    std::uint64_t seen = 0;  // version of the rows
    bool behind = false;     // there are more rows of the last look
  };

  RowFilter filter;
  Reasons reasons;
  std::vector<Place> places;
  std::uint64_t looks = 0;   // the last look that it got something of
  std::uint64_t breaks = 0;  // PeerLive::breaks() that it knows of

 private:
  std::shared_ptr<Shared> shared_;
  std::string events_;  // of other replicas
};

class LiveView::ServiceReader final : public Reader {
 public:
  ServiceReader(std::shared_ptr<Shared> shared, const ServiceName& name)
      : shared_{std::move(shared)}, key_{name.space, name.name} {
    std::unique_ptr<Watched>& watched = shared_->services[key_];
    if (!watched) watched = std::make_unique<Watched>(Watched{.name = name});
    watched_ = watched.get();
    watched_->readers.push_back(this);
  }

  ServiceReader(const ServiceReader&) = delete;
  ServiceReader& operator=(const ServiceReader&) = delete;

  ~ServiceReader() override {
    watched_->readers.remove(this);
    if (watched_->readers.empty()) shared_->services.erase(key_);
  }

  [[nodiscard]] std::string take() override {
    std::string text = std::exchange(events_, {});
    if (std::exchange(seen_, watched_->number) != watched_->number) text += watched_->text;
    return text;
  }

  void add_events(const std::string& text) { append_events(events_, text); }

  [[nodiscard]] Watched& watched() const { return *watched_; }

 private:
  std::shared_ptr<Shared> shared_;
  std::pair<std::string, std::string> key_;
  Watched* watched_ = nullptr;  // shared_ has it for as long as it has readers
  std::uint64_t seen_ = 0;
  std::string events_;  // of another replica
};

class LiveView::EventReader final : public Reader {
 public:
  EventReader(std::shared_ptr<Shared> shared, api::EventFilter filter)
      : shared_{std::move(shared)}, filter_{std::move(filter)} {
    shared_->events.push_back(this);
  }

  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  ~EventReader() override {
    shared_->events.remove(this);
    if (shared_->view != nullptr) shared_->view->readers_changed();
  }

  [[nodiscard]] std::string take() override { return std::exchange(text_, {}); }

  void add(const PeerEvent& event) {
    if (!filter_.matches(event.key)) return;
    add("event: " + event.key.type + "\ndata: " + event.data + "\n\n");
  }

  void add(const std::string& text) {
    text_ = text_.size() + text.size() > kEventBytesMax ? ": missed events of other replicas\n\n"
                                                        : text_ + text;
    tell();
  }

 private:
  std::shared_ptr<Shared> shared_;
  api::EventFilter filter_;
  std::string text_;
};

LiveView::LiveView(Parts parts)
    : parts_{std::move(parts)},
      shared_{std::make_shared<Shared>(Shared{.view = this})},
      quarter_{parts_.clock.timer()} {
  parts_.view.on_look([this] { on_look(); });
  if (parts_.peers == nullptr) return;
  parts_.peers->on_events([this](const std::vector<PeerEvent>& events) { show_events(events); },
                          [this](const std::string& name, bool again) { show_gap(name, again); });
}

LiveView::~LiveView() {
  shared_->view = nullptr;
  parts_.view.on_look(nullptr);
  if (parts_.peers != nullptr) parts_.peers->on_events(nullptr, nullptr);
}

void LiveView::readers_changed() {
  parts_.view.keep_looking(!shared_->fleet.empty());
  if (shared_->fleet.empty()) texts_.clear();
  if (parts_.peers == nullptr) return;
  parts_.peers->read_fleet(!shared_->fleet.empty() || !shared_->events.empty());
}

std::shared_ptr<api::ApiStates> LiveView::events(api::EventFilter filter) {
  auto reader = std::make_shared<EventReader>(shared_, std::move(filter));
  readers_changed();
  for (const std::string& name : parts_.peers->silent()) reader->add(gap_note(name, false));
  return reader;
}

std::shared_ptr<api::ApiStates> LiveView::fleet(RowFilter filter, Reasons reasons) {
  auto reader = std::make_shared<FleetReader>(shared_, std::move(filter), reasons);
  reader->looks = looks_;
  readers_changed();
  const auto add = [&reader](const FleetRows& rows) {
    reader->places.push_back({.of = &rows, .seen = rows.version()});
  };
  add(parts_.view.rows());
  if (parts_.peers == nullptr) return reader;
  add(parts_.peers->rows());
  reader->breaks = parts_.peers->breaks();
  return reader;
}

std::shared_ptr<api::ApiStates> LiveView::service(const ServiceName& name) {
  auto reader = std::make_shared<ServiceReader>(shared_, name);
  Watched& watched = reader->watched();
  if (parts_.peers != nullptr && watched.far == nullptr) {
    watched.far = parts_.peers->service(
        name, [this, &watched](const PeerNews& news) { show_far(watched, news); });
  }
  if (!std::exchange(sampling_, true)) on_quarter();
  return reader;
}

void LiveView::on_look() {
  if (shared_->fleet.empty()) return;
  ++looks_;
  overview_ = json_line(parts_.overview());
  for (const FleetReader* reader : shared_->fleet) reader->tell();
}

void LiveView::show_events(const std::vector<PeerEvent>& events) const {
  std::string text;
  for (const PeerEvent& event : events) {
    for (EventReader* reader : shared_->events) reader->add(event);
    text += event.text();
  }
  for (FleetReader* reader : shared_->fleet) {
    reader->add_events(text);
    reader->tell();
  }
}

// A fleet's readers see it in the figures, and begin again.
void LiveView::show_gap(const std::string& name, bool again) const {
  for (EventReader* reader : shared_->events) reader->add(gap_note(name, again));
}

const std::string& LiveView::text_of(const FleetRows& of, const FleetRows::Kept& kept) {
  Text& text = texts_[kept.row.id];
  if (text.of != &of || text.version != kept.version) {
    text.of = &of;
    text.version = kept.version;
    text.row.clear();
    write_row(text.row, kept.row, Reasons::shown);
  }
  return text.row;
}

// Of a revision that another replica has taken over there may be a row in each book for a moment.
bool LiveView::is_shown(const RevisionId& id) const {
  return parts_.view.rows().find(id) != nullptr ||
         (parts_.peers != nullptr && parts_.peers->rows().find(id) != nullptr);
}

std::string LiveView::rows_for(FleetReader& reader) {
  const bool behind = std::any_of(reader.places.begin(), reader.places.end(),
                                  [](const auto& place) { return place.behind; });
  if (reader.looks == looks_ && !behind) return {};
  reader.looks = looks_;
  std::string rows;
  json names = json::array();
  bool whole = parts_.peers == nullptr ||
               std::exchange(reader.breaks, parts_.peers->breaks()) == parts_.peers->breaks();
  for (FleetReader::Place& place : reader.places) {
    const auto changes = place.of->changes_since(place.seen, kRowsMax);
    place.seen = changes ? changes->version : place.of->version();
    place.behind = place.seen < place.of->version();
    whole = whole && changes.has_value();
    if (!changes) continue;
    for (const FleetRows::Kept* kept : changes->rows) {
      if (!reader.filter.takes(kept->row)) continue;
      if (!rows.empty()) rows += ',';
      if (kept->row.state == "failing" && reader.reasons == Reasons::hidden) {
        write_row(rows, kept->row, Reasons::hidden);
      } else {
        rows += text_of(*place.of, *kept);
      }
    }
    for (const FleetRows::Gone* each : changes->gone) {
      texts_.erase(each->id);
      if (!is_shown(each->id)) names.push_back(each->id.space + "/" + each->service);
    }
  }
  if (!whole) return kStreamReset;
  return "event: fleet\ndata: {\"t\":" + time_of(parts_.clock.now()) +
         ",\"overview\":" + overview_ + ",\"rows\":[" + rows + "],\"gone\":" + json_line(names) +
         "}\n\n";
}

void LiveView::on_quarter() {
  for (const auto& [key, watched] : shared_->services) {
    if (watched->far != nullptr) watched->far->look();
    if (watched->far == nullptr || watched->far->is_here()) sample(*watched);
  }
  sampling_ = !shared_->services.empty();
  if (sampling_) quarter_->after(kQuarter, [this] { on_quarter(); });
}

std::string LiveView::sample_of(const Revision& revision) const {
  std::string body = "\"row\":";
  write_point(body, parts_.view.point_of(revision));
  return body + ",\"replicas\":" + json_line(short_replicas(parts_.replicas(revision)));
}

void LiveView::sample(Watched& watched) const {
  const Revision* const revision = parts_.find(watched.name);
  if (revision != nullptr) show(watched, sample_of(*revision));
}

void LiveView::show(Watched& watched, std::string body) const {
  const TimePoint now = parts_.clock.now();
  if (body == watched.body && now - watched.sent < kSecond) return;
  watched.body = std::move(body);
  watched.sent = now;
  ++watched.number;
  watched.text = "event: sample\ndata: {\"t\":" + time_of(now) + "," + watched.body + "}\n\n";
  for (const ServiceReader* reader : watched.readers) reader->tell();
}

void LiveView::show_far(Watched& watched, const PeerNews& news) const {
  if (!news.sample.empty()) show(watched, news.sample);
  const std::string text = news.reset ? kStreamReset : news.events;
  if (text.empty()) return;
  for (ServiceReader* reader : watched.readers) {
    reader->add_events(text);
    reader->tell();
  }
}

}  // namespace sluice::autoscaler
