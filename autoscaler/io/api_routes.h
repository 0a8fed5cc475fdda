#pragma once

#include "autoscaler/io/services_api.h"
#include "common/api/api_request.h"
#include "common/api/event_ring.h"
#include "common/time/clock.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

class ViewApi;

/// Why a request may not change anything here; nothing: it may.
using ChangeRule = std::function<std::optional<http::ApiProblem>(const api::ApiRequest& request)>;

/// The routes of protocols.md 5 in every form. Pure but for what `services` and `machine` do. What
/// a client is, what a replica printed and what a service is made of is for Proof::own_user; the
/// values of its environment, a new spec, a removal and the shutdown are for Proof::socket.
class ApiRoutes final : public api::ApiSource {
 public:
  /// All outlive this. `machine` is null where specs and replicas are not ours: its paths are none
  /// then. `change` judges wake, sleep, scale, move and drain. `views` answers what pages draw;
  /// null: nothing does.
  ApiRoutes(const Clock& clock, ServicesApi& services, MachineApi* machine, ChangeRule change,
            ViewApi* views = nullptr);

  [[nodiscard]] api::ApiAnswer answer(const api::ApiRequest& request) override;

  [[nodiscard]] api::EventRing& events() override { return services_.events(); }

 private:
  const Clock& clock_;
  ServicesApi& services_;
  MachineApi* machine_;
  ChangeRule change_;
  ViewApi* views_;
};

/// The types of events in a list with commas; none: all. A problem names one that does not exist.
[[nodiscard]] Result<std::vector<std::string>, http::ApiProblem> event_types(std::string_view list);

/// The data of an event as a stream of that proof carries it; nothing when it carries none of it.
[[nodiscard]] std::optional<std::string> event_data(const api::Event& event, api::Proof proof);

/// An event as server-sent events carry it; empty when a stream of that proof does not.
[[nodiscard]] std::string sse_text(const api::Event& event, api::Proof proof);

/// One log event as `logs` answers it (output_text()).
[[nodiscard]] std::string log_line_of(const api::Event& event, bool times);

}  // namespace sluice::autoscaler
