// Verbs that move replicas between places: move, drain, undrain.

#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/fields.h"
#include <algorithm>
#include <ostream>
#include <poll.h>
#include <set>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr int kLookMilliseconds = 100;

Result<Duration, Failure> patience_of(const std::string& limit) {
  const auto patience = local::parse_age(limit);
  if (patience) return *patience;
  return Failure{kExitUsage, "--timeout: " + limit + " is not a duration such as 10s"};
}

Result<json, Failure> items_at(const ApiPlace& engine, const char* path) {
  const auto body = fetch(engine, {.target = std::string{path} + "?limit=1000"});
  if (!body) return body.error();
  return reading::array(reading::parsed(*body), "items");
}

// What has been printed of moves.
struct Printed {
  bool as_json = false;
  std::set<std::int64_t> ids{};
  json records = json::array();
  bool failed = false;
};

// Prints the moves that `mine` takes, each once it is over. Returns how many are not.
template <class Mine>
std::size_t print_over(const Surroundings& with, const json& moves, Printed& printed, Mine mine) {
  std::size_t running = 0;
  // The API lists the newest first.
  for (auto at = moves.rbegin(); at != moves.rend(); ++at) {
    const json& move = *at;
    if (!mine(move)) continue;
    if (!reading::flag(move, "over")) {
      ++running;
      continue;
    }
    if (!printed.ids.insert(view::integer_field(move, "id")).second) continue;
    printed.failed = printed.failed || !reading::flag(move, "done");
    printed.records.push_back(move);
    // One of several of a service that had nothing to move when its turn came.
    const bool empty = view::integer_field(move, "replicas") == 0 && reading::flag(move, "done");
    if (!printed.as_json && !empty) {
      with.out << view::text_field(move, "line") << "\n" << std::flush;
    }
  }
  return running;
}

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

int told_moved(const Surroundings& with, const Printed& printed, const std::string& service,
               const std::string& to) {
  const int code = printed.failed ? kExitFailure : kExitOk;
  if (printed.as_json) {
    with.out << printed.records.dump(2) << "\n";
    return code;
  }
  const auto moved =
      std::count_if(printed.records.begin(), printed.records.end(), [](const json& move) {
        return view::integer_field(move, "replicas") > 0 || !reading::flag(move, "done");
      });
  if (moved == 0) {
    with.out << service << "  0 replicas moved: all are in " << to << " already\n";
  }
  return code;
}

int told_drained(const Surroundings& with, const Printed& printed, const json& drain) {
  const json& remaining = reading::array(drain, "remaining");
  const int code = remaining.empty() ? kExitOk : kExitNotReady;
  if (printed.as_json) {
    json all = drain;
    all["moves"] = printed.records;
    with.out << all.dump(2) << "\n";
    return code;
  }
  with.out << fmt::format("drained: {}, {}, {} cut\n",
                          counted(view::integer_field(drain, "services"), "service"),
                          counted(view::integer_field(drain, "replicas"), "replica"),
                          counted(view::integer_field(drain, "cut"), "request"));
  for (const json& each : remaining) {
    if (each.is_string()) with.out << "stays: " << view::printable(each.get<std::string>()) << "\n";
  }
  return code;
}

const json* place_of(const json& places, const std::string& name) {
  for (const json& place : places) {
    if (reading::text(place, "name") == name) return &place;
  }
  return nullptr;
}

}  // namespace

