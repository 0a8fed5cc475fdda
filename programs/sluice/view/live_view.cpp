#include "programs/sluice/view/live_view.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/tables.h"
#include <algorithm>
#include <utility>

namespace sluice::view {
namespace {

constexpr std::string_view kKeys = "q quit   e explain   l output   arrows choose";
constexpr std::string_view kKeysShort = "q quit  e explain  l output";
constexpr std::string_view kEnding = "waits for requests in flight; Ctrl-C kills them";
constexpr std::string_view kEndingShort = "ending; Ctrl-C kills";
constexpr std::size_t kRowsMin = 3;
constexpr std::size_t kEventIndent = 10;    // the width of its time
constexpr std::size_t kExplainIndent = 17;  // of what follows a title

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(printable(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

template <class Texts>
std::vector<std::string> wrapped_lines(const Texts& texts, std::size_t columns,
                                       std::size_t indent) {
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    for (std::string& line : wrapped(text, columns, indent)) lines.push_back(std::move(line));
  }
  return lines;
}

template <class Kept>
void forget_old(std::deque<Kept>& kept) {
  while (kept.size() > LiveView::kLinesMax) kept.pop_front();
}

void add_newest(std::vector<std::string>& out, const std::vector<std::string>& lines,
                std::size_t room) {
  const std::size_t skip = lines.size() > room ? lines.size() - room : 0;
  out.insert(out.end(), lines.begin() + static_cast<std::ptrdiff_t>(skip), lines.end());
}

}  // namespace

void LiveView::set_services(nlohmann::json services) {
  const std::string before = selected();
  names_.clear();
  urls_.clear();
  replicas_ = 0;
  for (const nlohmann::json& service : services) {
    const std::string engine = text_field(service, "engine");
    names_.push_back((engine.empty() ? "" : engine + "/") + text_field(service, "name"));
    urls_.push_back(text_field(service, "url"));
    for (const char* state : {"ready", "starting", "draining"}) {
      replicas_ += integer_field(service, state);
    }
  }
  const auto found = std::find(names_.begin(), names_.end(), before);
  chosen_ = found == names_.end() ? 0 : static_cast<std::size_t>(found - names_.begin());
  table_ = top_rows(services);
}

void LiveView::set_explanation(std::string text) {
  explanation_ = std::move(text);
}

void LiveView::add_line(std::string_view line) {
  for (std::string& each : split_lines(line)) lines_.push_back(std::move(each));
  forget_old(lines_);
}

void LiveView::add_log(const std::string& service, std::string_view line) {
  for (std::string& each : split_lines(line)) logs_.push_back({service, std::move(each)});
  forget_old(logs_);
}

void LiveView::set_logs(std::string_view text) {
  logs_.clear();
  add_log(selected(), text);
}

bool LiveView::on_key(char key) {
  if (std::exchange(asking_, false)) return key == 'y' || key == 'Y';
  switch (key) {
    case 'q':
    case 'Q':
      asking_ = quit_ == Quit::ends;
      return !asking_;
    case 'e':
      pane_ = pane_ == Pane::explain ? Pane::lines : Pane::explain;
      return false;
    case 'l':
      pane_ = pane_ == Pane::logs ? Pane::lines : Pane::logs;
      return false;
    default:
      return false;
  }
}

bool LiveView::on_keys(std::string_view keys) {
  while (!keys.empty()) {
    const bool up = keys.starts_with("\x1b[A") || keys.starts_with("\x1bOA");
    const bool down = keys.starts_with("\x1b[B") || keys.starts_with("\x1bOB");
    if (up && chosen_ > 0) {
      --chosen_;
    }
    if (down && chosen_ + 1 < names_.size()) {
      ++chosen_;
    }
    if (on_key(keys.front())) return true;
    keys.remove_prefix(keys.front() == '\x1b' ? std::min<std::size_t>(3, keys.size()) : 1);
  }
  return false;
}

std::string LiveView::selected() const {
  return chosen_ < names_.size() ? names_[chosen_] : std::string{};
}

// The address and whose view it is: on two lines where one is too short for both.
LiveView::Lines LiveView::head(std::size_t columns) const {
  std::string address = chosen_ < urls_.size() ? urls_[chosen_] : std::string{};
  if (address.empty()) address = address_;
  if (address.empty()) return {who_};
  const std::string both = address + " · " + who_;
  return width_of(both) <= columns ? Lines{both} : Lines{address, who_};
}

LiveView::Lines LiveView::table(std::size_t columns) const {
  const bool several = names_.size() > 1;
  const std::size_t margin = several ? 2 : 0;
  Lines lines = split_lines(top_text(table_, columns > margin ? columns - margin : 0));
  for (std::size_t i = 0; several && i < lines.size(); ++i) {
    lines[i].insert(0, i == chosen_ + 1 ? "> " : "  ");
  }
  return lines;
}

LiveView::Lines LiveView::output() const {
  Lines lines;
  const std::string service = selected();
  for (const Output& each : logs_) {
    if (each.service == service) lines.push_back(each.line);
  }
  return lines;
}

// The newest lines are the ones to see; an explanation is read from its start.
LiveView::Lines LiveView::below(std::size_t room, std::size_t columns) const {
  Lines out;
  if (pane_ == Pane::explain) {
    out = wrapped_lines(split_lines(explanation_), columns, kExplainIndent);
    out.resize(std::min(out.size(), room));
    return out;
  }
  const Lines printed = output();
  if (pane_ == Pane::logs || (lines_.empty() && printed.empty())) {
    add_newest(out, printed, room);
    return out;
  }
  const Lines events = wrapped_lines(lines_, columns, kEventIndent);
  // A title each; half of the rest for output, and what one leaves is the other's.
  const std::size_t titles = printed.empty() ? 1 : 2;
  if (room <= titles) return out;
  const std::size_t rows = room - titles;
  const std::size_t least = std::min(printed.size(), rows / 2);
  const std::size_t above = std::min(events.size(), rows - least);
  out.emplace_back("events");
  add_newest(out, events, above);
  if (printed.empty()) return out;
  out.push_back("output of " + selected());
  add_newest(out, printed, rows - above);
  return out;
}

std::string LiveView::question(std::size_t columns) const {
  const std::string whole = fmt::format("end {}, with {} {} and {} {}? y/n", who_, names_.size(),
                                        names_.size() == 1 ? "service" : "services", replicas_,
                                        replicas_ == 1 ? "replica" : "replicas");
  return width_of(whole) <= columns ? whole : "end all services? y/n";
}

std::string LiveView::foot(std::size_t columns) const {
  if (asking_) return question(columns);
  const auto fitting = [columns](std::string_view whole, std::string_view part) {
    return std::string(width_of(whole) <= columns ? whole : part);
  };
  return ending_ ? fitting(kEnding, kEndingShort) : fitting(kKeys, kKeysShort);
}

std::vector<std::string> LiveView::frame(ScreenSize size) const {
  const std::size_t rows = std::max<std::size_t>(size.rows, kRowsMin);
  Lines out = head(size.columns);
  for (std::string& line : table(size.columns)) out.push_back(std::move(line));
  out.resize(std::min(out.size(), rows - 2));
  out.emplace_back();
  for (std::string& line : below(rows - out.size() - 1, size.columns))
    out.push_back(std::move(line));
  out.resize(rows - 1);
  out.push_back(foot(size.columns));
  for (std::string& line : out) line = shortened(line, size.columns);
  return out;
}

std::string LiveView::paint(ScreenSize size) const {
  std::string bytes = "\x1b[H";
  bool first = true;
  for (const std::string& line : frame(size)) {
    bytes += (first ? "" : "\r\n") + line + "\x1b[K";
    first = false;
  }
  return bytes + "\x1b[J";
}

}  // namespace sluice::view
