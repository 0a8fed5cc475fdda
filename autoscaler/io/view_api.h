#pragma once

#include "autoscaler/io/api.h"
#include "autoscaler/io/fleet_view.h"
#include "autoscaler/io/live_view.h"
#include "autoscaler/io/peer_live.h"
#include "common/api/api_request.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace sluice::autoscaler {

/// What the program is, beside ApiFacts.
struct ViewFacts {
  ApiFacts program;
  std::string form;   ///< `machine` or `cluster`
  bool edit = false;  ///< whether it takes changes from those who may make them
};

/// The answers that pages draw (protocols.md 5): tiles, brief lists, series, cold starts, memory,
/// and the live stream, in every form.
class ViewApi {
 public:
  /// Streams of one proof at a time.
  static constexpr int kStreamsMax = 32;

  /// All outlive this. `front` is null in a cluster; `peers` where there is one replica for good.
  struct Parts {
    Loop& clock;
    Api& api;
    FleetView& view;
    const History& history;
    const FrontFacts* front;
    Peers* peers = nullptr;
  };

  ViewApi(ViewFacts facts, const Parts& parts);

  /// The answer to a request for one of these; nothing: it is none.
  [[nodiscard]] std::optional<api::ApiAnswer> answer(const api::ApiRequest& request,
                                                     const http::ApiTarget& target);

  /// Adds the events of other replicas to an answer to GET /events, where there are others and the
  /// target does not name this one alone. It begins when they are heard; 503 where one that does
  /// not answer may govern the service that is asked for.
  void join_events(api::ApiAnswer& answer, const http::ApiTarget& target);

 private:
  struct Asked;

  [[nodiscard]] nlohmann::json constants() const;
  [[nodiscard]] nlohmann::json figures() const;
  [[nodiscard]] nlohmann::json overview() const;
  [[nodiscard]] api::ApiAnswer rows(const Asked& asked) const;
  void write_listed(std::string& body, const FleetRow& row, Reasons reasons) const;
  [[nodiscard]] api::ApiAnswer series(const Asked& asked, const Revision& revision) const;
  [[nodiscard]] api::ApiAnswer cold_starts(const Asked& asked, const Revision& revision) const;
  [[nodiscard]] api::ApiAnswer memory() const;
  [[nodiscard]] api::ApiAnswer live(const Asked& asked);
  [[nodiscard]] api::ApiAnswer changes(const api::ApiRequest& request,
                                       const http::ApiTarget& target) const;

  [[nodiscard]] bool is_shared() const { return peer_live_ && peer_live_->is_shared(); }

  [[nodiscard]] api::ApiAnswer of_service(const Asked& asked) const;

  ViewFacts facts_;
  Parts parts_;
  std::optional<PeerLive> peer_live_;
  LiveView live_;
  // Streams by proof; shared with those that end after this.
  std::shared_ptr<std::array<int, 3>> streams_ = std::make_shared<std::array<int, 3>>();
};

}  // namespace sluice::autoscaler
