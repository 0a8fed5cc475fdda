#include "load/core/json_stream.h"

#include <algorithm>

namespace sluice::loadgen {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kPlainEnds = " \t\r\n,]}:{[\"";

}  // namespace

std::optional<Problem> JsonStream::feed(std::string_view piece, const Sink& sink) {
  while (!piece.empty()) {
    std::size_t used = 1;
    if (state_ == State::string || state_ == State::key_string) {
      used = take_string(piece, sink);
    } else if (state_ == State::plain) {
      used = take_plain(piece, sink);
    } else if (kBlanks.find(piece.front()) == std::string_view::npos &&
               !take_mark(piece.front(), sink)) {
      return Problem{"byte " + std::to_string(bytes_ + 1) + ": it is not JSON from there on",
                     "check whether the file was changed or cut"};
    }
    bytes_ += used;
    piece.remove_prefix(used);
  }
  return std::nullopt;
}

std::optional<Problem> JsonStream::finish() const {
  if (state_ == State::ended) return std::nullopt;
  return Problem{"it ends in the middle, after " + std::to_string(bytes_) + " bytes",
                 "give the whole file"};
}

// Up to the quote, or all of the piece.
std::size_t JsonStream::take_string(std::string_view piece, const Sink& sink) {
  std::size_t at = 0;
  while (at < piece.size()) {
    if (escaped_) {
      escaped_ = false;
      ++at;
      continue;
    }
    at = std::min(piece.find_first_of("\"\\", at), piece.size());
    if (at == piece.size()) break;
    escaped_ = piece[at] == '\\';
    ++at;
    if (escaped_) continue;
    keep(piece.substr(0, at));
    if (state_ == State::string) {
      pass(sink);
    } else {
      place_.resize(levels_.back().place);
      if (!place_.empty()) place_ += '.';
      place_ += std::string_view{kept_}.substr(1, kept_.size() - 2);
      kept_.clear();
      state_ = State::colon;
    }
    return at;
  }
  keep(piece);
  return piece.size();
}

std::size_t JsonStream::take_plain(std::string_view piece, const Sink& sink) {
  const std::size_t end = std::min(piece.find_first_of(kPlainEnds), piece.size());
  keep(piece.substr(0, end));
  if (end < piece.size()) pass(sink);
  return end;
}

// False: nothing that may stand there.
bool JsonStream::take_mark(char mark, const Sink& sink) {
  const bool fresh = fresh_;
  fresh_ = false;
  switch (state_) {
    case State::value:
      if (mark == '{' || mark == '[') return open(mark == '{');
      if (mark == ']' && fresh) return close(false, sink);
      if (kPlainEnds.find(mark) != std::string_view::npos && mark != '"') return false;
      state_ = mark == '"' ? State::string : State::plain;
      keep({&mark, 1});
      return true;
    case State::key:
      if (mark == '}' && fresh) return close(true, sink);
      if (mark != '"') return false;
      state_ = State::key_string;
      keep({&mark, 1});
      return true;
    case State::colon:
      state_ = State::value;
      return mark == ':';
    case State::behind:
      if (mark == '}' || mark == ']') return close(mark == '}', sink);
      state_ = levels_.back().object ? State::key : State::value;
      return mark == ',';
    case State::string:
    case State::key_string:
    case State::plain:
    case State::ended:
      return false;
  }
  return false;
}

bool JsonStream::open(bool object) {
  if (levels_.size() == kDepthMax) return false;
  if (!object) place_ += "[]";
  levels_.push_back({object, place_.size()});
  state_ = object ? State::key : State::value;
  fresh_ = true;
  return true;
}

bool JsonStream::close(bool object, const Sink& sink) {
  if (levels_.empty() || levels_.back().object != object) return false;
  constexpr std::size_t kBrackets = 2;
  place_.resize(levels_.back().place - (object ? 0 : kBrackets));
  levels_.pop_back();
  pass(sink);
  return true;
}

// A value is whole.
void JsonStream::pass(const Sink& sink) {
  sink(place_, kept_);
  kept_.clear();
  state_ = levels_.empty() ? State::ended : State::behind;
  if (!levels_.empty()) place_.resize(levels_.back().place);
}

void JsonStream::keep(std::string_view text) {
  const std::size_t most = state_ == State::key_string ? kKeyMax : kValueMax;
  kept_.append(text.substr(0, most - std::min(most, kept_.size())));
}

}  // namespace sluice::loadgen
