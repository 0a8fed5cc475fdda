#include "programs/sluice/view/live_view.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/tables.h"
#include <algorithm>

namespace sluice::view {
namespace {

constexpr std::string_view kKeys = "q quit   e explain   l logs   arrows choose";

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(printable(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string cut(std::string line, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t used = 0; at < line.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(line[at]) & 0xC0U) != 0x80U;
    if (begins && ++used > columns) {
      break;
    }
  }
  line.resize(at);
  return line;
}

void keep(std::deque<std::string>& kept, std::string_view text) {
  for (std::string& line : split_lines(text)) {
    kept.push_back(std::move(line));
  }
  while (kept.size() > LiveView::kLinesMax) {
    kept.pop_front();
  }
}

}  // namespace

void LiveView::set_services(nlohmann::json services) {
  const std::string before = selected();
  names_.clear();
  for (const nlohmann::json& service : services) {
    const std::string engine = text_field(service, "engine");
    names_.push_back((engine.empty() ? "" : engine + "/") + text_field(service, "name"));
  }
  const auto found = std::find(names_.begin(), names_.end(), before);
  chosen_ = found == names_.end() ? 0 : static_cast<std::size_t>(found - names_.begin());
  table_ = top_text(services);
}

void LiveView::set_explanation(std::string text) {
  explanation_ = std::move(text);
}

void LiveView::add_line(std::string_view line) {
  keep(lines_, line);
}

void LiveView::add_log(std::string_view line) {
  keep(logs_, line);
}

void LiveView::set_logs(std::string_view text) {
  logs_.clear();
  keep(logs_, text);
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
    const char key = keys.front();
    if (key == 'q' || key == 'Q') {
      return true;
    }
    if (key == 'e') {
      pane_ = pane_ == Pane::explain ? Pane::lines : Pane::explain;
    }
    if (key == 'l') {
      pane_ = pane_ == Pane::logs ? Pane::lines : Pane::logs;
    }
    keys.remove_prefix(key == '\x1b' ? std::min<std::size_t>(3, keys.size()) : 1);
  }
  return false;
}

std::string LiveView::selected() const {
  return chosen_ < names_.size() ? names_[chosen_] : std::string{};
}

std::vector<std::string> LiveView::frame(ScreenSize size) const {
  std::vector<std::string> out;
  const auto table = split_lines(table_);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const bool chosen = i == chosen_ + 1 && names_.size() > 1;
    out.push_back((chosen ? "> " : names_.size() > 1 ? "  " : "") + table[i]);
  }
  const std::size_t rows = std::max<std::size_t>(size.rows, 3);
  out.resize(std::min(out.size(), rows - 2));
  out.emplace_back();
  std::vector<std::string> below;
  if (pane_ == Pane::explain) {
    below = split_lines(explanation_);
  } else if (pane_ == Pane::logs) {
    below.assign(logs_.begin(), logs_.end());
  } else {
    below.assign(lines_.begin(), lines_.end());
  }
  const std::size_t room = rows - out.size() - 1;
  // The newest lines are the ones to see; an explanation is read from its start.
  const std::size_t skip = pane_ != Pane::explain && below.size() > room ? below.size() - room : 0;
  for (std::size_t i = skip; i < below.size() && i - skip < room; ++i) {
    out.push_back(below[i]);
  }
  out.resize(rows - 1);
  out.emplace_back(kKeys);
  for (std::string& line : out) {
    line = cut(std::move(line), size.columns);
  }
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
