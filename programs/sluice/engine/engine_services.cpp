// Which services an engine has, and who owns each: a watched file, or the state directory with what
// `apply` and commands brought (one-machine.md 7).

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/engine/engine.h"
#include <algorithm>
#include <utility>

namespace sluice::local {
namespace {

// Without traffic of their own each has two revisions that scale at most, so the scale loop has
// room for all of them.
static_assert(2 * KeptServices::kServicesMax <= autoscaler::MultiScaler::kRevisionsMax);

constexpr const char* kStandardInput = "-";

// As often as the history tries again.
constexpr Duration kKeepAgain = std::chrono::seconds{2};

bool is_within(const std::filesystem::path& file, const std::vector<std::string>& sources) {
  return std::any_of(sources.begin(), sources.end(), [&file](const std::string& source) {
    return file == source || file.parent_path() == source;
  });
}

// A host and path, and what has it: a service or one of its tags.
struct HostClaim {
  HostRule rule;
  std::string by;
};

std::vector<HostClaim> host_claims(const ServiceSpec& spec, const Traffic& traffic) {
  const std::string service = "service " + spec.name;
  std::vector<HostClaim> claims{
      {.rule = {.host = spec.name + ".localhost", .path_prefix = {}}, .by = service}};
  for (const HostRule& rule : spec.hosts) claims.push_back({.rule = rule, .by = service});
  for (const TrafficTarget& target : traffic) {
    if (target.tag.empty()) continue;
    for (HostRule& rule : tag_hosts(target.tag, spec.name, spec.hosts)) {
      claims.push_back({.rule = std::move(rule), .by = "tag " + target.tag + " of " + service});
    }
  }
  return claims;
}

std::string claimant_of(const HostRule& rule, const ServiceSpec& spec, const Traffic& traffic) {
  for (const HostClaim& claim : host_claims(spec, traffic)) {
    if (claim.rule == rule) return claim.by;
  }
  return "service " + spec.name;
}

Problem claimed_twice(const std::string& first, const HostClaim& second) {
  const std::string both = first == second.by ? first : first + " and by " + second.by;
  return {fmt::format("host {}{} is claimed twice: by {}", second.rule.host,
                      second.rule.path_prefix, both),
          "remove one of the two, or give it a path prefix of its own"};
}

}  // namespace

// Watched files first, then the command line: what is kept is taken after both, and blocks no
// start.
std::optional<Problem> Engine::add_services(const SpecSources::Reading& reading) {
  const KeptServices::Reading kept = kept_.read(setup_.settings.defaults);
  for (const ServiceSpec& spec : reading.services) {
    const auto result = put(spec);
    if (result) continue;
    if (!setup_.tolerant) return result.error();
    publish_text("error", result.error().what, result.error().fix);
    sources_->disown(spec.name);
  }
  if (setup_.command) {
    if (auto result = put(*setup_.command); !result) return result.error();
  }
  for (const Problem& problem : kept.problems) publish_text("warning", problem.what, problem.fix);
  const std::size_t before = platform_.services().size();
  for (const KeptServices::Service& each : kept.services) take_up(each);
  if (const std::size_t resumed = platform_.services().size() - before; resumed > 0) {
    notes_.push_back(fmt::format("resumed {} {} that {} keeps", resumed,
                                 resumed == 1 ? "service" : "services",
                                 paths_.state_dir().string()));
  }
  for (const ServiceSpec& spec : reading.services) {
    const auto* const file = sources_->file_of(spec.name);
    if (file != nullptr && *file == kStandardInput) keep(spec, BroughtBy::command);
  }
  if (setup_.command) {
    keep(*setup_.command, BroughtBy::command);
    const ProcessService& started = *find(setup_.command->name);
    if (const std::string elsewhere = traffic_elsewhere(started); !elsewhere.empty()) {
      publish_text("warning",
                   "the command of this start gets no requests: the traffic of " +
                       started.spec.name + " is " + elsewhere,
                   "sluice traffic " + started.spec.name + " @latest=100");
    }
  }
  keep_start();
  return std::nullopt;
}

void Engine::take_up(const KeptServices::Service& kept) {
  const std::string& name = kept.spec.name;
  const bool of_apply = kept.by == BroughtBy::apply;
  if (!of_apply && !setup_.resume) {
    kept_.forget(name);
    return;
  }
  if (const std::filesystem::path* const file = watched_file(name)) {
    if (find(name)->spec == kept.spec) {
      kept_.forget(name);
    } else {
      leave_to_file(name, *file);
    }
    return;
  }
  if (sources_->file_of(name) != nullptr) return;  // of standard input, which is kept instead
  if (setup_.command && setup_.command->name == name) {
    if (of_apply && kept.spec != *setup_.command) {
      publish_text(
          "warning",
          "service " + name +
              " is the command of this start; the spec kept from `sluice apply` is dropped",
          "");
    }
    return;
  }
  if (const auto result = put(kept.spec); !result) {
    publish_text("warning", "service " + name + " is not resumed: " + result.error().what,
                 result.error().fix + ", or apply it again");
  }
}

void Engine::leave_to_file(const std::string& name, const std::filesystem::path& file) {
  const auto by = kept_.brought_by(name);
  kept_.forget(name);
  if (!by) return;
  publish_text("warning",
               "service " + name + " is taken from " + file.string() + ", which is watched; the " +
                   (*by == BroughtBy::apply ? "spec kept from `sluice apply` is dropped"
                                            : "command that ran as " + name + " is not resumed"),
               "");
}

// What a start runs is there for it, kept or not.
void Engine::keep(const ServiceSpec& spec, BroughtBy by) {
  const auto refused = kept_.keep(spec, by);
  if (refused && unkept_.insert(spec.name).second) {
    publish_text("warning", "cannot keep the spec of " + spec.name + ": " + refused->what,
                 refused->fix);
  }
}

void Engine::keep_start() {
  const auto refused = kept_.keep_start(setup_.start);
  if (refused && start_kept_ && unkept_.empty()) {
    publish_text("warning", "cannot keep what engine " + setup_.name + " runs: " + refused->what,
                 refused->fix);
  }
  start_kept_ = !refused;
}

// What the disk has refused at a start, until it takes all of it.
void Engine::keep_again() {
  const bool wanting = !unkept_.empty() || !start_kept_;
  if (!wanting || clock_.now() < keep_due_) return;
  keep_due_ = clock_.now() + kKeepAgain;
  if (make_state_dir(paths_)) return;
  keep_start();
  while (start_kept_ && !unkept_.empty()) {
    const std::string& name = *unkept_.begin();
    const ProcessService* const service = find(name);
    const auto by = kept_.brought_by(name);
    if (service != nullptr && by && kept_.keep(service->spec, *by)) return;
    unkept_.erase(unkept_.begin());
  }
  if (start_kept_) publish_text("warning", "what could not be kept is kept now", "");
}

// Kept first: what the next start would not bring back does not run.
ApiResult<Applied> Engine::put_and_keep(const ServiceSpec& spec, BroughtBy by) {
  const auto before = kept_.brought_by(spec.name);
  const auto refused = kept_.keep(spec, by);
  const auto result = refused ? Result<Applied, Problem>{*refused} : put(spec);
  if (result) return *result;
  if (const ProcessService* const present = find(spec.name); present != nullptr && before) {
    keep(present->spec, *before);
  } else if (!before) {
    kept_.forget(spec.name);
  }
  if (!refused) return autoscaler::invalid_document(result.error().what, result.error().fix);
  return ApiProblem{507, "not-kept", "The change cannot be kept",
                    "cannot keep the spec of " + spec.name + ": " + refused->what, refused->fix};
}

const std::filesystem::path* Engine::watched_file(const std::string& name) const {
  const std::filesystem::path* const file = sources_ == nullptr ? nullptr : sources_->file_of(name);
  return file == nullptr || *file == kStandardInput ? nullptr : file;
}

std::optional<Problem> Engine::check_room(const ServiceSpec& spec) const {
  if (platform_.services().size() < KeptServices::kServicesMax || find(spec.name) != nullptr)
    return std::nullopt;
  return Problem{fmt::format("service {}: engine {} runs {} services already, which is the maximum",
                             spec.name, setup_.name, KeptServices::kServicesMax),
                 "delete services that are no longer needed, or run the rest in a second engine: "
                 "sluice up --engine NAME"};
}

// A host and path belongs to one service, or to one tag of a service.
std::optional<Problem> Engine::check_hosts(const ServiceSpec& spec) const {
  const std::vector<HostClaim> claims = host_claims(spec, platform_.wanted_traffic(spec));
  for (auto claim = claims.begin(); claim != claims.end(); ++claim) {
    const auto first = std::find_if(claims.begin(), claim, [&claim](const HostClaim& each) {
      return each.rule == claim->rule;
    });
    if (first != claim) return claimed_twice(first->by, *claim);
    const RevisionId* const holder = book_.hosts().holder(claim->rule);
    const ProcessService* const other = holder == nullptr ? nullptr : platform_.service_of(*holder);
    if (other == nullptr || other->spec.name == spec.name) continue;
    return claimed_twice(
        claimant_of(claim->rule, other->spec, platform_.wanted_traffic(other->spec)), *claim);
  }
  return std::nullopt;
}

Result<Applied, Problem> Engine::put(const ServiceSpec& spec) {
  if (auto problem = check_room(spec)) return *problem;
  if (auto problem = check_hosts(spec)) return *problem;
  auto result = platform_.put(spec);
  if (!result) return result;
  if (*result == Applied::configured) publish_service(spec.name, "changed");
  if (*result != Applied::unchanged && spec.is_limited() &&
      !(cgroups_.can_limit_cpu() && cgroups_.can_limit_memory())) {
    publish_text("warning",
                 "service " + spec.name +
                     ": its cpu and memory limits are only accounted, no writable cgroup was found",
                 "see `sluice doctor`");
  }
  return result;
}

void Engine::publish_service(const std::string& name, const char* what) {
  const ProcessService* const service = find(name);
  if (service == nullptr) return;
  const auto revision = fleet_.revisions().find(service->current->id());
  if (revision != fleet_.revisions().end()) {
    fleet_events_.publish_service(*revision->second, what);
  }
}

void Engine::drop(const std::string& name) {
  publish_service(name, "removed");
  platform_.remove(name);
  figures_.forget(name);
  session_environments_.erase(name);
  for (auto& [id, session] : sessions_) session.services.erase(name);
}

// What a file has said already is not said at each of its changes.
void Engine::publish_warnings(const std::vector<std::string>& warnings) {
  const std::set<std::string> before = std::exchange(warned_, {warnings.begin(), warnings.end()});
  for (const std::string& warning : warnings) {
    if (!before.contains(warning)) publish_text("warning", warning, "");
  }
}

// All files are read again; what is wrong with one of them leaves its services as they were.
void Engine::reload(bool always) {
  if (sources_ == nullptr || closing_ || (!always && !sources_->changed())) return;
  const auto before = sources_->owners();
  const SpecSources::Reading reading = sources_->read_valid();
  publish_warnings(reading.warnings);
  for (const Problem& problem : reading.problems) publish_text("error", problem.what, problem.fix);
  const std::map<std::string, std::filesystem::path> now = sources_->owners();
  for (const Problem& problem : take(reading)) publish_text("error", problem.what, problem.fix);
  for (const auto& [name, file] : before) {
    if (!now.contains(name) && find(name) != nullptr && !kept_.brought_by(name)) {
      drop(name);
    }
  }
}

// The file wins over what `apply` said, and over no command that runs.
std::vector<Problem> Engine::take(const SpecSources::Reading& reading) {
  std::vector<Problem> problems;
  for (const ServiceSpec& spec : reading.services) {
    const std::filesystem::path& file = reading.files.at(spec.name);
    const bool watched = file != kStandardInput;
    if (watched && kept_.brought_by(spec.name) == BroughtBy::command) {
      problems.push_back(
          {"service " + spec.name + " of " + file.string() + " runs from a command already",
           "rename it in the file, or remove the command's: sluice delete " + spec.name});
      sources_->disown(spec.name);
      continue;
    }
    if (!watched && kept_.brought_by(spec.name) == BroughtBy::apply) {
      sources_->disown(spec.name);  // what was read once is older
      continue;
    }
    if (auto result = put(spec); !result) {
      problems.push_back(result.error());
      continue;
    }
    if (watched) leave_to_file(spec.name, file);
    for (auto& [id, session] : sessions_) {
      if (!is_within(file, session.files)) continue;
      session.services.insert(spec.name);
      session.shown.insert(spec.name);
    }
  }
  return problems;
}

}  // namespace sluice::local
