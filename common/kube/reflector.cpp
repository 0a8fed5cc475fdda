#include "common/kube/reflector.h"

#include "common/base/lifetime.h"
#include "common/kube/backoff.h"
#include "common/kube/collection_text.h"
#include "common/kube/request_text.h"
#include "common/kube/watch_event.h"
#include "common/kube/watch_lines.h"
#include "common/values/json_walk.h"
#include "common/values/whole_number.h"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <map>
#include <utility>

// One thing is under way at a time: a chunk of a list, a watch, or a pause before the next of them.
// An empty version means that everything has to be reported again: by a watch that begins with all
// there is, or by a list where the server does not know such watches. Reported objects carry the
// number of that round; those still of an older round at its end were deleted meanwhile.
namespace sluice::kube {
namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

constexpr Duration kListTimeout = seconds{60};
// Servers end watches themselves; ours at different times.
constexpr seconds kWatchTimeout{300};
constexpr seconds kWatchJitter{60};
// Bookmarks come about once a minute: a watch on which nothing comes has died unnoticed.
constexpr Duration kSilence = std::chrono::minutes{10};
// A server that is too old for streaming lists opens the watch and never marks the end of the
// initial events.
constexpr Duration kInitialSilence = seconds{60};
constexpr std::size_t kErrorMax = 64 * 1024;
constexpr int kRefusalsMax = 5;
// A watch that ends sooner is not opened again at once.
constexpr Duration kShort = seconds{1};
constexpr Duration kShortPause = std::chrono::milliseconds{100};

int code_of(std::string_view status) {
  const auto code = json_member(status, "code");
  return code ? whole_number<int>(*code).value_or(0) : 0;
}

// What a server answers that knows no streaming lists, rather than to us or to this version.
bool refuses_streaming(const Failure& failure) {
  const int status = failure.status;
  return failure.kind == Failure::Kind::refused && status >= 400 && status < 500 && status != 401 &&
         status != 403 && status != 404 && status != 410 && status != 429;
}

}  // namespace

struct Reflector::Inner {
  Inner(asio::io_context& io, const Clock& its_clock, std::mt19937_64& its_random,
        const log::Logger& logger, Client& its_client, Collection its_collection,
        ObjectSink& its_sink)
      : clock{its_clock},
        random{its_random},
        log{logger},
        client{its_client},
        collection{std::move(its_collection)},
        sink{its_sink},
        timer{io} {}

  ~Inner() { alive.end(); }

  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

  void proceed();
  void list(const std::string& next);
  void take_chunk(const std::string& body);
  void watch();
  void guard_initial();
  void take_piece(std::string_view piece);
  bool take_line(std::string_view line);
  bool take_object(const WatchEvent& event);
  void take_error(std::string_view object);
  void watch_ended(const std::string& why);
  void put(const ObjectFacts& facts, std::string_view json);
  void finish_round();
  void fail(const Failure& failure);
  void expire();
  void pause(Duration wait);
  void report(std::string problem);

  [[nodiscard]] double chance() { return std::uniform_real_distribution<double>{0, 1}(random); }

  [[nodiscard]] CollectionQuery query() const {
    return {collection.path, collection.labels, collection.fields};
  }

  struct Known {
    std::string version;
    std::uint32_t round = 0;
  };

  const Clock& clock;  // these outlive the reflector
  std::mt19937_64& random;
  const log::Logger& log;
  Client& client;
  Collection collection;
  ObjectSink& sink;
  State state;
  std::map<ObjectName, Known> known;
  std::uint32_t round = 0;
  std::string version;
  bool streaming_lists = true;
  bool initial = false;  // the watch is still telling what there is
  int status = 0;        // of the watch
  std::string retry_after;
  std::string error;   // the body of a refused watch
  bool heard = false;  // the watch has told something since it was opened
  TimePoint opened{};
  TimePoint last_piece{};
  int expired_in_row = 0;
  int refused_in_row = 0;
  Backoff backoff;
  WatchLines lines;
  asio::steady_timer timer;
  unsigned waits = 0;  // of the timer; the newest counts
  Lifetime alive;
  Client::Call call;
};

void Reflector::Inner::proceed() {
  if (version.empty() && !streaming_lists) {
    ++round;
    list({});
  } else {
    watch();
  }
}

