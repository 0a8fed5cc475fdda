#include "load/core/shape.h"

#include "common/base/clean_text.h"
#include "common/http/text.h"
#include "common/values/closest_name.h"

#include "load/core/quantity.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sluice::loadgen {

namespace {

using http::trimmed;

constexpr double kExponentialRateMin = 0.001;
constexpr std::size_t kQuotedMax = 40;

// A day of people's requests, midnight to midnight: how far the rate is from LOW to HIGH at each
// full hour, in lines between them. Lowest at 4, highest at 14, a second rise in the evening; the
// mean is 0.575.
constexpr std::array<double, 25> kDay{0.28, 0.17, 0.09, 0.03, 0.00, 0.04, 0.14, 0.31, 0.53,
                                      0.74, 0.88, 0.94, 0.92, 0.95, 1.00, 0.98, 0.93, 0.86,
                                      0.80, 0.79, 0.77, 0.69, 0.56, 0.40, 0.28};

enum class Kind : std::uint8_t { step, ramp, exponential, sine, spike, day, pause };

struct Form {
  std::string_view word;
  Kind kind;
  std::string_view example;
};

constexpr std::array<Form, 7> kForms{{{"step", Kind::step, "step 20:10s"},
                                      {"ramp", Kind::ramp, "ramp 20-400:1m"},
                                      {"exp", Kind::exponential, "exp 1-1000:5m"},
                                      {"sine", Kind::sine, "sine 10-50/1m:10m"},
                                      {"spike", Kind::spike, "spike 400:10s"},
                                      {"day", Kind::day, "day 5-100:1h"},
                                      {"pause", Kind::pause, "pause 30s"}}};

// What stands around `mark` in a text that has it.
struct Halves {
  std::string_view before;
  std::string_view after;
};

std::optional<Halves> halves(std::string_view text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return Halves{trimmed(text.substr(0, at)), trimmed(text.substr(at + 1))};
}

class ShapeReader {
 public:
  ShapeReader(std::string_view text, const ShapeSource& source) : text_{text}, source_{source} {}

  Result<std::vector<Segment>, Problem> read() {
    std::string_view rest = text_;
    for (std::size_t count = 0; count < kShapeItemsMax; ++count) {
      const std::size_t comma = rest.find(',');
      if (auto problem = take_item(trimmed(rest.substr(0, comma)))) return *std::move(problem);
      if (comma == std::string_view::npos) return std::move(segments_);
      rest.remove_prefix(comma + 1);
    }
    return wrong(rest, "more than 1000 items", "join items");
  }

 private:
  using Trouble = std::optional<Problem>;

  // `at` is a part of the text: its place is the column.
  [[nodiscard]] std::string place(std::string_view at) const {
    if (!source_.has_columns) return source_.name + ": ";
    return source_.name + ", column " + std::to_string(at.data() - text_.data() + 1) + ": ";
  }

  [[nodiscard]] Problem wrong(std::string_view at, const std::string& what, std::string fix) const {
    return {place(at) + what, std::move(fix)};
  }

  [[nodiscard]] Problem malformed(const Form& form, std::string_view at,
                                  const std::string& what) const {
    return wrong(at, what, "write it like '" + std::string{form.example} + "'");
  }

  static std::string quoted(std::string_view text) {
    return "'" + clean_text(text.substr(0, kQuotedMax)) + "'";
  }

  Trouble take_item(std::string_view item) {
    if (item.empty()) return wrong(item, "an item is missing", "write one, like 'step 20:10s'");
    constexpr std::string_view kNumber = "0123456789.";
    const bool bare = kNumber.find(item.front()) != std::string_view::npos;
    const std::string_view word = bare ? "step" : item.substr(0, item.find_first_of(" \t:"));
    const std::string_view rest = bare ? item : trimmed(item.substr(word.size()));
    for (const Form& form : kForms) {
      if (form.word == word) return take(form, rest);
    }
    std::vector<std::string> words;
    words.reserve(std::size(kForms));
    for (const Form& form : kForms) words.emplace_back(form.word);
    const auto closest = closest_name(word, words);
    return wrong(word, "no kind of item: " + quoted(word),
                 closest ? "did you mean '" + *closest + "'?"
                         : "use step, ramp, exp, sine, spike, day or pause");
  }

