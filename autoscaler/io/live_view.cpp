#include "autoscaler/io/live_view.h"

#include "common/json/write.h"

#include <nlohmann/json.hpp>

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

bool RowFilter::takes(const FleetRow& row) const {
  if (!query.takes(row)) return false;
  return names.empty() || names.contains(row.id.space + "/" + row.service);
}

// A service that streams show: its newest sample.
struct LiveView::Watched {
  ServiceName name;
  std::list<ServiceReader*> readers{};
  std::uint64_t number = 0;  // of the sample; 0: there is none yet
  std::string body{};        // of it, without its time
  std::string text{};
  TimePoint sent{};
};

// Readers end with the streams that hold them, which may be after the view has gone.
struct LiveView::Shared {
  LiveView* view = nullptr;
  std::list<FleetReader*> fleet{};
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Watched>> services{};
};

class LiveView::FleetReader final : public api::ApiStates {
 public:
  FleetReader(std::shared_ptr<Shared> shared, RowFilter asked, Reasons shown, std::uint64_t now)
      : filter{std::move(asked)}, reasons{shown}, seen{now}, shared_{std::move(shared)} {
    shared_->fleet.push_back(this);
  }

  FleetReader(const FleetReader&) = delete;
  FleetReader& operator=(const FleetReader&) = delete;

  ~FleetReader() override {
    shared_->fleet.remove(this);
    if (shared_->view != nullptr) shared_->view->readers_changed();
  }

  void on_news(std::function<void()> news) override { news_ = std::move(news); }

  [[nodiscard]] std::string take() override {
    return shared_->view == nullptr ? std::string{} : shared_->view->rows_for(*this);
  }

  void tell() const {
    if (news_) news_();
  }

  RowFilter filter;
  Reasons reasons;
  std::uint64_t seen;       // version of the rows
  std::uint64_t looks = 0;  // the last look that it got something of
  bool behind = false;      // there are more rows of that look

 private:
  std::shared_ptr<Shared> shared_;
  std::function<void()> news_;
};

class LiveView::ServiceReader final : public api::ApiStates {
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

  void on_news(std::function<void()> news) override { news_ = std::move(news); }

  [[nodiscard]] std::string take() override {
    return std::exchange(seen_, watched_->number) == watched_->number ? "" : watched_->text;
  }

  void tell() const {
    if (news_) news_();
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::pair<std::string, std::string> key_;
  Watched* watched_ = nullptr;  // shared_ has it for as long as it has readers
  std::uint64_t seen_ = 0;
  std::function<void()> news_;
};

LiveView::LiveView(Parts parts)
    : parts_{std::move(parts)},
      shared_{std::make_shared<Shared>(Shared{.view = this})},
      quarter_{parts_.clock.timer()} {
  parts_.view.on_look([this] { on_look(); });
}

LiveView::~LiveView() {
  shared_->view = nullptr;
  parts_.view.on_look(nullptr);
}

void LiveView::readers_changed() {
  parts_.view.keep_looking(!shared_->fleet.empty());
  if (shared_->fleet.empty()) texts_.clear();
}

std::shared_ptr<api::ApiStates> LiveView::fleet(RowFilter filter, Reasons reasons) {
  auto reader = std::make_shared<FleetReader>(shared_, std::move(filter), reasons,
                                              parts_.view.rows().version());
  reader->looks = looks_;
  readers_changed();
  return reader;
}

std::shared_ptr<api::ApiStates> LiveView::service(const ServiceName& name) {
  auto reader = std::make_shared<ServiceReader>(shared_, name);
  if (!std::exchange(sampling_, true)) on_quarter();
  return reader;
}

void LiveView::on_look() {
  if (shared_->fleet.empty()) return;
  ++looks_;
  overview_ = json_line(parts_.overview());
  for (const FleetReader* reader : shared_->fleet) reader->tell();
}

const std::string& LiveView::text_of(const FleetRows::Kept& kept) {
  Text& text = texts_[kept.row.id];
  if (text.version != kept.version) {
    text.version = kept.version;
    text.row.clear();
    write_row(text.row, kept.row, Reasons::shown);
  }
  return text.row;
}

std::string LiveView::rows_for(FleetReader& reader) {
  if (reader.looks == looks_ && !reader.behind) return {};
  const FleetRows& rows = parts_.view.rows();
  const auto changes = rows.changes_since(reader.seen, kRowsMax);
  reader.looks = looks_;
  reader.seen = changes ? changes->version : rows.version();
  reader.behind = reader.seen < rows.version();
  if (!changes) return "event: reset\ndata: {}\n\n";
  std::string text = "event: fleet\ndata: {\"t\":" + time_of(parts_.clock.now()) +
                     ",\"overview\":" + overview_ + ",\"rows\":[";
  const char* comma = "";
  for (const FleetRows::Kept* kept : changes->rows) {
    if (!reader.filter.takes(kept->row)) continue;
    text += std::exchange(comma, ",");
    if (kept->row.state == "failing" && reader.reasons == Reasons::hidden) {
      write_row(text, kept->row, Reasons::hidden);
    } else {
      text += text_of(*kept);
    }
  }
  json names = json::array();
  for (const FleetRows::Gone* each : changes->gone) {
    texts_.erase(each->id);
    if (rows.find(each->id) == nullptr) names.push_back(each->id.space + "/" + each->service);
  }
  return text + "],\"gone\":" + json_line(names) + "}\n\n";
}

void LiveView::on_quarter() {
  for (const auto& [key, watched] : shared_->services) sample(*watched);
  sampling_ = !shared_->services.empty();
  if (sampling_) quarter_->after(kQuarter, [this] { on_quarter(); });
}

void LiveView::sample(Watched& watched) const {
  const Revision* const revision = parts_.find(watched.name);
  if (revision == nullptr) return;
  std::string body = "\"row\":";
  write_point(body, parts_.view.point_of(*revision));
  body += ",\"replicas\":" + json_line(short_replicas(parts_.replicas(*revision)));
  const TimePoint now = parts_.clock.now();
  if (body == watched.body && now - watched.sent < kSecond) return;
  watched.body = std::move(body);
  watched.sent = now;
  ++watched.number;
  watched.text = "event: sample\ndata: {\"t\":" + time_of(now) + "," + watched.body + "}\n\n";
  for (const ServiceReader* reader : watched.readers) reader->tell();
}

}  // namespace sluice::autoscaler
