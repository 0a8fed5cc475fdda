#include "autoscaler/io/joined_list.h"

#include "autoscaler/io/view_json.h"
#include "common/api/api_text.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

constexpr std::size_t kPartsMax = 16;  // more than there are buckets
constexpr std::size_t kNameMax = 253;
constexpr std::size_t kRowsInStep = 50;
constexpr std::size_t kPanicsJoined = 3;

// The texts of an array's items without parsing each; `at` is behind its bracket, and then at the
// one that closes it. Empty where that does not come.
std::vector<std::string_view> items_at(std::string_view text, std::size_t& at) {
  std::vector<std::string_view> items;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = at;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth > 0 && (c == '}' || c == ']')) {
      --depth;
    } else if (depth == 0 && (c == ',' || c == ']')) {
      if (at > begin) items.push_back(text.substr(begin, at - begin));
      begin = at + 1;
      if (c == ']') return items;
    }
  }
  return {};
}

// The sum of what is known of the two.
void add_member(json& sum, const json& other, const std::string& name) {
  const auto more = reading::number(other, name);
  if (!more) return;
  const auto own = reading::number(sum, name);
  const bool whole = reading::member(other, name).is_number_integer() &&
                     (!own || reading::member(sum, name).is_number_integer());
  if (whole) {
    sum[name] = reading::whole(sum, name).value_or(0) + reading::whole(other, name).value_or(0);
  } else {
    sum[name] = own.value_or(0) + *more;
  }
}

// Both end now.
void add_points(json& sum, const json& other, const char* name) {
  const json& more = reading::array(other, name);
  if (!reading::member(sum, name).is_array()) return;
  json& points = sum[name];
  const std::size_t count = std::min(points.size(), more.size());
  for (std::size_t i = 1; i <= count; ++i) {
    json& point = points[points.size() - i];
    const json& added = more[more.size() - i];
    if (!added.is_number()) continue;
    point = added.get<double>() + (point.is_number() ? point.get<double>() : 0.0);
  }
}

}  // namespace

std::optional<ListPlaces> parse_places(std::string_view text) {
  ListPlaces places;
  const auto parts = http::parts_of(text, '_');
  if (parts.size() > kPartsMax) return std::nullopt;
  for (const std::string_view part : parts) {
    const std::size_t cut = part.find('~');
    if (cut == std::string_view::npos || cut == 0 || cut > kNameMax) return std::nullopt;
    const auto number = whole_number<std::uint64_t>(part.substr(cut + 1));
    if (!number || !places.emplace(part.substr(0, cut), *number).second) return std::nullopt;
  }
  return places;
}

std::string text_of(const ListPlaces& places) {
  std::string text;
  for (const auto& [name, number] : places) {
    if (!text.empty()) text += '_';
    text += name + "~" + std::to_string(number);
  }
  return text;
}

JoinedList::JoinedList(RowQuery order, std::size_t limit, ListPlaces from)
    : order_{std::move(order)}, limit_{limit}, from_{std::move(from)} {
  parts_.reserve(kPartsMax);
}

void JoinedList::add(const std::string& replica, std::string body) {
  Part& part = parts_.emplace_back(Part{.replica = replica, .body = std::move(body)});
  constexpr std::string_view kItems = "\"items\":[";
  const std::size_t found = part.body.find(kItems);
  if (found == std::string::npos) return;
  std::size_t end = found + kItems.size();
  part.items = items_at(part.body, end);
  if (end >= part.body.size()) return;
  const json rest =
      reading::parsed(part.body.substr(0, found + kItems.size()) + part.body.substr(end));
  part.more = !reading::text(rest, "next").empty();
}

JoinedList::Part* JoinedList::first_part() {
  Part* first = nullptr;
  for (Part& part : parts_) {
    while (!part.head && part.taken < part.items.size()) {
      part.head = read_row(reading::parsed(part.items[part.taken]));
      if (!part.head) ++part.taken;
    }
    if (!part.head) {
      // What it has behind its page may go before what others have: no row is taken past it.
      if (part.more) return nullptr;
      continue;
    }
    if (first == nullptr || order_.goes_first(*part.head, *first->head)) first = &part;
  }
  return first;
}

bool JoinedList::step() {
  for (std::size_t i = 0; i < kRowsInStep; ++i) {
    Part* const part = count_ < limit_ ? first_part() : nullptr;
    if (part == nullptr) return false;
    if (count_++ > 0) items_ += ',';
    items_ += part->items[part->taken++];
    part->head.reset();
  }
  return true;
}

std::string JoinedList::text(const std::vector<std::string>& missing) const {
  ListPlaces next = from_;
  bool more = false;
  for (const Part& part : parts_) {
    next[part.replica] += part.taken;
    more = more || part.more || part.taken < part.items.size();
  }
  json rest = json::object();
  if (more) rest["next"] = text_of(next);
  set_missing(rest, missing);
  std::string text = "{\"items\":[" + items_ + "]";
  if (!rest.empty()) text += "," + json_line(rest).substr(1, std::string::npos);
  return text + (rest.empty() ? "}\n" : "\n");
}

void add_overview(json& sum, const json& other) {
  if (!sum.is_object() || !other.is_object()) return;
  for (const char* const name : {"ready", "want", "rps", "queued", "in_flight"}) {
    add_member(sum, other, name);
  }
  for (const auto& [name, count] : reading::member(other, "services").items()) {
    if (count.is_number_integer()) add_member(sum["services"], other["services"], name);
  }
  add_points(sum, other, "rps_points");
  add_points(sum, other, "queued_points");
  for (const json& each : reading::array(other, "panic")) {
    if (sum["panic"].size() < kPanicsJoined) sum["panic"].push_back(each);
  }
}

void set_missing(json& answer, const std::vector<std::string>& missing) {
  if (!missing.empty()) answer["missing"] = missing;
}

}  // namespace sluice::autoscaler
