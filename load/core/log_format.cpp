#include "load/core/log_format.h"

#include "common/base/check.h"
#include "common/base/clean_text.h"
#include "common/values/whole_number.h"

#include "load/core/target.h"
#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kNameBytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// Where `text` is in `line`, which for a quote is not behind a backslash.
std::size_t find_text(std::string_view line, std::string_view text) {
  std::size_t at = line.find(text);
  while (text.front() == '"' && at != std::string_view::npos) {
    std::size_t slashes = 0;
    while (slashes < at && line[at - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) break;
    at = line.find(text, at + 1);
  }
  return at;
}

// `\"`, `\\` and `\x22` as what they stand for: nginx and Apache write them so.
std::string unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t slash = text.find('\\');
    out += text.substr(0, slash);
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
    const auto code = text.size() >= 3 && text.front() == 'x'
                          ? hex_number<unsigned>(text.substr(1, 2))
                          : std::nullopt;
    if (code) {
      out += static_cast<char>(*code);
      text.remove_prefix(3);
    } else {
      out += text.empty() ? '\\' : text.front();
      if (!text.empty()) text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

LogFormat::Variable LogFormat::variable_of(std::string_view name) {
  static constexpr std::array<Name, 15> kNames{{{"time_local", Variable::time_local},
                                                {"time_iso8601", Variable::date},
                                                {"msec", Variable::date},
                                                {"request", Variable::request},
                                                {"request_method", Variable::method},
                                                {"request_uri", Variable::target},
                                                {"path", Variable::target},
                                                {"host", Variable::host},
                                                {"http_host", Variable::host},
                                                {"service", Variable::service},
                                                {"status", Variable::status},
                                                {"content_length", Variable::body_bytes},
                                                {"request_time", Variable::request_time},
                                                {"duration_ms", Variable::duration_ms},
                                                {"duration_us", Variable::duration_us}}};
  for (const Name& known : kNames) {
    if (known.text == name) return known.variable;
  }
  return Variable::none;
}

Result<LogFormat, Problem> LogFormat::parse(std::string_view text) {
  if (text.size() > kBytesMax) return Problem{"it is longer than 4 KiB", "give a shorter one"};
  LogFormat format;
  const std::size_t first = text.find('$');
  format.before_ = text.substr(0, first);
  text.remove_prefix(format.before_.size());
  while (!text.empty()) {
    if (auto problem = format.add_variable(text)) return *std::move(problem);
  }
  if (auto problem = format.check()) return *std::move(problem);
  return format;
}

// The variable at the front of `text`, and what is behind it.
std::optional<Problem> LogFormat::add_variable(std::string_view& text) {
  const bool braced = text.substr(1).starts_with('{');
  const std::size_t begin = braced ? 2 : 1;
  const std::size_t end = std::min(text.find_first_not_of(kNameBytes, begin), text.size());
  const std::string_view name = text.substr(begin, end - begin);
  const bool closed = !braced || text.substr(end).starts_with('}');
  if (name.empty() || !closed) {
    return Problem{"no name of a variable at '" + clean_text(text.substr(0, 20)) + "'",
                   "write it like $status or ${status}"};
  }
  text.remove_prefix(end + (braced ? 1 : 0));
  const std::string_view behind = text.substr(0, text.find('$'));
  if (behind.empty() && !text.empty()) {
    return Problem{"nothing is between $" + std::string{name} + " and the variable behind it",
                   "give a format with text between them"};
  }
  if (pieces_.size() >= kVariablesMax) return Problem{"more than 100 variables", "give fewer"};
  pieces_.push_back({variable_of(name), std::string{behind}});
  text.remove_prefix(behind.size());
  return std::nullopt;
}

bool LogFormat::has(Variable variable) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [variable](const Piece& piece) { return piece.variable == variable; });
}

