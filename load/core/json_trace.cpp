#include "load/core/json_trace.h"

#include "common/base/clean_text.h"
#include "common/values/duration.h"
#include "common/values/json_walk.h"
#include "common/values/whole_number.h"

#include "load/core/json_text.h"
#include "load/core/target.h"
#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace sluice::loadgen {

namespace {

struct Log {
  std::string_view name;
  std::string_view needed;  // members that only its lines of requests have
  std::string_view fields;
};

// Times of Caddy and of Knative's lines are those of the end. Knative's have one where a collector
// adds it.
constexpr std::array<Log, 5> kLogs{
    {{"Knative", "httpRequest.requestMethod",
      "end_time=timestamp,end_time=time,end_time=ts,end_time=@timestamp,"
      "method=httpRequest.requestMethod,path=httpRequest.requestUrl,status=httpRequest.status,"
      "body_bytes=httpRequest.requestSize,duration_s=httpRequest.latency"},
     {"Envoy", "start_time,response_code",
      "time=start_time,method=method,path=path,host=authority,service=upstream_cluster,"
      "status=response_code,body_bytes=bytes_received,duration_ms=duration"},
     {"Caddy", "request.uri,size",
      "end_time=ts,method=request.method,path=request.uri,host=request.host,status=status,"
      "body_bytes=bytes_read,duration_s=duration"},
     {"Traefik", "StartUTC",
      "time=StartUTC,method=RequestMethod,path=RequestPath,host=RequestHost,service=ServiceName,"
      "status=DownstreamStatus,body_bytes=RequestContentSize,duration_ns=Duration"},
     {"", "",
      "time=time,end_time=end_time,at_s=at_s,method=method,path=path,host=host,service=service,"
      "status=status,body_bytes=body_bytes,duration_ms=duration_ms"}}};

std::optional<std::string_view> member_at(std::string_view object,
                                          const std::vector<std::string>& members) {
  std::optional<std::string_view> value{object};
  for (const std::string& member : members) {
    if (value) value = json_member(*value, member);
  }
  return value;
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// A number of `unit`, or what has a unit of its own: `0.123s`, also with an exponent, as Knative
// writes it.
std::optional<Duration> read_latency(std::string_view text, Duration unit) {
  if (const auto span = read_span(text, unit)) return span;
  if (!text.ends_with('s')) return std::nullopt;
  const auto seconds = read_span(text.substr(0, text.size() - 1), std::chrono::seconds{1});
  if (seconds) return seconds;
  const auto read = read_duration(text, {Duration{0}, std::chrono::hours{24}});
  return read ? std::optional{*read} : std::nullopt;
}

// What is before the object of a line, which `line` becomes.
std::string_view take_stamp(std::string_view& line) {
  if (line.starts_with('{')) return {};
  const std::size_t blank = line.find(' ');
  const std::size_t object = line.find('{');
  if (blank == std::string_view::npos || object == std::string_view::npos) return {};
  const std::string_view stamp = line.substr(0, blank);
  line.remove_prefix(object);
  return stamp;
}

bool is_object(std::string_view text) {
  JsonWalk walk{text};
  while (walk.next()) {
  }
  return text.starts_with('{') && walk.whole();
}

}  // namespace

std::optional<JsonFields::Column> JsonFields::column_of(std::string_view name) {
  static constexpr std::array<Name, 13> kNames{{{"time", Column::time},
                                                {"end_time", Column::end_time},
                                                {"at_s", Column::at_s},
                                                {"method", Column::method},
                                                {"path", Column::path},
                                                {"host", Column::host},
                                                {"service", Column::service},
                                                {"status", Column::status},
                                                {"body_bytes", Column::body_bytes},
                                                {"duration_s", Column::duration_s},
                                                {"duration_ms", Column::duration_ms},
                                                {"duration_us", Column::duration_us},
                                                {"duration_ns", Column::duration_ns}}};
  for (const Name& known : kNames) {
    if (known.text == name) return known.column;
  }
  return std::nullopt;
}

Result<JsonFields, Problem> JsonFields::parse(std::string_view text) {
  auto fields = read_list(text);
  if (!fields) return fields;
  std::set<Column> seen;
  for (const Field& field : fields->fields_) {
    if (seen.insert(field.column).second) continue;
    return Problem{"a name is there twice", "give each name once"};
  }
  return fields;
}

// Of a known log a name may be there twice: the members are those of its versions.
Result<JsonFields, Problem> JsonFields::read_list(std::string_view text) {
  JsonFields out;
  bool timed = false;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto column = column_of(std::string_view{part}.substr(0, equals));
    if (!column || equals == std::string::npos || equals + 1 == part.size()) {
      return Problem{"'" + clean_text(part.substr(0, 40)) + "' is no field",
                     "write it like time=ts,path=request.uri; names are time end_time at_s method "
                     "path host service status body_bytes duration_s duration_ms duration_us "
                     "duration_ns"};
    }
    timed = timed || column == Column::time || column == Column::end_time || column == Column::at_s;
    out.fields_.push_back({*column, split(std::string_view{part}.substr(equals + 1), '.')});
  }
  if (out.fields_.size() > kFieldsMax) return Problem{"more than 32 fields", "name fewer"};
  if (timed) return out;
  return Problem{"no field has the time", "add time=MEMBER, end_time=MEMBER or at_s=MEMBER"};
}

