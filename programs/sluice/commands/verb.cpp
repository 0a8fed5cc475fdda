#include "programs/sluice/commands/verb.h"

#include "common/base/clean_text.h"
#include "common/base/names_text.h"
#include "common/base/version.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/values/dns_label.h"

#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "platform/process/traffic.h"
#include <algorithm>
#include <charconv>
#include <ostream>
#include <utility>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr int kPagesMax = 1000;
// A line beside the answer, which must not keep it.
constexpr Duration kVersionPatience = std::chrono::seconds{1};

// The next number of a version, which is taken from its front; what is no number counts as 0.
int take_number(std::string_view& version) {
  int number = 0;
  const auto read = std::from_chars(version.data(), version.data() + version.size(), number);
  version.remove_prefix(static_cast<std::size_t>(read.ptr - version.data()));
  if (!version.empty()) version.remove_prefix(1);
  return number;
}

bool is_older(std::string_view version, std::string_view than) {
  while (!version.empty() || !than.empty()) {
    const int one = take_number(version);
    const int other = take_number(than);
    if (one != other) return one < other;
  }
  return false;
}

Failure no_engine() {
  return {kExitUnavailable, "no engine is running; start one: sluice up -- COMMAND"};
}

std::string names_of(const std::vector<ApiPlace>& engines) {
  std::string list;
  for (const ApiPlace& engine : engines) {
    list += (list.empty() ? "" : ", ") + engine.name;
  }
  return list;
}

}  // namespace

