#pragma once

#include "autoscaler/placement/core/placement.h"
#include "common/loop/manual_loop.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platform/process/process_platform.h"
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::local {

inline constexpr const char* kMinScale = "autoscaling.knative.dev/min-scale";

/// A replica without processes: the test decides what becomes of it.
class FakeReplica final : public Replica {
 public:
  using All = std::map<std::string, FakeReplica*>;

  /// Stands in `all` as long as it exists.
  FakeReplica(ReplicaOwner& owner, ReplicaPlan made_of, All& all)
      : plan{std::move(made_of)}, owner_{owner}, all_{all} {
    all_[plan.id] = this;
  }

  ~FakeReplica() override { all_.erase(plan.id); }

  FakeReplica(const FakeReplica&) = delete;
  FakeReplica& operator=(const FakeReplica&) = delete;

  /// Its program runs at once.
  void start() override {
    ++started;
    owner_.on_launched(*this);
  }

  void stop() override { ++stopped; }

  void kill() override { ++killed; }

  void hold(bool wanted) override { held = wanted; }

  [[nodiscard]] const std::string& id() const override { return plan.id; }

  [[nodiscard]] std::uint16_t port() const override { return 20000; }

  [[nodiscard]] pid_t app_pid() const override { return started > 0 ? 1 : -1; }

  [[nodiscard]] pid_t sidecar_pid() const override { return -1; }

  [[nodiscard]] const ReplicaTimes& times() const override { return times_; }

  [[nodiscard]] std::filesystem::path serving_socket() const override {
    return "/run/" + plan.id + "/http";
  }

  [[nodiscard]] std::filesystem::path stats_socket() const override {
    return "/run/" + plan.id + "/stats";
  }

  [[nodiscard]] Cause waits_for() const override { return waiting; }

  [[nodiscard]] std::int64_t memory_bytes() const override { return 0; }

  void becomes_ready() { owner_.on_ready(*this); }

  /// It is not ready, which is worth a line.
  void waits(const Cause& cause) { owner_.on_waiting(*this, cause); }

  /// It has settled on another port.
  void settles(const Cause& cause) { owner_.on_settled_elsewhere(*this, cause); }

  /// It ends before it was ready; not gone yet.
  void fails() { owner_.on_start_failed(*this, end("exit status 3")); }

  /// Another program has taken its port; not gone yet.
  void loses_its_port() {
    ReplicaEnd lost = end("port 20000 is held by nc (pid 7)");
    lost.cause.kind = CauseKind::port_taken;
    owner_.on_start_failed(*this, lost);
  }

  /// It ends by itself after it was ready; not gone yet.
  void exits() { owner_.on_exited_after_ready(*this, end("exit status 1")); }

  /// No process of it is left. This ends it.
  void is_gone() { owner_.on_stopped(*this); }

  ReplicaPlan plan;
  Cause waiting{.what = "still starting"};
  int started = 0;
  int stopped = 0;
  int killed = 0;
  bool held = false;

 private:
  [[nodiscard]] static ReplicaEnd end(const std::string& reason) {
    ReplicaEnd end;
    end.cause = {.kind = CauseKind::exited, .what = reason};
    return end;
  }

  ReplicaOwner& owner_;
  All& all_;
  ReplicaTimes times_;
};

/// Requests as the test sets them.
class FakeRequests final : public RequestsNow {
 public:
  [[nodiscard]] std::int64_t on_pod(const RevisionId& /*revision*/,
                                    const PodId& pod) const override {
    const auto found = on_pods.find(pod.name);
    return found == on_pods.end() ? 0 : found->second;
  }

  [[nodiscard]] std::uint64_t sent_to(const RevisionId& /*revision*/,
                                      const PodId& /*pod*/) const override {
    return sent;
  }

  [[nodiscard]] std::int64_t waiting(const RevisionId& revision) const override {
    const auto found = held.find(revision.name);
    return found == held.end() ? 0 : found->second;
  }

  void hold(const net::Address& address, bool held_now) override {
    if (held_now) announced.insert(address.text());
    if (!held_now) announced.erase(address.text());
  }

  std::uint64_t sent = 0;
  std::map<std::string, std::int64_t> on_pods;
  std::map<std::string, std::int64_t> held;
  std::set<std::string> announced;  // pods before whose next request a word comes
};

/// What the platform has said, the newest of each revision.
class Recorder final : public model::Listener {
 public:
  void on_revision(model::Revision revision) override {
    diary.push_back(revision.id.name);
    revisions[revision.id.name] = revision;
    if (next != nullptr) next->on_revision(std::move(revision));
  }

  void on_revision_gone(const RevisionId& revision) override {
    diary.push_back(revision.name + " gone");
    revisions.erase(revision.name);
    if (next != nullptr) next->on_revision_gone(revision);
  }

  [[nodiscard]] std::optional<Problem> on_config(const model::StringMap& config) override {
    return next == nullptr ? std::nullopt : next->on_config(config);
  }

  std::map<std::string, model::Revision> revisions;
  std::vector<std::string> diary;
  model::Listener* next = nullptr;
};

/// A platform of processes in virtual time, with replicas that the test controls.
class ProcessStage : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(platform_.open(listener_, loop_.now(), [](const std::optional<Problem>&) {}));
  }

  [[nodiscard]] static ServiceSpec spec(const std::string& name = "app") {
    ServiceSpec spec;
    spec.name = name;
    spec.command = {"/bin/sh"};
    spec.working_dir = "/";
    spec.template_annotations["autoscaling.knative.dev/initial-scale"] = "0";
    return spec;
  }

  /// Another template of the same service.
  [[nodiscard]] static ServiceSpec changed(const std::string& argument) {
    ServiceSpec other = spec();
    other.args = {argument};
    return other;
  }

  void put(const ServiceSpec& spec) {
    const auto done = platform_.put(spec);
    ASSERT_TRUE(done) << done.error().what;
  }

  void order(const std::string& revision, std::int32_t replicas, std::vector<PodId> remove = {}) {
    platform_.apply({"default", revision}, {.replicas = replicas, .remove = std::move(remove)});
  }

  /// What placement answers to a demand of the revision.
  placement::Grant ask(const std::string& revision, std::int32_t wanted) {
    const ProcessRevision* const found = platform_.revision({"default", revision});
    std::vector<placement::ReplicaAt> replicas;
    const model::Revision model = found->model();
    for (const model::Pod& pod : model.pods) replicas.push_back({.leaving = pod.terminating});
    return placement_.ask(found->id(),
                          {.wanted = wanted, .replicas = replicas, .now = loop_.now()});
  }

  /// As many replicas as are granted of those wanted.
  void scale(const std::string& revision, std::int32_t wanted) {
    order(revision, ask(revision, wanted).replicas);
  }

  /// What was posted runs, and what that posts.
  void turn() { time_.run_for(Duration{0}); }

  /// Of those that exist.
  [[nodiscard]] FakeReplica& replica(const std::string& id) {
    const auto found = replicas_.find(id);
    if (found == replicas_.end()) throw std::out_of_range{"no replica " + id};
    return *found->second;
  }

  /// `ids` are started, and ready one after the other.
  void ready(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) replica(id).becomes_ready();
    turn();
  }

  /// The service is there, and its first replica is ready.
  void serve_by_one() {
    put(spec());
    order("app-00001", 1);
    ready({"app-00001-1"});
  }

  /// The ids of all replicas that exist.
  [[nodiscard]] std::string there() const {
    std::string all;
    for (const auto& [id, each] : replicas_) all += (all.empty() ? "" : " ") + id;
    return all;
  }

  /// How many of a type were published.
  [[nodiscard]] std::size_t events(const std::string& type) const {
    return ring_.after(0, {.types = {type}}).events.size();
  }

  /// What the platform reports of a revision: `serves 1 ready 2 starting 0 leaving`.
  [[nodiscard]] std::string said(const std::string& revision) const {
    const auto found = listener_.revisions.find(revision);
    if (found == listener_.revisions.end()) return "unknown";
    const model::Revision& model = found->second;
    int ready = 0;
    int starting = 0;
    int leaving = 0;
    for (const model::Pod& pod : model.pods) {
      ++(pod.terminating ? leaving : pod.ready ? ready : starting);
    }
    return fmt::format("{} {} ready {} starting {} leaving",
                       model.retired      ? "retired"
                       : model.in_service ? "serves"
                                          : "waits",
                       ready, starting, leaving);
  }

  /// The pods of old revisions that share the requests of the one that serves app.
  [[nodiscard]] std::string shared() const {
    std::string all;
    for (const auto& [name, model] : listener_.revisions) {
      for (const model::Pod& pod : model.shared) all += (all.empty() ? "" : " ") + pod.id.name;
    }
    return all;
  }

  /// The revisions of app that are not ready: `app-00002 starting: it listens on 8000`.
  [[nodiscard]] std::string amiss() const {
    std::string all;
    for (const NotReady& one : platform_.find("app")->not_ready()) {
      all += fmt::format("{}{} {}: {}", all.empty() ? "" : ", ", one.revision, one.state,
                         one.cause.sentence());
    }
    return all;
  }

  /// Fails the one replica of a revision, all of it, `times` in a row, each when its wait is over.
  void fail_start(const std::string& revision, int times) {
    for (int i = 0; i < times; ++i) {
      if (i > 0) time_.run_for(std::chrono::seconds{30});
      FakeReplica& only = replica(revision + "-1");
      only.fails();
      only.is_gone();
      turn();
    }
  }

  ManualTime time_;
  ManualLoop loop_{time_};
  TemporaryDirectory directory_;
  EngineSettings settings_;
  log::Logger log_{"test", log::Severity::error};
  CgroupTree cgroups_;
  MemoryPressure memory_{loop_, log_, cgroups_};  // not opened: every replica may start
  FakeRequests requests_;
  api::EventRing ring_;
  ReplicaEvents events_{ring_, loop_};
  FakeReplica::All replicas_;
  std::optional<Problem> refusal_;  // the next replicas cannot be made
  ProcessMeans means_{
      .loop = loop_,
      .settings = settings_,
      .memory = memory_,
      .requests = requests_,
      .events = events_,
      .log = log_,
      .make = [this](ReplicaOwner& owner,
                     ReplicaPlan plan) -> Result<std::unique_ptr<Replica>, Problem> {
        if (refusal_) return *refusal_;
        return std::unique_ptr<Replica>{
            std::make_unique<FakeReplica>(owner, std::move(plan), replicas_)};
      },
      .pace = StartPace{3}};
  autoscaler::ClusterConfig cluster_ = [] {
    autoscaler::ClusterConfig config;
    config.allow_zero_initial_scale = true;
    return config;
  }();
  Recorder listener_;
  ProcessPlatform platform_{means_, cluster_, directory_.path()};
  placement::Placement placement_{platform_.site()};
};

}  // namespace sluice::local
