#include "common/values/json_walk.h"

namespace sluice {

JsonWalk::JsonWalk(std::string_view text) : text_{text} {
  skip_blanks();
  if (take('{')) {
    close_ = '}';
  } else if (take('[')) {
    close_ = ']';
  } else {
    state_ = State::broken;
  }
}

std::optional<JsonWalk::Step> JsonWalk::next() {
  if (state_ == State::ended || state_ == State::broken) return std::nullopt;
  skip_blanks();
  if (take(close_)) {
    skip_blanks();
    state_ = at_ == text_.size() ? State::ended : State::broken;
    return std::nullopt;
  }
  if (state_ == State::further && !take(',')) return fail();
  state_ = State::further;
  Step step;
  if (close_ == '}') {
    skip_blanks();
    const auto key = take_string();
    if (!key) return fail();
    step.key = key->substr(1, key->size() - 2);
    skip_blanks();
    if (!take(':')) return fail();
  }
  skip_blanks();
  const auto value = take_value();
  if (!value) return fail();
  step.value = *value;
  return step;
}

std::optional<JsonWalk::Step> JsonWalk::fail() {
  state_ = State::broken;
  return std::nullopt;
}

void JsonWalk::skip_blanks() {
  const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
  at_ = next == std::string_view::npos ? text_.size() : next;
}

bool JsonWalk::take(char wanted) {
  if (at_ >= text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

std::optional<std::string_view> JsonWalk::take_string() {
  const std::size_t begin = at_;
  if (!take('"')) return std::nullopt;
  while (true) {
    const std::size_t stop = text_.find_first_of("\"\\", at_);
    if (stop == std::string_view::npos) return std::nullopt;
    at_ = stop + 1;
    if (text_[stop] == '"') return text_.substr(begin, at_ - begin);
    if (at_ >= text_.size()) return std::nullopt;
    ++at_;  // whatever is escaped
  }
}

std::optional<std::string_view> JsonWalk::take_value() {
  const std::size_t begin = at_;
  if (at_ >= text_.size()) return std::nullopt;
  if (text_[at_] == '"') return take_string();
  if (text_[at_] != '{' && text_[at_] != '[') {
    const std::size_t end = text_.find_first_of(",]} \t\r\n", at_);
    if (end == std::string_view::npos || end == at_) return std::nullopt;
    at_ = end;
    return text_.substr(begin, at_ - begin);
  }
  std::size_t depth = 0;
  while (true) {
    const std::size_t stop = text_.find_first_of("\"{}[]", at_);
    if (stop == std::string_view::npos) return std::nullopt;
    at_ = stop;
    if (text_[stop] == '"') {
      if (!take_string()) return std::nullopt;
      continue;
    }
    ++at_;
    const bool opens = text_[stop] == '{' || text_[stop] == '[';
    depth = opens ? depth + 1 : depth - 1;
    if (depth == 0) return text_.substr(begin, at_ - begin);
  }
}

std::optional<std::string_view> json_member(std::string_view object, std::string_view key) {
  JsonWalk walk{object};
  while (const auto step = walk.next()) {
    if (step->key == key) return step->value;
  }
  return std::nullopt;
}

std::string_view plain_string(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
  value = value.substr(1, value.size() - 2);
  return value.find('\\') == std::string_view::npos ? value : std::string_view{};
}

}  // namespace sluice
