#pragma once

#include "autoscaler/io/services_api.h"
#include "common/api/event_ring.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// An engine with the one service "app", which remembers what it was asked.
class FakeServices final : public ServicesApi, public MachineApi {
 public:
  using Json = nlohmann::json;

  std::size_t service_count() override { return static_cast<std::size_t>(count); }

  std::vector<RevisionId> listed(std::size_t begin, std::size_t end) override {
    std::vector<RevisionId> all;
    for (std::size_t i = begin; i < end; ++i) all.push_back({"default", "app" + std::to_string(i)});
    return all;
  }

  Json status_of(const RevisionId& revision) override {
    ++statuses;
    Json status = told;
    status["name"] = revision.name;
    return status;
  }

  ApiResult<Json> service(const ServiceName& name) override { return status(name); }

  ApiResult<std::string> spec_yaml(const std::string& name, Values values) override {
    if (name != "app") return missing(name);
    return std::string{values == Values::shown ? "kind: Service\nvalues\n" : "kind: Service\n"};
  }

  void apply(const std::string& yaml, const ApplyMode& mode, AppliedDone done) override {
    calls.push_back((mode.dry_run ? "plan " : mode.write ? "write " : "apply ") + yaml);
    if (yaml == "bad") return done(invalid_document("no kind", "write kind: Service"));
    done(Json{{"items", {{{"service", "app"}, {"result", "configured"}}}}});
  }

  ApiResult<MachineSession> begin_session(const Json& asked) override {
    if (!asked.contains("spec")) return invalid_document("no spec", "send one");
    return MachineSession{.answer = R"({"engine":"fake"})",
                          .covers = [](const std::string& service) { return service == "app"; },
                          .hold = asked.contains("detach") ? nullptr : session};
  }

  ApiResult<Json> revisions(const std::string& name) override {
    if (name != "app") return missing(name);
    return Json::array({{{"revision", "app-00001"}, {"percent", 100}}});
  }

  ApiResult<Json> set_traffic(const std::string& name, const Json& change, bool write) override {
    calls.push_back((write ? "write traffic " : "traffic ") + change.dump());
    return revisions(name);
  }

  ApiResult<Json> check_policies(const std::string& yaml) override {
    if (yaml == "bad") return invalid_document("unknown algorithm", "write another");
    return Json{{"policies", Json::array()}};
  }

  ApiResult<Json> remove(const std::string& name) override { return status({"default", name}); }

  ApiResult<Json> explain(const ServiceName& name, std::optional<TimePoint> at) override {
    explained_at = at;
    if (name.name != "app") return missing(name.name);
    return Json{{"name", name.name}, {"keeps_awake", {{{"client", "10.1.2.3"}}}}};
  }

  ApiResult<std::unique_ptr<KeptRecords>> history(const ServiceName& name, TimePoint) override {
    if (name.name != "app") return missing(name.name);
    return std::unique_ptr<KeptRecords>{std::make_unique<Decisions>(decided)};
  }

  ApiResult<http::AnswerParts> recording(const ServiceName& name, TimePoint since) override {
    recorded_since = since;
    if (name.name != "app") return missing(name.name);
    return http::AnswerParts{[lines = 0](std::string& body) mutable {
      if (lines++ > 0) return false;
      body += "{\"format\":\"sluice-recording/1\"}\n";
      return true;
    }};
  }

  Json not_kept(const ServiceName& /*name*/, TimePoint /*since*/) override { return lost; }

  ApiResult<ServiceLines> logs(const std::string& name, const LogQuery& query) override {
    if (name != "app") return missing(name);
    asked_logs = query;
    return ServiceLines{"app-00001-1 | before\n", name, {}};
  }

  ApiResult<Json> wake(const ServiceName& name) override { return status(name); }

  ApiResult<Json> sleep(const ServiceName& name) override { return status(name); }

  ApiResult<Json> scale(const ServiceName& name, const ScaleBounds& bounds) override {
    asked_bounds = bounds;
    return status(name);
  }

  Json version() override { return {{"version", "1"}}; }

  Json nodes() override { return {}; }

  Json places() override { return Json::array(); }

  Json moves() override { return Json::array(); }

  ApiResult<Json> move(const ServiceName& name, const std::string& to) override {
    return Json{{"service", name.name}, {"to", to}};
  }

  ApiResult<Json> drain(const std::string& place, bool /*drain*/) override {
    return Json{{"name", place}};
  }

  Json config() override { return {}; }

  bool ready() override { return is_ready; }

  std::string metrics_text() override { return "up 1\n"; }

  void begin_shutdown(std::function<void(const ShutdownResult&)> done) override {
    shutdown_done = std::move(done);
  }

  api::EventRing& events() override { return ring; }

  Json told = Json::object();  ///< what the status of a service has besides its name
  int count = 1;
  int statuses = 0;         ///< of lists, made so far
  std::size_t decided = 1;  ///< decisions of its history
  bool is_ready = true;
  std::vector<std::string> calls;
  std::optional<TimePoint> explained_at;
  std::optional<TimePoint> recorded_since;
  LogQuery asked_logs;
  Json lost = Json::array();
  ScaleBounds asked_bounds;
  std::function<void(const ShutdownResult&)> shutdown_done;
  api::EventRing ring{4};
  std::shared_ptr<int> session = std::make_shared<int>(0);  ///< held by sessions that have an end

 private:
  // {"n":0} and so on; it takes some calls to find them.
  class Decisions final : public KeptRecords {
   public:
    explicit Decisions(std::size_t count) : count_{count} {}

    bool find() override { return ++calls_ < 3; }

    [[nodiscard]] std::size_t count() const override { return calls_ < 3 ? 0 : count_; }

    void write(std::string& out, std::size_t place) override { out += Json{{"n", place}}.dump(); }

   private:
    std::size_t count_;
    int calls_ = 0;
  };

  static http::ApiProblem missing(const std::string& name) {
    return {404, "no-such-service", "No such service", "no service is named " + name,
            "services here: app"};
  }

  ApiResult<Json> status(const ServiceName& name) const {
    if (name.space != "default" || name.name != "app") return missing(name.name);
    Json status = told;
    status["name"] = name.name;
    return status;
  }
};

}  // namespace sluice::autoscaler
