#pragma once

#include "autoscaler/io/fleet_view.h"
#include "autoscaler/io/peer_live.h"
#include "autoscaler/io/services_api.h"
#include "autoscaler/io/view_json.h"
#include "common/api/api_request.h"
#include "common/loop/loop.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::autoscaler {

/// What a stream says to a reader that has to read everything again.
inline constexpr const char* kStreamReset = "event: reset\ndata: {}\n\n";

/// The events of a stream: of all services, or of those of a namespace.
[[nodiscard]] api::EventFilter live_events(const std::string& space);

/// The type by which a stream shows an event: a change of a service's spec has one of its own.
[[nodiscard]] std::string live_type(const api::Event& event, const std::string& data);

/// Which rows a reader of the fleet gets.
struct RowFilter {
  std::set<std::string> names{};  ///< `NAMESPACE/NAME`; empty: every one
  RowQuery query{};

  [[nodiscard]] bool takes(const FleetRow& row) const;
};

/// What streams show beside events, made once for all who read it and not at all without readers:
/// the rows of a fleet once a second, a service four times a second while it changes. A reader that
/// is slow gets the newest only.
class LiveView {
 public:
  /// All outlive this.
  struct Parts {
    Loop& clock;
    FleetView& view;
    /// The revision in service of a service; null: there is none.
    std::function<const Revision*(const ServiceName&)> find;
    /// "replicas" of its status.
    std::function<nlohmann::json(const Revision&)> replicas;
    /// The members of `overview` that change.
    std::function<nlohmann::json()> overview;
    /// What other replicas show; null: this one shows all.
    PeerLive* peers = nullptr;
  };

  explicit LiveView(Parts parts);
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;
  ~LiveView();

  /// Events `fleet` from the next look on.
  [[nodiscard]] std::shared_ptr<api::ApiStates> fleet(RowFilter filter, Reasons reasons);

  /// Events `sample` of a service, which may not be there yet.
  [[nodiscard]] std::shared_ptr<api::ApiStates> service(const ServiceName& name);

  /// Events of other replicas that pass `filter`, as GET /events carries them. Only where there are
  /// others.
  [[nodiscard]] std::shared_ptr<api::ApiStates> events(api::EventFilter filter);

  /// The members of a sample of that service but its time: `"row":[…],"replicas":[…]`.
  [[nodiscard]] std::string sample_of(const Revision& revision) const;

 private:
  struct Shared;
  struct Watched;
  class Reader;
  class FleetReader;
  class ServiceReader;
  class EventReader;

  // Rows in one event, some 0.2 ms: a reader that is behind gets more events.
  static constexpr std::size_t kRowsMax = 100;

  void readers_changed();
  void on_look();
  void on_quarter();
  void sample(Watched& watched) const;
  void show(Watched& watched, std::string body) const;
  void show_far(Watched& watched, const PeerNews& news) const;
  void show_events(const std::vector<PeerEvent>& events) const;
  void show_gap(const std::string& name, bool again) const;
  static void append_events(std::string& events, const std::string& text);
  [[nodiscard]] bool is_shown(const RevisionId& id) const;
  [[nodiscard]] std::string rows_for(FleetReader& reader);
  [[nodiscard]] const std::string& text_of(const FleetRows& of, const FleetRows::Kept& kept);

  // As many bytes of other replicas' events wait for a reader; then it has to begin again.
  static constexpr std::size_t kEventBytesMax = 256U << 10U;

  struct Text {
    const FleetRows* of = nullptr;
    std::uint64_t version = 0;
    std::string row;
  };

  Parts parts_;
  std::shared_ptr<Shared> shared_;
  std::unordered_map<RevisionId, Text> texts_;  // of rows that a reader has asked for
  std::uint64_t looks_ = 0;
  std::string overview_;  // of the last look
  std::unique_ptr<Timer> quarter_;
  bool sampling_ = false;
};

}  // namespace sluice::autoscaler