void Reflector::Inner::list(const std::string& next) {
  // Before what is to be written: what is known decides about that.
  Request request{.path = list_path(query(), next),
                  .first = true,
                  .timeout = kListTimeout,
                  .queue_limit = kListTimeout};
  call = client.send(std::move(request), [this](const Answer& answer) {
    if (answer.has_value()) {
      take_chunk(*answer);
    } else {
      fail(answer.error());
    }
  });
}

void Reflector::Inner::take_chunk(const std::string& body) {
  const auto chunk = read_list_chunk(body);
  bool whole = chunk.has_value();
  if (whole) {
    JsonWalk items{chunk->items};
    while (const auto item = items.next()) {
      const auto facts = read_object_facts(item->value);
      if (facts && !facts->name.name.empty()) put(*facts, item->value);
    }
    whole = items.whole();
  }
  if (!whole) {
    fail({.kind = Failure::Kind::garbled, .message = "its answer is not a list"});
  } else if (!chunk->next.empty()) {
    list(chunk->next);
  } else {
    version = chunk->resource_version;
    finish_round();
    watch();
  }
}

void Reflector::Inner::watch() {
  initial = version.empty();
  if (initial) ++round;
  lines.clear();
  error.clear();
  status = 0;
  heard = false;
  opened = last_piece = clock.now();
  const auto jitter = std::chrono::duration_cast<seconds>(
      from_seconds(chance() * static_cast<double>(kWatchJitter.count())));
  call = client.stream(watch_path(query(), version, kWatchTimeout + jitter), kSilence,
                       {.head =
                            [this](int its_status, std::string_view its_retry_after) {
                              status = its_status;
                              retry_after = its_retry_after;
                              state.connected = status == 200;
                              if (state.connected && !initial) report({});
                            },
                        .body = [this](std::string_view piece) { take_piece(piece); },
                        .ended = [this](const std::string& why) { watch_ended(why); }});
  if (initial) guard_initial();
}

void Reflector::Inner::guard_initial() {
  timer.expires_after(kInitialSilence);
  timer.async_wait(
      [this, alive = alive.watch(), mine = ++waits](const boost::system::error_code& ec) {
        // The end of a wait may be reported although a pause has begun meanwhile.
        if (ec || alive.over() || !initial || mine != waits) return;
        if (clock.now() - last_piece < kInitialSilence) {
          guard_initial();
          return;
        }
        streaming_lists = false;
        state.connected = false;
        proceed();
      });
}

void Reflector::Inner::take_piece(std::string_view piece) {
  last_piece = clock.now();
  if (status != 200) {
    error.append(piece.substr(0, kErrorMax - std::min(kErrorMax, error.size())));
    return;
  }
  const auto fed = lines.feed(piece, [this](std::string_view line) { return take_line(line); });
  if (fed == WatchLines::Fed::too_long) {
    fail({.kind = Failure::Kind::garbled, .message = "an event of the watch is too large"});
  }
}

// Returns whether the watch continues.
bool Reflector::Inner::take_line(std::string_view line) {
  const auto event = read_watch_event(line);
  if (!event) {
    fail({.kind = Failure::Kind::garbled, .message = "a line of the watch is not an event"});
    return false;
  }
  if (event->type == WatchEvent::Type::unknown) return true;
  if (event->type == WatchEvent::Type::error) {
    take_error(event->object);
    return false;
  }
  return take_object(*event);
}

bool Reflector::Inner::take_object(const WatchEvent& event) {
  const auto facts = read_object_facts(event.object);
  if (!facts || (facts->name.name.empty() && event.type != WatchEvent::Type::bookmark)) {
    fail({.kind = Failure::Kind::garbled, .message = "an event of the watch holds no object"});
    return false;
  }
  ++state.events;
  heard = true;
  if (!initial) {
    backoff.reset();
    expired_in_row = refused_in_row = 0;
  }
  if (event.type == WatchEvent::Type::put) put(*facts, event.object);
  if (event.type == WatchEvent::Type::gone && known.erase(facts->name) > 0) sink.gone(facts->name);
  // The initial objects come in no order of versions.
  if (initial && !facts->initial_events_end) return true;
  if (!facts->resource_version.empty()) version = facts->resource_version;
  if (initial) {
    initial = false;
    timer.cancel();
    finish_round();
  }
  return true;
}

void Reflector::Inner::take_error(std::string_view object) {
  const Failure failure = refusal(code_of(object), {}, object);
  if (initial && failure.status != 410 && failure.status != 429) {
    streaming_lists = false;
    state.connected = false;
    timer.cancel();
    proceed();
  } else {
    fail(failure);
  }
}