  Trouble take(const Form& form, std::string_view rest) {
    if (form.kind == Kind::pause) {
      const auto length = read_time(rest, "the time of the pause");
      if (!length) return length.error();
      segments_.push_back({0, *length});
      return std::nullopt;
    }
    const auto parts = halves(rest, ':');
    if (!parts) {
      return malformed(form, rest, "the item has no time after a colon: " + quoted(rest));
    }
    const auto length = read_time(parts->after, "the time of the item");
    if (!length) return length.error();
    if (form.kind == Kind::step || form.kind == Kind::spike) {
      const auto rate = read_rate(form, parts->before);
      if (!rate) return rate.error();
      add_single(form.kind, *rate, *length);
      return std::nullopt;
    }
    return take_range(form, parts->before, *length);
  }

  void add_single(Kind kind, double rate, Duration length) {
    if (kind == Kind::step) {
      segments_.push_back({rate, length});
      return;
    }
    const double before = segments_.empty() ? source_.rate_before : rate_at_end(segments_.back());
    segments_.push_back({before, length / 2, rate});
    segments_.push_back({rate, length - length / 2, before});
  }

  Trouble take_range(const Form& form, std::string_view text, Duration length) {
    Duration period{0};
    if (form.kind == Kind::sine) {
      const auto parts = halves(text, '/');
      if (!parts) return malformed(form, text, "a sine has no period after a slash");
      const auto read = read_time(parts->after, "the period");
      if (!read) return read.error();
      period = *read;
      text = parts->before;
    }
    const auto ends = halves(text, '-');
    if (!ends) return malformed(form, text, "not two rates with a dash: " + quoted(text));
    const auto from = read_rate(form, ends->before);
    if (!from) return from.error();
    const auto to = read_rate(form, ends->after);
    if (!to) return to.error();
    return add_range(form, text, {*from, length, *to, Curve::linear, period});
  }

  Trouble add_range(const Form& form, std::string_view text, Segment segment) {
    const double from = segment.per_second;
    const double to = segment.to_per_second;
    if (form.kind == Kind::exponential &&
        (from < kExponentialRateMin || to < kExponentialRateMin)) {
      return wrong(text, "an exp has a rate below 0.001: " + quoted(text),
                   "begin with a small rate, like 'exp 1-1000:5m'");
    }
    const bool rises = form.kind == Kind::sine || form.kind == Kind::day;
    if (rises && from > to) {
      return wrong(text, "the lower rate is not the first: " + quoted(text), "exchange them");
    }
    if (form.kind == Kind::day) {
      add_day(from, to, segment.length);
      return std::nullopt;
    }
    if (form.kind == Kind::exponential) segment.curve = Curve::exponential;
    if (form.kind == Kind::sine) segment.curve = Curve::sine;
    segments_.push_back(segment);
    return std::nullopt;
  }

  void add_day(double low, double high, Duration length) {
    constexpr auto kHours = static_cast<std::int64_t>(kDay.size()) - 1;
    for (std::int64_t hour = 0; hour < kHours; ++hour) {
      const auto at = static_cast<std::size_t>(hour);
      const Duration part = length * (hour + 1) / kHours - length * hour / kHours;
      segments_.push_back({low + (high - low) * kDay[at], part, low + (high - low) * kDay[at + 1]});
    }
  }

  [[nodiscard]] Result<double, Problem> read_rate(const Form& form, std::string_view text) const {
    const auto rate = parse_number(text);
    if (!rate) return malformed(form, text, "not a rate: " + quoted(text));
    if (*rate > kRateMax) {
      return wrong(text, "a rate above 1000000/s: " + quoted(text), "give a lower one");
    }
    return *rate;
  }

  [[nodiscard]] Result<Duration, Problem> read_time(std::string_view text,
                                                    const std::string& what) const {
    auto length = parse_duration(text, place(text) + what);
    if (length && *length <= Duration::zero()) {
      return wrong(text, what + " is zero", "give for example 10s");
    }
    return length;
  }

  std::string_view text_;
  const ShapeSource& source_;  // of the caller of parse_shape
  std::vector<Segment> segments_;
};

}  // namespace

Result<std::vector<Segment>, Problem> parse_shape(std::string_view text,
                                                  const ShapeSource& source) {
  return ShapeReader{text, source}.read();
}

}  // namespace sluice::loadgen
