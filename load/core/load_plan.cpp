#include "load/core/load_plan.h"

#include "common/base/check.h"
#include "common/base/clean_text.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::loadgen {

namespace {

// The warm-up runs at the rate the run begins with.
std::vector<Segment> with_warmup(const Phase& phase, Duration warmup) {
  std::vector<Segment> segments = phase.segments;
  if (warmup > Duration::zero() && !segments.empty()) {
    segments.insert(segments.begin(), Segment{segments.front().per_second, warmup});
  }
  return segments;
}

// Each phase has random numbers of its own, and the first those of the seed itself.
std::uint64_t seed_of(const LoadPlan& plan, std::size_t phase) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return plan.seed + kOdd * phase;
}

// As names of headers are compared.
bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [lower](char x, char y) { return lower(x) == lower(y); });
}

// Of the requests of a phase those to `target`, 0 to 1.
double share_of(const LoadPlan& plan, const Phase& phase, std::size_t target) {
  if (phase.mix.empty()) return 1 / static_cast<double>(plan.targets.size());
  return phase.mix[target] / std::accumulate(phase.mix.begin(), phase.mix.end(), 0.0);
}

template <class Items>
std::optional<std::size_t> place_of(const Items& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [name](const auto& item) { return item.name == name; });
  if (found == items.end() || name.empty()) return std::nullopt;
  return static_cast<std::size_t>(found - items.begin());
}

}  // namespace

Duration Phase::length() const {
  if (replay) return replay->length;
  Duration length{0};
  for (const Segment& segment : segments) length += segment.length;
  return length;
}

bool LoadPlan::any_tls() const {
  return std::any_of(targets.begin(), targets.end(),
                     [](const TargetPlan& plan) { return plan.target.tls; });
}

std::optional<std::size_t> LoadPlan::target_named(std::string_view wanted) const {
  return place_of(targets, wanted);
}

std::optional<std::size_t> LoadPlan::phase_named(std::string_view wanted) const {
  return place_of(phases, wanted);
}

Duration LoadPlan::begin_of(std::size_t phase) const {
  Duration begin = warmup;
  for (std::size_t i = 0; i < phase; ++i) begin += phases[i].length();
  return begin;
}

std::optional<Problem> add_header(std::vector<std::pair<std::string, std::string>>& headers,
                                  std::string name, std::string value) {
  constexpr std::size_t kShownMax = 60;
  if (!is_header(name, value)) {
    return Problem{"not a header: '" + clean_text(name.substr(0, kShownMax)) + "'",
                   "a name has letters, digits and dashes, and a value no line break"};
  }
  for (const std::string_view made : {"content-length", "transfer-encoding"}) {
    if (same_word(name, made)) {
      return Problem{"the header " + name + " is set from the body", "remove it and give a body"};
    }
  }
  if (headers.size() == kHeadersMax) return Problem{"more than 100 headers", "send fewer"};
  headers.emplace_back(std::move(name), std::move(value));
  return std::nullopt;
}

std::optional<Problem> set_header(std::vector<std::pair<std::string, std::string>>& headers,
                                  const std::string& name, std::string value) {
  std::erase_if(headers, [&name](const auto& header) { return same_word(header.first, name); });
  return add_header(headers, name, std::move(value));
}

std::optional<Problem> settle_method(TargetPlan& target, const std::string& method) {
  constexpr std::size_t kMethodMax = 32;
  if (target.body.size() > kBodyBytesMax) {
    return Problem{"the body is larger than 16 MiB", "send a smaller one"};
  }
  const bool posts = !target.body.empty() || target.target.protocol == Protocol::grpc;
  target.method = !method.empty() ? method : posts ? "POST" : "GET";
  if (!is_token(target.method) || target.method.size() > kMethodMax || target.method == "CONNECT") {
    return Problem{"not a method to send: '" + clean_text(method.substr(0, kMethodMax)) + "'",
                   "use for example PUT"};
  }
  return std::nullopt;
}

