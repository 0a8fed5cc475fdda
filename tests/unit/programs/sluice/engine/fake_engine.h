#pragma once

#include <nlohmann/json.hpp>

#include "programs/sluice/engine/engine_api.h"
#include "programs/sluice/engine/event_ring.h"
#include <functional>
#include <string>
#include <vector>

namespace sluice::local {

/// An engine with the one service "app", which remembers what it was asked.
class FakeEngine final : public EngineApi {
 public:
  using Json = nlohmann::json;

  Json services() override {
    Json all = Json::array();
    for (int i = 0; i < service_count; ++i) {
      all.push_back(told);
      all.back()["name"] = "app" + std::to_string(i);
    }
    return all;
  }

  ApiResult<Json> service(const std::string& name) override { return status(name); }

  ApiResult<std::string> spec_yaml(const std::string& name, Values values) override {
    if (name != "app") return no_such_service(name, {"app"});
    return std::string{values == Values::shown ? "kind: Service\nvalues\n" : "kind: Service\n"};
  }

  ApiResult<Json> apply(const std::string& yaml, bool dry_run) override {
    calls.push_back((dry_run ? "plan " : "apply ") + yaml);
    if (yaml == "bad") return invalid_document("no kind", "write kind: Service");
    return Json{{"service", "app"}, {"result", "configured"}};
  }

  ApiResult<Json> remove(const std::string& name) override { return status(name); }

  ApiResult<Json> explain(const std::string& name, std::optional<TimePoint> at) override {
    explained_at = at;
    if (name != "app") return no_such_service(name, {"app"});
    return Json{{"name", name}, {"keeps_awake", {{{"client", "10.1.2.3"}}}}};
  }

  ApiResult<Json> history(const std::string& name, TimePoint) override {
    if (name != "app") return no_such_service(name, {"app"});
    return services();
  }

  ApiResult<std::string> logs(const std::string& name, const LogQuery& query) override {
    if (name != "app") return no_such_service(name, {"app"});
    asked_logs = query;
    return std::string{"app-00001-1 | before\n"};
  }

  ApiResult<Json> wake(const std::string& name) override { return status(name); }

  ApiResult<Json> sleep(const std::string& name) override { return status(name); }

  ApiResult<Json> scale(const std::string& name, const ScaleBounds& bounds) override {
    asked_bounds = bounds;
    return status(name);
  }

  Json info() override { return {{"version", "1"}}; }

  bool ready() override { return is_ready; }

  std::string metrics_text() override { return "up 1\n"; }

  void begin_shutdown(std::function<void(const ShutdownResult&)> done) override {
    shutdown_done = std::move(done);
  }

  EventRing& events() override { return ring; }

  Json told = Json::object();  ///< what the status of a service has besides its name
  int service_count = 1;
  bool is_ready = true;
  std::vector<std::string> calls;
  std::optional<TimePoint> explained_at;
  LogQuery asked_logs;
  ScaleBounds asked_bounds;
  std::function<void(const ShutdownResult&)> shutdown_done;
  EventRing ring{4};

 private:
  ApiResult<Json> status(const std::string& name) const {
    if (name != "app") return no_such_service(name, {"app"});
    Json status = told;
    status["name"] = name;
    return status;
  }
};

}  // namespace sluice::local