std::optional<Problem> LogFormat::check() const {
  const auto count = [this](std::initializer_list<Variable> kind) {
    return std::count_if(pieces_.begin(), pieces_.end(), [kind](const Piece& piece) {
      return std::find(kind.begin(), kind.end(), piece.variable) != kind.end();
    });
  };
  const auto times = count({Variable::time_local, Variable::date});
  if (times == 0) {
    return Problem{"no time", "use $time_local, $time_iso8601 or $msec for it"};
  }
  if (times > 1) return Problem{"two times", "give the second one another name, like $other"};
  const bool twice =
      count({Variable::request_time, Variable::duration_ms, Variable::duration_us}) > 1 ||
      count({Variable::request, Variable::method}) > 1 ||
      count({Variable::request, Variable::target}) > 1 || count({Variable::host}) > 1 ||
      count({Variable::service}) > 1 || count({Variable::status}) > 1 ||
      count({Variable::body_bytes}) > 1;
  if (!twice) return std::nullopt;
  return Problem{"two variables for one figure",
                 "give the one that is not wanted another name, like $other"};
}

LogFormat LogFormat::combined() {
  auto format =
      parse(R"($remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent )"
            R"("$http_referer" "$http_user_agent")");
  CHECK(format.has_value());
  return *std::move(format);
}

LogFormat LogFormat::common() {
  auto format = parse(
      R"($remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent)");
  CHECK(format.has_value());
  return *std::move(format);
}

std::optional<Skip> LogFormat::read(std::string_view line, RecordedRequest& request) const {
  if (!line.starts_with(before_)) return Skip::fields;
  line.remove_prefix(before_.size());
  for (const Piece& piece : pieces_) {
    const std::size_t end = piece.behind.empty() ? line.size() : find_text(line, piece.behind);
    if (end == std::string_view::npos) return Skip::fields;
    const std::string_view value = line.substr(0, end);
    line.remove_prefix(end + piece.behind.size());
    if (value.empty() || value == "-") continue;
    if (const auto skip = take(piece.variable, value, request)) return skip;
  }
  if (!request.time) return Skip::time;
  return has(Variable::request) && request.cell.method.empty() ? std::optional{Skip::request}
                                                               : std::nullopt;
}

std::optional<Skip> LogFormat::take(Variable variable, std::string_view value,
                                    RecordedRequest& request) {
  const auto unless = [](bool right, Skip skip) {
    return right ? std::nullopt : std::optional{skip};
  };
  TraceCell& cell = request.cell;
  switch (variable) {
    case Variable::none:
      return std::nullopt;
    case Variable::time_local:
      request.time = read_log_date(value);
      return unless(request.time.has_value(), Skip::time);
    case Variable::date:
      request.time = Dates{}.read(value);
      return unless(request.time.has_value(), Skip::time);
    case Variable::request:
      return unless(put_request_line(unescaped(value), cell), Skip::request);
    case Variable::method:
      cell.method = value;
      return unless(is_token(value), Skip::request);
    case Variable::target:
      return unless(put_target(unescaped(value), cell), Skip::request);
    case Variable::host:
      cell.host = value;
      return std::nullopt;
    case Variable::service:
      cell.service = value;
      return std::nullopt;
    case Variable::status:
      cell.status = whole_number<int>(value, 100, 599);
      return std::nullopt;
    case Variable::body_bytes:
      cell.body_bytes = whole_number<std::uint64_t>(value);
      return unless(cell.body_bytes.has_value(), Skip::number);
    case Variable::request_time:
      request.at_end = true;
      cell.duration = read_span(value, std::chrono::seconds{1});
      return unless(cell.duration.has_value(), Skip::number);
    case Variable::duration_ms:
      cell.duration = read_span(value, std::chrono::milliseconds{1});
      return unless(cell.duration.has_value(), Skip::number);
    case Variable::duration_us:
      cell.duration = read_span(value, std::chrono::microseconds{1});
      return unless(cell.duration.has_value(), Skip::number);
  }
  return std::nullopt;
}

}  // namespace sluice::loadgen
