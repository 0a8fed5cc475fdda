#include "common/base/check.h"
#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"
#include "common/kube/watch_event.h"
#include "common/kube/watch_lines.h"
#include "common/values/json_walk.h"
#include "tests/fuzz/h1_message.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

// Goal: no bytes of a watch or a list break what reads them, the same events are found however the
// bytes are cut, and where they are JSON the walk finds what a parser finds. Method: the input is a
// watch, cut into lines as a whole, byte by byte and by seven; each line is then read as an event,
// as an object of every kind, and as a list. The twin is a JSON library.
namespace {

using sluice::JsonWalk;
using sluice::fuzz::text_of;
using sluice::kube::WatchLines;

constexpr std::size_t kLineMax = 2048;

struct Cut {
  std::vector<std::string> lines;
  bool too_long = false;
};

Cut cut(std::string_view bytes, std::size_t step) {
  WatchLines lines{kLineMax};
  Cut made;
  while (!bytes.empty() && !made.too_long) {
    const std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    const auto fed = lines.feed(piece, [&made](std::string_view line) {
      CHECK(line.size() <= kLineMax && line.find('\n') == std::string_view::npos);
      made.lines.emplace_back(line);
      return true;
    });
    CHECK(fed != WatchLines::Fed::stopped);
    made.too_long = fed == WatchLines::Fed::too_long;
  }
  return made;
}

bool is_within(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

// What a walk returns for a text that the library reads as an object or an array.
void compare(std::string_view text, const nlohmann::json& twin) {
  JsonWalk walk{text};
  std::size_t steps = 0;
  while (const auto step = walk.next()) {
    CHECK(is_within(step->value, text));
    const auto value = nlohmann::json::parse(step->value, nullptr, false);
    CHECK(!value.is_discarded());
    if (twin.is_array()) {
      CHECK(steps < twin.size() && twin[steps] == value);
    } else if (step->key.find('\\') == std::string_view::npos) {
      CHECK(twin.contains(step->key));
    }
    ++steps;
  }
  CHECK(walk.whole());
  CHECK(steps >= twin.size());  // a library keeps one of several with the same key
}

void walk(std::string_view line) {
  JsonWalk walk{line};
  while (const auto step = walk.next()) {
    CHECK(is_within(step->value, line) && !step->value.empty());
    CHECK(step->key.empty() || is_within(step->key, line));
  }
  CHECK(!walk.next());
  if (line.find('\0') != std::string_view::npos) return;  // where the library sees the end
  const auto twin = nlohmann::json::parse(line, nullptr, false);
  if (twin.is_object() || twin.is_array()) compare(line, twin);
}

// Nothing but that they come back.
void decode(std::string_view object) {
  namespace kube = sluice::kube;
  (void)kube::decode_pod(object);
  (void)kube::decode_workload(object);
  (void)kube::decode_service(object);
  (void)kube::decode_endpoint_slice(object);
  (void)kube::decode_config_map(object);
  (void)kube::decode_other_scaler(object);
  (void)kube::decode_request_scaler(object);
}

void read(std::string_view line) {
  if (const auto event = sluice::kube::read_watch_event(line)) {
    CHECK(is_within(event->object, line) && event->object.front() == '{');
    (void)sluice::kube::read_object_facts(event->object);
    decode(event->object);
  }
  if (const auto chunk = sluice::kube::read_list_chunk(line)) {
    JsonWalk items{chunk->items};
    while (const auto item = items.next()) (void)sluice::kube::read_object_facts(item->value);
  }
  decode(line);
  walk(line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = text_of(data, size);
  const Cut whole = cut(bytes, size + 1);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
    const Cut other = cut(bytes, step);
    CHECK(other.lines == whole.lines && other.too_long == whole.too_long);
  }
  for (const std::string& line : whole.lines) read(line);
  return 0;
}