int run_move(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Moves all replicas of a service to another place, behind its traffic: new ones are started "
      "and take requests before the old ones are stopped.");
  std::string name;
  std::string to;
  std::string limit = "10m";
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_option("--to", to, "the place, of those that sluice places lists")
      ->type_name("PLACE")
      ->required();
  app.add_option("--timeout", limit, "how long to wait for its end (10m)")->type_name("DUR");
  std::string output = "text";
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "move", args)) return *code;
  const auto patience = patience_of(limit);
  if (!patience) return report(with, patience.error());
  const auto found = find_service(with, name, Finds::running);
  if (!found) return report(with, found.error());
  const TimePoint begin = with.clock.now();
  const auto body =
      fetch(found->engine,
            {.method = "POST", .target = found->path() + "/move", .body = json{{"to", to}}.dump()});
  if (!body) return report(with, body.error());
  const json begun = reading::parsed(*body);
  const std::string service = view::text_field(begun, "service");
  if (reading::flag(begun, "asleep")) {
    if (output == "json") {
      with.out << begun.dump(2) << "\n";
      return kExitOk;
    }
    with.out << service << " has no replica; its next start is in " << to << "\n";
    return kExitOk;
  }
  std::set<std::int64_t> ids;
  for (const json& id : reading::array(begun, "moves")) {
    if (id.is_number_integer()) ids.insert(id.get<std::int64_t>());
  }
  if (ids.empty()) return told_moved(with, {.as_json = output == "json"}, service, to);
  Printed printed{.as_json = output == "json"};
  while (true) {
    const auto moves = items_at(found->engine, "/api/v1/moves");
    if (!moves) return report(with, moves.error());
    const std::size_t running = print_over(with, *moves, printed, [&ids](const json& move) {
      return ids.contains(view::integer_field(move, "id"));
    });
    if (running == 0) return told_moved(with, printed, service, to);
    if (with.clock.now() - begin >= *patience) {
      return report(with, {kExitNotReady, service + " is still being moved, and continues; see: " +
                                              "sluice places"});
    }
    ::poll(nullptr, 0, kLookMilliseconds);
  }
}

int run_drain(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Empties a place: nothing new goes there, and its services move elsewhere, behind their "
      "traffic. Exits with 3 when something stays.");
  std::string place;
  std::string limit = "10m";
  app.add_option("PLACE", place, "a place, as sluice places lists it")->required();
  app.add_option("--timeout", limit, "how long to wait for its end (10m)")->type_name("DUR");
  std::string output = "text";
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "drain", args)) return *code;
  const auto patience = patience_of(limit);
  if (!patience) return report(with, patience.error());
  const auto engine = find_engine(with, "");
  if (!engine) return report(with, engine.error());
  const TimePoint begin = with.clock.now();
  Printed printed{.as_json = output == "json"};
  const auto before = items_at(*engine, "/api/v1/moves");
  if (!before) return report(with, before.error());
  for (const json& move : *before) {
    if (reading::flag(move, "over")) printed.ids.insert(view::integer_field(move, "id"));
  }
  const auto body = fetch(
      *engine, {.method = "POST", .target = "/api/v1/places/" + url_encoded(place) + "/drain"});
  if (!body) return report(with, body.error());
  while (true) {
    const auto moves = items_at(*engine, "/api/v1/moves");
    if (!moves) return report(with, moves.error());
    const std::size_t running = print_over(with, *moves, printed, [&place](const json& move) {
      return reading::text(move, "cause") == "drain" && reading::text(move, "from") == place;
    });
    const auto places = items_at(*engine, "/api/v1/places");
    if (!places) return report(with, places.error());
    const json* const now = place_of(*places, place);
    const auto drain = now == nullptr ? json::const_iterator{} : now->find("drain");
    if (now == nullptr || drain == now->end()) {
      return report(with, {kExitFailure, place + " is not being drained any more"});
    }
    if (running == 0 && reading::flag(*drain, "over")) return told_drained(with, printed, *drain);
    if (with.clock.now() - begin >= *patience) {
      return report(with, {kExitNotReady, place + " is still being drained, and continues; see: " +
                                              "sluice places"});
    }
    ::poll(nullptr, 0, kLookMilliseconds);
  }
}

int run_undrain(const Surroundings& with, const Arguments& args) {
  CLI::App app("Lets replicas go to a place again that was drained.");
  std::string place;
  app.add_option("PLACE", place, "a place, as sluice places lists it")->required();
  std::string output = "text";
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "undrain", args)) return *code;
  const auto engine = find_engine(with, "");
  if (!engine) return report(with, engine.error());
  const auto body = fetch(
      *engine, {.method = "POST", .target = "/api/v1/places/" + url_encoded(place) + "/undrain"});
  if (!body) return report(with, body.error());
  if (output == "json") {
    with.out << reading::parsed(*body).dump(2) << "\n";
    return kExitOk;
  }
  with.out << place << " takes replicas again\n";
  return kExitOk;
}

}  // namespace sluice::commands