namespace {

bool replays(const LoadPlan& plan) {
  return std::any_of(plan.phases.begin(), plan.phases.end(),
                     [](const Phase& phase) { return phase.replay.has_value(); });
}

std::optional<Problem> ws_problem(const LoadPlan& plan, const TargetPlan& target) {
  if (plan.loop == Loop::closed) {
    return Problem{"sessions of WebSocket begin at a rate, not in a closed loop",
                   "give --rate, and with -c the most sessions at once"};
  }
  if (!target.path.is_fixed()) {
    return Problem{"the path of a WebSocket is the same for all sessions",
                   "remove the braces of '" + clean_text(target.target.path.substr(0, 80)) + "'"};
  }
  if (target.every < kEveryMin || target.hold <= Duration::zero() || target.hold > kRunMax) {
    return Problem{"a WebSocket has at most a message in 1 ms, and lasts up to a day",
                   "give for example --every 1s --hold 30s"};
  }
  if (replays(plan)) {
    return Problem{"a trace has requests of HTTP, not sessions of WebSocket",
                   "give an http:// URL"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> protocol_problem(const LoadPlan& plan, const TargetPlan& target) {
  if (target.target.protocol == Protocol::ws) return ws_problem(plan, target);
  if (target.target.protocol != Protocol::grpc) return std::nullopt;
  const std::string_view path = target.target.path;
  const std::size_t slash = path.find('/', 1);
  if (slash == std::string_view::npos || slash == 1 || slash + 1 == path.size()) {
    return Problem{
        "the path of a gRPC call names no method: '" + clean_text(path.substr(0, 80)) + "'",
        "write it like grpc://app.localhost:8080/package.Service/Method"};
  }
  if (target.method != "POST") {
    return Problem{"a gRPC call has no other method than POST", "remove the method"};
  }
  if (replays(plan)) {
    return Problem{"a trace has requests of HTTP, not calls of gRPC", "give an http:// URL"};
  }
  return std::nullopt;
}

std::optional<Arrivals> parse_arrivals(std::string_view word) {
  if (word == "uniform") return Arrivals::uniform;
  return word == "poisson" ? std::optional{Arrivals::poisson} : std::nullopt;
}

std::optional<Problem> set_reuse(LoadPlan& plan, std::string_view word, const std::string& name) {
  constexpr std::size_t kShownMax = 40;
  plan.reuse.reset();
  if (word == "always") return std::nullopt;
  plan.reuse = word == "never" ? 1 : whole_number<std::uint64_t>(word, 1);
  if (plan.reuse) return std::nullopt;
  return Problem{name + " is not always, never or a number from 1 on: '" +
                     clean_text(word.substr(0, kShownMax)) + "'",
                 "give for example 100"};
}

std::optional<ExpressionProblem> unknown_part(const LoadPlan& plan, const Expression& condition) {
  const auto missing = [&condition](const std::string& kind, const std::string& name) {
    return ExpressionProblem{
        {"'" + condition.text + "': unknown figure: there is no " + kind + " '" + name + "'",
         "use a " + kind + " of the scenario"},
        true};
  };
  if (!condition.target.empty() && !plan.target_named(condition.target)) {
    return missing("target", condition.target);
  }
  if (!condition.phase.empty() && !plan.phase_named(condition.phase)) {
    return missing("phase", condition.phase);
  }
  return std::nullopt;
}

std::string_view method_of(const TargetPlan& target, SentAs as) {
  switch (as) {
    case SentAs::planned:
      return target.method;
    case SentAs::get:
      return "GET";
    case SentAs::head:
      return "HEAD";
    case SentAs::options:
      return "OPTIONS";
    case SentAs::remove:
      return "DELETE";
    case SentAs::post:
      return "POST";
    case SentAs::put:
      return "PUT";
    case SentAs::patch:
      return "PATCH";
  }
  return {};
}

double expected_requests(const Phase& phase) {
  if (phase.replay) return static_cast<double>(phase.replay->requests);
  double requests = 0;
  for (const Segment& segment : phase.segments) requests += expected_arrivals(segment);
  return requests;
}

double expected_requests(const LoadPlan& plan, std::size_t target, Duration from, Duration to) {
  double requests = 0;
  Duration begin = plan.warmup;
  for (const Phase& phase : plan.phases) {
    double in_phase = 0;
    Duration at = begin;
    begin += phase.length();
    for (const Segment& segment : phase.segments) {
      const auto until = [&segment, at](Duration instant) {
        const Duration in_segment = std::clamp(instant - at, Duration::zero(), segment.length);
        return expected_arrivals(segment, in_segment);
      };
      if (at < to && at + segment.length > from) in_phase += until(to) - until(from);
      at += segment.length;
    }
    if (in_phase > 0) requests += in_phase * share_of(plan, phase, target);
  }
  return requests;
}

std::size_t phase_at(const LoadPlan& plan, Duration at) {
  Duration end = plan.warmup;
  for (std::size_t i = 0; i + 1 < plan.phases.size(); ++i) {
    end += plan.phases[i].length();
    if (at < end) return i;
  }
  return plan.phases.size() - 1;
}

std::string run_name(const LoadPlan& plan) {
  if (!plan.run_name.empty()) return plan.run_name;
  return plan.name.empty() ? "load" : plan.name;
}

double mean_rate(const LoadPlan& plan) {
  double requests = 0;
  double seconds = 0;
  for (const Phase& phase : plan.phases) {
    requests += expected_requests(phase);
    seconds += to_seconds(phase.length());
  }
  return seconds > 0 ? requests / seconds : 0;
}

Pacer::Pacer(const LoadPlan& plan, std::vector<CellReader> cells, Share share)
    : plan_{plan},
      cells_{std::move(cells)},
      share_{share},
      numbers_(plan.targets.size(), 0),
      left_{plan.count} {
  cells_.resize(plan.phases.size());
  enter(0);
  plan_next();
}

void Pacer::enter(std::size_t phase) {
  phase_ = phase;
  begin_ = end_;
  schedule_.reset();
  replay_.reset();
  if (phase == plan_.phases.size()) return;
  const Phase& now = plan_.phases[phase];
  const Duration warmup = phase == 0 ? plan_.warmup : Duration::zero();
  const std::uint64_t seed = seed_of(plan_, phase);
  end_ = begin_ + warmup + now.length();
  CHECK(now.replay.has_value() == (cells_[phase] != nullptr));
  if (now.replay) {
    replay_.emplace(*now.replay, seed, std::move(cells_[phase]));
  } else {
    schedule_.emplace(with_warmup(now, warmup), plan_.arrivals, seed);
  }
  mix_.emplace(now.mix, plan_.targets.size(), plan_.arrivals, ~seed);
}

void Pacer::plan_next() {
  while (draw_next() && next_->index % share_.threads != share_.thread) pass();
}

// The next request of the whole schedule; false: there is none.
bool Pacer::draw_next() {
  next_.reset();
  if (left_ && *left_ == 0) return false;
  for (; phase_ < plan_.phases.size(); enter(phase_ + 1)) {
    PlannedRequest planned;
    if (replay_ && replay_->next()) {
      planned = *replay_->next();
    } else if (schedule_ && schedule_->next()) {
      planned.at = *schedule_->next();
    } else {
      continue;
    }
    planned.at += begin_;
    planned.phase = phase_;
    planned.target = mix_->next();
    planned.index = index_++;
    planned.number = ++numbers_[planned.target];
    next_ = planned;
    return true;
  }
  return false;
}

// Leaves it behind.
void Pacer::pass() {
  if (replay_) {
    replay_->take();
  } else {
    schedule_->take();
  }
  if (left_) --*left_;
}

PlannedRequest Pacer::take() {
  CHECK(next_.has_value());
  const PlannedRequest planned = *next_;
  pass();
  plan_next();
  return planned;
}

void Pacer::skip_until(Duration until, const std::function<void(const PlannedRequest&)>& skipped) {
  // A day at the highest rate would take minutes to walk through; beyond this they are not counted.
  constexpr std::uint64_t kSkippedMax = 20'000'000;
  for (std::uint64_t count = 0; due(until) && count < kSkippedMax; ++count) skipped(take());
}

}  // namespace sluice::loadgen