int report(const Surroundings& with, const Failure& failure) {
  std::string_view rest = failure.text;
  while (true) {
    const std::size_t end = rest.find('\n');
    with.err << clean_text(rest.substr(0, end)) << "\n";
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return failure.exit_code;
}

std::vector<ApiPlace> places(const Surroundings& with) {
  if (with.server) return {*with.server};
  std::vector<ApiPlace> found;
  for (const local::RunningEngine& engine : local::running_engines(with.roots.runtime)) {
    found.push_back(
        {.name = engine.name, .at = {.host = {}, .port = 0, .path = engine.api_socket.string()}});
  }
  return found;
}

namespace {

Result<ApiPlace, Failure> chosen_engine(const Surroundings& with, const std::string& given) {
  const std::string& name = given.empty() ? with.engine : given;
  auto engines = places(with);
  if (engines.empty()) {
    return no_engine();
  }
  if (name.empty() || with.server) {
    if (engines.size() == 1) {
      return std::move(engines.front());
    }
    return Failure{kExitUsage, "several engines are running: " + names_of(engines) +
                                   "; choose one with --engine NAME"};
  }
  for (ApiPlace& engine : engines) {
    if (engine.name == name) {
      return std::move(engine);
    }
  }
  return Failure{kExitUnavailable,
                 "no engine named " + name + " is running; running: " + names_of(engines)};
}

}  // namespace

Result<ApiPlace, Failure> find_engine(const Surroundings& with, const std::string& name) {
  auto engine = chosen_engine(with, name);
  if (engine) note_version(with, *engine);
  return engine;
}

json program_of(const ApiPlace& engine) {
  const auto body = fetch(engine, {.target = "/api/v1/version", .timeout = kVersionPatience});
  return body ? reading::parsed(*body) : json{};
}

void note_version(const Surroundings& with, const ApiPlace& engine) {
  if (!engine.is_server()) note_version(with, engine, program_of(engine));
}

void note_version(const Surroundings& with, const ApiPlace& engine, const json& program) {
  const std::string version = reading::text(program, "version");
  if (version.empty() || version == kVersion) return;
  with.err << "engine " << engine.name << " runs sluice " << version
           << (is_older(version, kVersion) ? ", older than this " : ", newer than this ")
           << kVersion << "; it becomes " << kVersion << " when it is stopped and started again\n";
}

std::string FoundService::path() const {
  return "/api/v1/services/" + url_encoded(space) + "/" + url_encoded(service);
}

std::string FoundService::title() const {
  return (owner.empty() ? "service " : "revision ") + service;
}

namespace {

// Why a verb does not take the revision that was found.
std::optional<Failure> refuse_revision(const FoundService& found, Finds finds) {
  const std::string& owner = found.owner;
  if (finds == Finds::services) {
    return Failure{kExitFailure,
                   found.service + " is a revision of service " + owner + "; name the service"};
  }
  const FoundService service{.engine = found.engine, .service = owner};
  const auto body = fetch(found.engine, {.target = service.path() + "/revisions?limit=1000"});
  if (!body) return body.error();
  const json page = reading::parsed(*body);
  const json& all = reading::array(page, "items");
  const auto known = std::find_if(all.begin(), all.end(), [&found](const json& each) {
    return reading::text(each, "revision") == found.service;
  });
  if (known == all.end()) {
    return Failure{kExitFailure, "service " + owner + " has no revision " + found.service +
                                     "; see: sluice revisions " + owner};
  }
  const std::string state = reading::text(*known, "state");
  if (finds == Finds::kept || (state != "kept" && state != "given_up")) return std::nullopt;
  return Failure{kExitFailure, "revision " + found.service + " of service " + owner +
                                   " does not run; give it requests: sluice traffic " + owner +
                                   " " + found.service + "=100"};
}

}  // namespace

Result<FoundService, Failure> find_service(const Surroundings& with, const std::string& name,
                                           Finds finds) {
  const std::size_t slash = name.find('/');
  const std::string wanted_engine = slash != std::string::npos ? name.substr(0, slash)
                                    : with.server              ? ""
                                                               : with.engine;
  const std::string wanted = slash == std::string::npos ? name : name.substr(slash + 1);
  if (with.server) {
    return FoundService{.engine = *with.server,
                        .service = wanted,
                        .space = wanted_engine.empty() ? "default" : wanted_engine};
  }
  const auto engines = places(with);
  if (engines.empty()) {
    return no_engine();
  }
  if (!wanted_engine.empty()) {
    if (const auto named = chosen_engine(with, wanted_engine); !named) {
      return named.error();
    }
  }
  std::vector<FoundService> found;
  std::vector<FoundService> revisions;
  NamesText known;
  std::string silent;
  for (const ApiPlace& engine : engines) {
    if (!wanted_engine.empty() && engine.name != wanted_engine) {
      continue;
    }
    const auto services = fetch_services(engine);
    if (!services) {
      silent = services.error().text;
      continue;
    }
    for (const json& service : *services) {
      const std::string here = reading::text(service, "name");
      known.add(engines.size() > 1 ? engine.name + "/" + here : here);
      // A revision with a row of its own is not its service.
      if (here == wanted && here != reading::text(service, "revision")) {
        found.push_back({.engine = engine, .service = here});
      } else if (local::revision_number(here, wanted) > 0) {
        revisions.push_back({.engine = engine, .service = wanted, .owner = here});
      }
    }
  }
  if (found.empty()) found = std::move(revisions);
  if (found.size() == 1) {
    note_version(with, found.front().engine);
    if (!found.front().owner.empty()) {
      if (auto refused = refuse_revision(found.front(), finds)) return std::move(*refused);
    }
    return std::move(found.front());
  }
  if (found.empty()) {
    const std::string whose =
        engines.size() == 1 ? " of engine " + engines.front().name + ": " : ": ";
    const std::string list = known.text();
    return Failure{kExitFailure, !silent.empty() ? silent
                                                 : "no service is named " + name + "; services" +
                                                       whose + (list.empty() ? "none" : list)};
  }
  std::string list;
  for (const FoundService& one : found) {
    list += (list.empty() ? "" : " or ") + one.engine.name + "/" + one.service;
  }
  return Failure{kExitUsage, "several engines have a " + found.front().title() +
                                 "; choose one with --engine NAME, or name it " + list};
}

std::optional<Failure> wrong_namespace(const std::string& name) {
  if (is_dns_label(name)) return std::nullopt;
  return Failure{kExitUsage, "--namespace: '" + name +
                                 "' is no name of a namespace; give lower-case letters, digits "
                                 "and -, with a letter or digit at both ends, 63 at most"};
}

Result<TimePoint, Failure> moment_of(const Surroundings& with, const char* flag,
                                     const std::string& text) {
  if (const auto moment = local::parse_moment(text, with.clock.now())) return *moment;
  return Failure{kExitUsage, std::string(flag) + ": " + text +
                                 " is neither an age such as 10m nor a time such as 14:03 or "
                                 "2026-11-20T14:03:12Z"};
}

int exit_code_of(int status) {
  if (status == 400) return kExitUsage;
  return status == 422 ? kExitConfig : kExitFailure;
}

Failure failure_of(const ApiReply& reply) {
  const json problem = reading::parsed(reply.body);
  std::string text = reading::text(problem, "detail");
  if (text.empty()) text = "the engine answered with status " + std::to_string(reply.status);
  const std::string fix = reading::text(problem, "fix");
  text += fix.empty() ? "" : "; " + fix;
  return {exit_code_of(reply.status), text};
}

Result<std::string, Failure> fetch(const ApiPlace& engine, const ApiCall& call) {
  auto reply = ApiClient(engine).send(call);
  if (!reply) {
    return Failure{kExitUnavailable, reply.error().text()};
  }
  if (reply->status < 200 || reply->status > 299) {
    return failure_of(*reply);
  }
  return std::move(reply->body);
}

Result<json, Failure> fetch_services(const ApiPlace& engine) {
  json all = json::array();
  std::string next;
  for (int page = 0; page < kPagesMax; ++page) {
    const std::string from = next.empty() ? "" : "&next=" + url_encoded(next);
    const auto body = fetch(engine, {.target = "/api/v1/services?limit=1000" + from});
    if (!body) {
      return body.error();
    }
    const json list = reading::parsed(*body);
    const json& items = reading::member(list, "items");
    if (!items.is_array()) {
      return Failure{kExitFailure,
                     "engine " + engine.name + " sent no list; use the same version of both"};
    }
    all.insert(all.end(), items.begin(), items.end());
    next = reading::text(list, "next");
    if (next.empty()) {
      break;
    }
  }
  return all;
}

}  // namespace sluice::commands
