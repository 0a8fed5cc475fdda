#include "programs/sluice/view/banner.h"

#include "common/json/read.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace sluice::view {
namespace {

constexpr std::size_t kServicesShown = 10;

std::string plain_number(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

// How the token is used.
std::string token_line(const BannerFacts& facts) {
  std::string name = "NAME";
  if (!facts.services.empty()) {
    const std::string& url = facts.services.front().url;
    const std::size_t host = url.find("://") + 3;
    name = url.substr(host, url.find('.') - host);
  }
  const std::string services = facts.api_url + "/services";
  return facts.allows_edit
             ? fmt::format("  edit       curl -X POST -H '@{}' {}/default/{}/wake\n",
                           facts.token_file, services, name)
             : fmt::format("  read       curl -H '@{}' {}\n", facts.token_file, services);
}

}  // namespace

BannerService banner_service(const nlohmann::json& service) {
  BannerService line;
  line.url = reading::text(service, "url");
  line.min = reading::integer32(service, "min", 0);
  line.max = reading::integer32(service, "max", 0);
  line.target = reading::number(service, "target").value_or(line.target);
  line.utilization = reading::number(service, "utilization").value_or(line.utilization);
  if (reading::text(service, "metric") == "rps") line.metric = "requests/s";
  line.h2c = reading::flag(service, "h2c");
  return line;
}

std::string page_text(const std::string& page_url, const std::string& edit_page) {
  if (edit_page.empty()) return page_url;
  return fmt::format("file://{}, which opens {} with the token", edit_page, page_url);
}

std::string banner_text(const BannerFacts& facts) {
  std::string text = fmt::format("sluice {} · engine {}\n", facts.version, facts.engine);
  const std::size_t shown = std::min(facts.services.size(), kServicesShown);
  for (const BannerService& service : std::span{facts.services}.first(shown)) {
    const std::string max = service.max > 0 ? std::to_string(service.max) : "any number of";
    text += fmt::format("  service    {}   {}..{} replicas, target {} {} ({:.0f} %)\n", service.url,
                        service.min, max, plain_number(service.target), service.metric,
                        service.utilization * 100);
  }
  if (const std::size_t more = facts.services.size() - shown; more > 0) {
    text += fmt::format("  service    and {} more: sluice get\n", more);
  }
  for (const std::string& note : facts.notes) {
    text += "  note       " + note + "\n";
  }
  if (!facts.page_url.empty())
    text += "  page       " + page_text(facts.page_url, facts.edit_page) + "\n";
  if (!facts.api_url.empty()) text += token_line(facts);
  if (!facts.services.empty() && facts.services.front().url.starts_with("https:")) {
    text += fmt::format("  next       curl --cacert {} {}\n", facts.certificate,
                        facts.services.front().url);
  } else if (!facts.services.empty() && facts.services.front().h2c) {
    text +=
        fmt::format("  next       curl --http2-prior-knowledge {}\n", facts.services.front().url);
  } else if (!facts.services.empty()) {
    text += fmt::format("  next       sluice load {} --rate 200 --duration 60s\n",
                        facts.services.front().url);
  } else {
    text += "  next       sluice apply -f FILE\n";
  }
  // What was begun when the engine opened cannot be ready yet, and may begin a moment later.
  std::int64_t least = 0;
  for (const BannerService& service : facts.services) least += service.min;
  const std::int64_t replicas = std::max(facts.replicas, least);
  text +=
      fmt::format("ready in {} ms; {} {} {}\n", facts.ready_ms, replicas,
                  replicas == 1 ? "replica" : "replicas", replicas == 0 ? "running" : "starting");
  return text;
}

}  // namespace sluice::view
