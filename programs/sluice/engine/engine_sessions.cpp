// What a further `sluice up` adds to an engine that runs (one-machine.md 1), and takes along when
// it ends.

#include "common/base/version.h"
#include "common/json/read.h"
#include "common/json/write.h"
#include "common/values/dns_label.h"

#include <nlohmann/json.hpp>

#include "platform/process/engine_host.h"
#include "programs/sluice/engine/engine.h"
#include <algorithm>
#include <unistd.h>

namespace sluice::local {
using nlohmann::json;

namespace {

constexpr std::size_t kFilesMax = 1000;
constexpr std::size_t kLabelMax = 63;

ApiProblem refused(const RefusedFile& files) {
  return autoscaler::invalid_document(files.text(), "");
}

}  // namespace

// What a start would have set, and this engine's was another.
std::optional<ApiProblem> Engine::unlike(const json& start) const {
  const auto other = [this](const std::string& has, const std::string& flag) {
    return ApiProblem{400, "other-start", "Another start", "engine " + setup_.name + " " + has,
                      "leave out " + flag + ", or start another engine: --engine NAME"};
  };
  if (const std::string http = reading::text(start, "http"); !http.empty()) {
    const auto wanted = net::parse_address(http);
    if (!wanted || wanted->text() != door_.text()) {
      return other("has its front door at " + door_.text() + ", not at " + http, "--http");
    }
  }
  const std::string tls = reading::text(start, "tls");
  if (!tls.empty() && !setup_.tls) return other("has a front door without TLS", "--tls");
  if (!tls.empty() && setup_.tls->certificate != tls) {
    return other("shows the certificate " + setup_.tls->certificate, "--tls");
  }
  const std::string config = reading::text(start, "config");
  if (!config.empty() && config != setup_.config) {
    return other(setup_.config.empty() ? "runs without a settings file"
                                       : "runs with the settings of " + setup_.config,
                 "--config");
  }
  if (reading::flag(start, "allow_edit") && !setup_.rules.allow_edit) {
    return other("was started without --allow-edit", "--allow-edit");
  }
  if (!reading::text(start, "log_level").empty()) {
    return other("has the log level of its start", "--log-level");
  }
  return std::nullopt;
}

bool Engine::is_taken(const std::string& name) const {
  return name == kReservedService || find(name) != nullptr || kept_.brought_by(name) ||
         sources_->file_of(name) != nullptr;
}

// `app`, else the program's name, else that with the first number that is free.
std::string Engine::free_name(const std::string& base) const {
  for (const std::string& name : {std::string{"app"}, base}) {
    if (!is_taken(name)) return name;
  }
  for (std::size_t number = 2;; ++number) {  // as many as there are services at most
    const std::string suffix = "-" + std::to_string(number);
    std::string name = base.substr(0, kLabelMax - suffix.size()) + suffix;
    if (!is_taken(name)) return name;
  }
}

std::optional<ApiProblem> Engine::add_command(const json& asked, UpSession& session) {
  auto parsed = parse_services(reading::text(asked, "spec"), "the document",
                               std::filesystem::current_path(), setup_.settings.defaults);
  if (!parsed) return refused(parsed.error());
  if (parsed->services.size() != 1) {
    return autoscaler::invalid_document("a session adds one service", "send one document");
  }
  ServiceSpec spec = std::move(parsed->services.front());
  complete_command(spec, reading::flag(asked, "limit_given"), setup_.settings);
  if (const std::string base = reading::text(asked, "base"); is_dns_label(base)) {
    spec.name = free_name(base);
  } else if (is_taken(spec.name)) {
    return ApiProblem{409, "name-taken", "The name is taken",
                      "service " + spec.name + " is in engine " + setup_.name + " already",
                      "give another --name, or remove it first: sluice delete " + spec.name};
  }
  if (auto environment = reading::strings(asked, "environment"); !environment.empty()) {
    session_environments_[spec.name] = std::move(environment);
  }
  const BroughtBy by = reading::flag(asked, "detach") ? BroughtBy::apply : BroughtBy::command;
  if (const auto result = put_and_keep(spec, by); !result) {
    session_environments_.erase(spec.name);
    return result.error();
  }
  session.services.insert(spec.name);
  session.warnings = std::move(parsed->warnings);
  return std::nullopt;
}

std::optional<ApiProblem> Engine::add_files(const json& asked, UpSession& session) {
  const auto files = reading::strings(asked, "files");
  if (files.empty() || files.size() + sources_->files().size() > kFilesMax) {
    return autoscaler::invalid_document("a session has a spec or 1 to 1000 files", "send one");
  }
  for (const std::string& file : files) {
    const auto& watched = sources_->files();
    const bool there = std::any_of(watched.begin(), watched.end(), [&](const std::string& each) {
      return each == file || (each != "-" && std::filesystem::absolute(each) == file);
    });
    if (!there) continue;
    return ApiProblem{409, "file-watched", "The file is watched already",
                      "engine " + setup_.name + " watches " + file + " already",
                      "edit the file: its changes take effect within a second"};
  }
  const auto before = sources_->owners();
  for (const std::string& file : files) sources_->watch(file);
  RefusedFile wrong;
  if (auto reading = sources_->read(); !reading) {
    wrong = reading.error();
  } else {
    wrong.problems = take(*reading);
    for (const auto& [name, file] : reading->files) {
      if (!before.contains(name)) session.services.insert(name);
    }
    session.warnings = std::move(reading->warnings);
  }
  if (wrong.problems.empty()) {
    session.files = files;
    setup_.start.files.insert(setup_.start.files.end(), files.begin(), files.end());
    keep_start();
    return std::nullopt;
  }
  for (const std::string& file : files) sources_->unwatch(file);
  reload(true);
  return refused(wrong);
}

json Engine::service_facts(const ProcessService& service) const {
  const std::string& name = service.spec.name;
  json facts = {{"name", name},
                {"url", url_of(name + ".localhost")},
                {"revision", service.newest().name()},
                {"h2c", service.spec.h2c}};
  if (const auto scaling = platform_.check(service.spec)) {
    facts["min"] = scaling->bounds.min;
    facts["max"] = scaling->bounds.max;
    facts["target"] = scaling->decider.total_value;
    facts["utilization"] = scaling->decider.target_value / scaling->decider.total_value;
    facts["metric"] =
        scaling->decider.metric == autoscaler::ScalingMetric::rps ? "rps" : "concurrency";
  }
  return facts;
}

json Engine::session_answer(const std::set<std::string>& names,
                            const std::vector<std::string>& warnings) const {
  json services = json::array();
  for (const std::string& name : names) {
    if (const ProcessService* const service = find(name)) {
      services.push_back(service_facts(*service));
    }
  }
  return {{"engine", setup_.name}, {"version", std::string{kVersion}},
          {"http", door_.text()},  {"certificate", certificate()},
          {"pid", ::getpid()},     {"services", std::move(services)},
          {"warnings", warnings}};
}

ApiResult<autoscaler::MachineSession> Engine::begin_session(const json& asked) {
  if (closing_) {
    return ApiProblem{503, "stopping", "the engine stops", "the engine is stopping", ""};
  }
  if (auto problem = unlike(reading::member(asked, "start"))) return *problem;
  UpSession session;
  const bool command = !reading::text(asked, "spec").empty();
  if (auto problem = command ? add_command(asked, session) : add_files(asked, session)) {
    return *problem;
  }
  session.shown = session.services;
  autoscaler::MachineSession begun;
  begun.answer = json_line(session_answer(session.services, session.warnings));
  if (reading::flag(asked, "detach")) return begun;
  const std::uint64_t id = ++last_session_;
  sessions_.emplace(id, std::move(session));
  begun.covers = [this, alive = alive_.watch(), id](const std::string& service) {
    if (alive.over()) return false;
    const auto found = sessions_.find(id);
    return found != sessions_.end() && found->second.shown.contains(service);
  };
  begun.hold = std::shared_ptr<void>(this, [this, alive = alive_.watch(), id](void*) {
    if (!alive.over()) end_session(id);
  });
  return begun;
}

// When the engine ends, its sessions end with it, and what they added is there for the next start.
void Engine::end_session(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || closing_) return;
  const UpSession session = std::move(found->second);
  sessions_.erase(found);
  if (session.files.empty()) {
    for (const std::string& name : session.services) {
      kept_.forget(name);
      drop(name);
    }
    return;
  }
  for (const std::string& file : session.files) {
    sources_->unwatch(file);
    std::erase(setup_.start.files, file);
  }
  keep_start();
  reload(true);
}

}  // namespace sluice::local
