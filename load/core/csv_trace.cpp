#include "load/core/csv_trace.h"

#include "common/base/clean_text.h"
#include "common/http/text.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <string>

namespace sluice::loadgen {

CsvTrace::Column CsvTrace::column_of(std::string_view name) {
  for (const Name& known : kNames) {
    if (known.text == name) return known.column;
  }
  return Column::none;
}

bool CsvTrace::is_header(std::string_view line) {
  CsvFields fields;
  if (!fields.split(line)) return false;
  return std::any_of(fields.all().begin(), fields.all().end(), [](std::string_view field) {
    const Column column = column_of(http::trimmed(field));
    return column == Column::time || column == Column::at_s;
  });
}

Result<CsvTrace, Problem> CsvTrace::open(std::string_view header) {
  CsvTrace trace;
  if (!trace.fields_.split(header)) {
    return Problem{"the header has an open quote", "write it like time,path,duration_ms"};
  }
  int times = 0;
  for (const std::string_view field : trace.fields_.all()) {
    const Column column = column_of(http::trimmed(field));
    const bool again = column != Column::none &&
                       std::count(trace.columns_.begin(), trace.columns_.end(), column) > 0;
    if (again) {
      return Problem{"the header has '" + std::string{http::trimmed(field)} + "' twice",
                     "keep one of the columns"};
    }
    if (column == Column::time || column == Column::at_s) ++times;
    trace.columns_.push_back(column);
  }
  if (times == 1) return trace;
  if (times == 2) return Problem{"the header has both 'time' and 'at_s'", "keep one of them"};
  return Problem{"no column 'time' or 'at_s' in '" + clean_text(header.substr(0, 60)) + "'",
                 "begin with a header like time,path,duration_ms"};
}

std::optional<Skip> CsvTrace::read(std::string_view line, const CellSink& sink) {
  if (!fields_.split(line) || fields_.all().size() != columns_.size()) return Skip::fields;
  if (const auto skip = read_fields()) return skip;
  return cells_.add(request_.cell, *request_.time, line.size(), sink);
}

std::optional<Skip> CsvTrace::read_fields() {
  request_.clear();
  TraceCell& cell = request_.cell;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view text = http::trimmed(fields_.all()[i]);
    if (text.empty() || text == "-") continue;
    switch (columns_[i]) {
      case Column::none:
        break;
      case Column::time:
        request_.time = dates_.read(text);
        break;
      case Column::at_s:
        request_.time = read_offset(text);
        break;
      case Column::method:
        cell.method = text;
        break;
      case Column::path:
        cell.path = text;
        break;
      case Column::host:
        cell.host = text;
        break;
      case Column::service:
        cell.service = text;
        break;
      case Column::duration_ms:
      case Column::status:
      case Column::body_bytes:
        if (!read_figure(columns_[i], text)) return Skip::number;
        break;
    }
  }
  return request_.time ? std::nullopt : std::optional{Skip::time};
}

bool CsvTrace::read_figure(Column column, std::string_view text) {
  TraceCell& cell = request_.cell;
  if (column == Column::status) {
    cell.status = whole_number<int>(text, 100, 599);
    return cell.status.has_value();
  }
  if (column == Column::body_bytes) {
    cell.body_bytes = whole_number<std::uint64_t>(text);
    return cell.body_bytes.has_value();
  }
  cell.duration = read_span(text, std::chrono::milliseconds{1});
  return cell.duration.has_value();
}

}  // namespace sluice::loadgen
