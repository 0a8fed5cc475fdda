#include "platform/process/traffic.h"

#include "common/json/parse.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/tables.h"
#include <ostream>

namespace sluice::commands {
namespace {

void add_words(CLI::App& app, const char* flag, std::vector<std::string>& words,
               const char* about) {
  app.add_option(flag, words, about)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<local::TrafficChange, Problem> change_asked(const std::string& split,
                                                   const std::vector<std::string>& tags,
                                                   std::vector<std::string> untags) {
  local::TrafficChange change{.percents = {}, .tags = {}, .untags = std::move(untags)};
  auto percents = local::parse_percents(split);
  if (!percents) return percents.error();
  change.percents = std::move(*percents);
  for (const std::string& text : tags) {
    auto tag = local::parse_tag(text);
    if (!tag) return tag.error();
    change.tags.push_back(std::move(*tag));
  }
  return change;
}

}  // namespace

int run_traffic(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Divides the requests of a service among its revisions. Percentages replace all earlier "
      "ones and add up to 100; @latest is the latest revision that is ready.");
  std::string name;
  std::string split;
  std::vector<std::string> tags;
  std::vector<std::string> untags;
  bool write = false;
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_option("SPLIT", split, "REVISION=PERCENT[,REVISION=PERCENT]; a tag names its revision");
  add_words(app, "--tag", tags, "REVISION=TAG: it answers to TAG-SERVICE.localhost; repeatable");
  add_words(app, "--untag", untags, "removes this tag; repeatable");
  app.add_flag("--write", write, "write the traffic into the watched file of the service");
  if (const auto code = ends_early(with, app, "traffic", args)) {
    return *code;
  }
  if (split.empty() && tags.empty() && untags.empty()) {
    return report(with, {kExitUsage, "give REVISION=PERCENT, --tag or --untag; sluice revisions " +
                                         name + " shows the traffic"});
  }
  auto change = change_asked(split, tags, std::move(untags));
  if (!change) {
    return report(with, {kExitUsage, change.error().text()});
  }
  const auto found = find_service(with, name, Finds::services);
  if (!found) {
    return report(with, found.error());
  }
  const auto body =
      fetch(found->engine, {.method = "POST",
                            .target = found->path() + "/traffic" + (write ? "?write=1" : ""),
                            .body = local::change_json(*change).dump()});
  if (!body) {
    return report(with, body.error());
  }
  with.out << view::revisions_text(reading::parsed(*body), with.clock.now());
  return kExitOk;
}

}  // namespace sluice::commands