std::optional<JsonFields> JsonFields::guess(std::string_view object, bool dated) {
  for (const Log& log : kLogs) {
    auto fields = read_list(log.fields);
    if (!fields) continue;
    if (!log.needed.empty()) {
      for (const std::string& member : split(log.needed, ','))
        fields->needed_.push_back(split(member, '.'));
    }
    const bool timed = fields->has_time(object) || (dated && !log.needed.empty());
    if (!timed || !fields->has_all_needed(object)) continue;
    fields->written_by_ = log.name;
    return *std::move(fields);
  }
  return std::nullopt;
}

bool JsonFields::has_time(std::string_view object) const {
  return std::any_of(fields_.begin(), fields_.end(), [object](const Field& field) {
    return (field.column == Column::time || field.column == Column::end_time ||
            field.column == Column::at_s) &&
           member_at(object, field.members);
  });
}

bool JsonFields::has_all_needed(std::string_view object) const {
  return std::all_of(needed_.begin(), needed_.end(),
                     [object](const std::vector<std::string>& members) {
                       return member_at(object, members).has_value();
                     });
}

std::optional<Skip> JsonFields::read(std::string_view object, Dates& dates,
                                     RecordedRequest& request) const {
  if (!has_all_needed(object)) return Skip::request;
  for (const Field& field : fields_) {
    const auto value = member_at(object, field.members);
    if (!value) continue;
    const auto text = json_text(*value);
    if (!text || text->empty() || *text == "-") continue;
    if (const auto skip = put(field.column, *text, dates, request)) return skip;
  }
  return request.time ? std::nullopt : std::optional{Skip::time};
}

std::optional<Skip> JsonFields::put(Column column, const std::string& text, Dates& dates,
                                    RecordedRequest& request) {
  const auto unless = [](bool right, Skip skip) {
    return right ? std::nullopt : std::optional{skip};
  };
  const auto lasted = [&](Duration unit) {
    request.cell.duration = read_latency(text, unit);
    return unless(request.cell.duration.has_value(), Skip::number);
  };
  switch (column) {
    case Column::time:
    case Column::end_time:
      request.time = dates.read(text);
      request.at_end = column == Column::end_time;
      return unless(request.time.has_value(), Skip::time);
    case Column::at_s:
      request.time = read_offset(text);
      return unless(request.time.has_value(), Skip::time);
    case Column::method:
      request.cell.method = text;
      return unless(is_token(text), Skip::request);
    case Column::path:
      return unless(put_target(text, request.cell), Skip::request);
    case Column::host:
      request.cell.host = text;
      return std::nullopt;
    case Column::service:
      request.cell.service = text;
      return std::nullopt;
    case Column::status:
      request.cell.status = whole_number<int>(text, 100, 599);
      return std::nullopt;
    case Column::body_bytes:
      request.cell.body_bytes = whole_number<std::uint64_t>(text);
      return std::nullopt;
    case Column::duration_s:
      return lasted(std::chrono::seconds{1});
    case Column::duration_ms:
      return lasted(std::chrono::milliseconds{1});
    case Column::duration_us:
      return lasted(std::chrono::microseconds{1});
    case Column::duration_ns:
      return lasted(std::chrono::nanoseconds{1});
  }
  return std::nullopt;
}

bool JsonTrace::is_line(std::string_view line) {
  const std::string_view stamp = take_stamp(line);
  return line.starts_with('{') && (stamp.empty() || Dates{}.read(stamp));
}

std::optional<Skip> JsonTrace::read(std::string_view line, const CellSink& sink) {
  request_.clear();
  std::string_view object = line;
  const std::string_view stamp = take_stamp(object);
  if (!is_object(object)) return Skip::fields;
  if (!stamp.empty()) {
    request_.time = dates_.read(stamp);
    if (!request_.time) return Skip::fields;
    request_.at_end = true;
  }
  if (!fields_) fields_ = JsonFields::guess(object, !stamp.empty());
  if (!fields_) return Skip::request;
  if (const auto skip = fields_->read(object, dates_, request_)) return skip;
  return cells_.add(request_.cell, *begin_of(request_), line.size(), sink);
}

std::string_view JsonTrace::written_by() const {
  return fields_ ? fields_->written_by() : std::string_view{};
}

}  // namespace sluice::loadgen
