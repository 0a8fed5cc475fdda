#include "programs/sluice/commands/up_session.h"

#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include "platform/process/child.h"
#include "programs/sluice/commands/await_ready.h"
#include "programs/sluice/commands/up.h"
#include "programs/sluice/commands/up_target.h"
#include "programs/sluice/view/banner.h"
#include "programs/sluice/view/event_printer.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <poll.h>
#include <set>
#include <unistd.h>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr int kStopping = 503;
constexpr Duration kRemovalPatience = std::chrono::seconds{5};
constexpr int kRemovalLookMilliseconds = 10;

// What belongs to the start of an engine, where it was given: the one that runs must have the same.
json start_flags(const UpOptions& options) {
  json flags = json::object();
  if (options.http_given) flags["http"] = options.http;
  if (options.tls) flags["tls"] = options.tls->first;
  if (!options.config_file.empty()) {
    flags["config"] = std::filesystem::absolute(options.config_file).lexically_normal().string();
  }
  if (options.allow_edit) flags["allow_edit"] = true;
  if (!options.log_level.empty()) flags["log_level"] = options.log_level;
  return flags;
}

// Of an image without its tag.
std::string program_name(const UpOptions& options, const local::ServiceSpec& spec) {
  if (options.demo) return "demo";
  if (spec.image.empty()) return spec.command.front();
  const std::string name = spec.image.substr(spec.image.find_last_of('/') + 1);
  return name.substr(0, name.find_first_of(":@"));
}

// The program is found with this terminal's PATH and runs with its environment.
Result<json, Failure> command_request(const UpOptions& options) {
  local::ServiceSpec spec = command_service(options);
  const std::string program = program_name(options, spec);
  if (spec.image.empty()) {
    const char* const search = std::getenv("PATH");
    auto found = local::find_program(spec.command.front(), search == nullptr ? "" : search,
                                     spec.working_dir);
    if (!found) return Failure{kExitConfig, found.error().text()};
    spec.command.front() = found->string();
  }
  json request = {{"spec", local::to_yaml(spec)}, {"environment", local::own_environment()}};
  if (options.concurrency) request["limit_given"] = true;
  if (!options.name_given) request["base"] = label_of(program);
  return {boost::system::in_place_value, std::move(request)};
}

Result<json, Failure> request_of(const UpOptions& options) {
  if (options.files.empty()) return command_request(options);
  json files = json::array();
  for (const std::string& file : options.files) {
    if (file == "-") {
      return Failure{kExitUsage,
                     "-f -: an engine that runs cannot watch standard input; save it to a file, or "
                     "add it once: sluice apply -f -"};
    }
    const auto path = std::filesystem::absolute(file).lexically_normal();
    files.push_back((path.has_filename() ? path : path.parent_path()).string());  // DIR for DIR/
  }
  return {boost::system::in_place_value, json{{"files", std::move(files)}}};
}

std::string banner_of(const json& answer, std::int64_t ready_ms) {
  view::BannerFacts facts;
  facts.version = reading::text(answer, "version");
  facts.engine = reading::text(answer, "engine");
  facts.ready_ms = ready_ms;
  facts.certificate = reading::text(answer, "certificate");
  for (const json& service : reading::array(answer, "services")) {
    facts.services.push_back(view::banner_service(service));
  }
  facts.notes.push_back("added to engine " + facts.engine + ", which was running already");
  return view::banner_text(facts);
}

// The lines of a session, as they come.
class SessionOutput {
 public:
  SessionOutput(const Surroundings& with, const UpOptions& options)
      : with_{with},
        options_{options},
        begun_{with.clock.now()},
        printer_{
            options.output == OutputFormat::json ? view::PrintMode::json : view::PrintMode::plain,
            [&with](std::string_view text) { with.out << text << std::flush; }} {}