void Reflector::Inner::watch_ended(const std::string& why) {
  if (status != 0 && status != 200) {
    fail(refusal(status, retry_after, error));
  } else if (!why.empty()) {
    fail({.kind = Failure::Kind::unreachable, .message = why});
  } else if (initial || (!heard && clock.now() - opened < kShort)) {
    fail(
        {.kind = Failure::Kind::unreachable, .message = "the watch ended before it sent an event"});
  } else {
    state.connected = false;
    pause(clock.now() - opened < kShort ? kShortPause : Duration{0});
  }
}

void Reflector::Inner::put(const ObjectFacts& facts, std::string_view json) {
  const auto found = known.find(facts.name);
  const bool is_new = found == known.end();
  Known& now = is_new ? known[facts.name] : found->second;
  now.round = round;
  if (!is_new && !facts.resource_version.empty() && now.version == facts.resource_version) return;
  now.version = facts.resource_version;
  sink.put(facts.name, json);
}

void Reflector::Inner::finish_round() {
  for (auto at = known.begin(); at != known.end();) {
    if (at->second.round == round) {
      ++at;
      continue;
    }
    const ObjectName name = at->first;
    at = known.erase(at);
    sink.gone(name);
  }
  ++state.lists;
  state.synced = true;
  backoff.reset();
  refused_in_row = 0;
  report({});
  sink.synced();
}

void Reflector::Inner::fail(const Failure& failure) {
  const bool refused = failure.kind == Failure::Kind::refused;
  state.connected = false;
  call = {};
  timer.cancel();
  if (refused && failure.status == 410) {
    expire();
    return;
  }
  if (initial && refuses_streaming(failure)) {
    streaming_lists = false;
    proceed();
    return;
  }
  Duration wait = backoff.next(chance());
  std::string problem = failure.text();
  const bool forbidden = refused && failure.status == 403;
  const bool absent = refused && failure.status == 404;
  if (forbidden)
    problem = "needs list and watch on " + resource_of(collection.path) + ": " + problem;
  if (absent) problem = "there is no " + resource_of(collection.path) + " here: " + problem;
  if (absent) {
    wait = from_seconds(10 + 20 * chance());
  } else if (forbidden) {
    // Rights that came with us may take the server a moment to see; they grow rarer by the pause.
    wait = std::max(wait, from_seconds(0.5 + 0.5 * chance()));
  } else if (refused && failure.status == 429) {
    // Beside the pause of chance: clients that got the same do not come back at the same moment.
    wait += failure.retry_after.value_or(seconds{1});
  } else if (refused && ++refused_in_row >= kRefusalsMax) {
    // As after a restored backup, whose versions are older than ours.
    refused_in_row = 0;
    version.clear();
  }
  report(std::move(problem));
  state.forbidden = forbidden;
  state.absent = absent;
  pause(wait);
}

void Reflector::Inner::expire() {
  version.clear();
  // One that is behind is usual; who meets it again shall not meet all others there.
  const double most = ++expired_in_row > 1 ? 10 : 1;
  pause(from_seconds(most * chance()));
}

void Reflector::Inner::pause(Duration wait) {
  timer.expires_after(wait);
  timer.async_wait(
      [this, alive = alive.watch(), mine = ++waits](const boost::system::error_code& ec) {
        if (!ec && !alive.over() && mine == waits) proceed();
      });
}

void Reflector::Inner::report(std::string problem) {
  if (problem.empty()) state.forbidden = state.absent = false;
  if (problem == state.problem) return;
  if (problem.empty()) {
    log.write(log::Severity::info, "watching the Kubernetes API again",
              {{"collection", collection.path}});
  } else {
    log.write(log::Severity::warning, "cannot watch the Kubernetes API",
              {{"collection", collection.path}, {"problem", problem}});
  }
  state.problem = std::move(problem);
}

Reflector::Reflector(asio::io_context& io, const Clock& clock, std::mt19937_64& random,
                     const log::Logger& log, Client& client, Collection collection,
                     ObjectSink& sink)
    : inner_{std::make_unique<Inner>(io, clock, random, log, client, std::move(collection), sink)} {
}

Reflector::~Reflector() = default;

void Reflector::start() {
  inner_->proceed();
}

const Reflector::State& Reflector::state() const {
  return inner_->state;
}

}  // namespace sluice::kube