  // False: there is nothing left to show.
  bool take(std::string_view bytes) {
    rest_ += bytes;
    for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
      const json line = reading::parsed(std::string_view{rest_}.substr(0, end));
      rest_.erase(0, end + 1);
      if (!line.is_object()) continue;
      if (!answered_) {
        first(line);
      } else {
        event(line);
      }
    }
    return with_.out.good() && !removed();
  }

  void first(const json& answer) {
    answered_ = true;
    engine_ = reading::text(answer, "engine");
    for (const json& service : reading::array(answer, "services")) {
      left_.insert(reading::text(service, "name"));
    }
    if (options_.output == OutputFormat::json) {
      json event = answer;
      event["type"] = "engine";
      event["event"] = "joined";
      with_.out << json_line(event) << "\n" << std::flush;
    } else {
      const Duration waited = with_.clock.now() - begun_;
      with_.out << banner_of(answer,
                             std::chrono::duration_cast<std::chrono::milliseconds>(waited).count())
                << std::flush;
    }
    for (const std::string& warning : reading::strings(answer, "warnings")) {
      with_.err << "warning: " << warning << "\n";
    }
  }

  [[nodiscard]] bool answered() const { return answered_; }

  // Files are watched although no service stands in them.
  [[nodiscard]] bool removed() const {
    return answered_ && left_.empty() && options_.files.empty();
  }

  // Whether the engine has announced its end.
  [[nodiscard]] bool stopping() const { return stopping_; }

  [[nodiscard]] const std::string& engine() const { return engine_; }

  [[nodiscard]] std::string services() const {
    std::string list;
    for (const std::string& name : left_) list += (list.empty() ? "" : ", ") + name;
    if (left_.empty()) return "no service";
    return (left_.size() == 1 ? "service " : "services ") + list;
  }

  [[nodiscard]] const std::set<std::string>& left() const { return left_; }

 private:
  void event(const json& event) {
    const std::string type = reading::text(event, "type");
    if (type == "engine") {
      stopping_ = stopping_ || reading::text(event, "event") == "stopping";
      if (options_.output != OutputFormat::json) return;
    }
    printer_.on_event(event);
    if (type != "service" && type != "warning" && type != "error") return;
    const std::string name = reading::text(event, event.contains("service") ? "service" : "name");
    const std::string what = reading::text(event, "event");
    if (type == "service" && what == "added") left_.insert(name);
    if (type == "service" && what == "removed") left_.erase(name);
  }

  const Surroundings& with_;
  const UpOptions& options_;
  TimePoint begun_;
  view::EventPrinter printer_;
  std::string rest_;
  std::string engine_;
  std::set<std::string> left_;
  bool answered_ = false;
  bool stopping_ = false;
};

// The engine removes what the session has added as soon as its connection is gone.
void wait_until_removed(const Surroundings& with, const ApiPlace& engine,
                        const std::set<std::string>& services) {
  const TimePoint deadline = with.clock.now() + kRemovalPatience;
  for (const std::string& name : services) {
    const FoundService service{.engine = engine, .service = name};
    while (with.clock.now() < deadline) {
      const auto reply = ApiClient(engine).send({.target = service.path()});
      if (!reply || reply->status == 404) break;
      ::poll(nullptr, 0, kRemovalLookMilliseconds);
    }
  }
}

int add_detached(const Surroundings& with, const UpOptions& options, const ApiPlace& engine,
                 const ApiCall& call) {
  SessionOutput output{with, options};
  const auto reply = ApiClient(engine).send(call);
  if (!reply || reply->status == kStopping) return kNameHeld;
  if (reply->status != 200) return report(with, failure_of(*reply));
  output.first(reading::parsed(reply->body));
  if (output.left().empty()) return kExitOk;
  const int code = await_ready(
      with, engine, {.services = output.left(), .count = options.output != OutputFormat::json});
  if (code == kExitNotReady) {
    with.err << "what was added stays in engine " << output.engine() << "\n";
  }
  return code;
}

int follow(const Surroundings& with, const UpOptions& options, const ApiPlace& engine,
           const ApiCall& call) {
  SessionOutput output{with, options};
  int signalled = 0;
  const auto ended = ApiClient(engine).hold(
      call, [&output](std::string_view bytes) { return output.take(bytes); },
      [&signalled](int number) { signalled = number; });
  if (!output.answered()) {
    if (signalled != 0) return 128 + signalled;
    if (!ended || ended->status == kStopping) return kNameHeld;
    return report(with, failure_of(*ended));
  }
  if (output.removed()) return kExitOk;
  if (signalled != 0) {
    wait_until_removed(with, engine, output.left());
    with.out << output.services() << " removed; engine " << output.engine() << " keeps running\n";
    return kExitOk;
  }
  with.err << "engine " << output.engine() << " has ended, and " << output.services()
           << " with it\n";
  return output.stopping() ? kExitOk : kExitUnavailable;
}

}  // namespace

int run_session(const Surroundings& with, const UpOptions& options, const ApiPlace& engine) {
  auto request = request_of(options);
  if (!request) return report(with, request.error());
  (*request)["start"] = start_flags(options);
  if (options.detach) (*request)["detach"] = true;
  const ApiCall call{.method = "POST",
                     .target = "/api/v1/sessions",
                     .body = json_line(*request),
                     .timeout = std::chrono::seconds{60}};
  return options.detach ? add_detached(with, options, engine, call)
                        : follow(with, options, engine, call);
}

}  // namespace sluice::commands
