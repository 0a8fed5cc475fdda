#include "platform/process/escape_sequences.h"

#include <utility>

namespace sluice::local {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';
constexpr char kCancel = '\x18';
constexpr char kSubstitute = '\x1a';
constexpr char kC1Lead = '\xc2';

bool within(char byte, unsigned char first, unsigned char last) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= first && value <= last;
}

}  // namespace

void EscapeSequences::append_without(std::string& out, std::string_view text) {
  while (!text.empty()) {
    if (state_ == State::text && !half_) {
      // Most output has no sequence.
      std::size_t plain = 0;
      while (plain < text.size() && text[plain] != kEscape && text[plain] != kC1Lead) ++plain;
      out.append(text.substr(0, plain));
      text.remove_prefix(plain);
      if (text.empty()) return;
    }
    take(out, text.front());
    text.remove_prefix(1);
  }
}

void EscapeSequences::end(std::string& out) {
  if (half_ && state_ == State::text) out += kC1Lead;
  half_ = false;
  state_ = State::text;
}

// The 8-bit form of what ESC and a letter begin: U+0080 to U+009F, two bytes in UTF-8.
bool EscapeSequences::take_c1(std::string& out, char byte) {
  if (!std::exchange(half_, false)) return false;
  if (state_ == State::string) {
    if (byte != '\x9c') return false;
    state_ = State::text;
    return true;
  }
  switch (byte) {
    case '\x9b':
      state_ = State::control;
      return true;
    case '\x90':
    case '\x98':
    case '\x9d':
    case '\x9e':
    case '\x9f':
      state_ = State::string;
      return true;
    default:
      out += kC1Lead;
      return false;
  }
}

void EscapeSequences::take(std::string& out, char byte) {
  if (take_c1(out, byte)) return;
  switch (state_) {
    case State::text:
      if (byte == kEscape) {
        state_ = State::escape;
      } else if (byte == kC1Lead) {
        half_ = true;
      } else {
        out += byte;
      }
      return;
    case State::escape:
    case State::string_escape:
      return take_escaped(out, byte);
    case State::control:
      if (within(byte, 0x20, 0x3f)) return;
      state_ = State::text;
      if (!within(byte, 0x40, 0x7e) && byte != kCancel && byte != kSubstitute) take(out, byte);
      return;
    case State::string:
      if (byte == kEscape) {
        state_ = State::string_escape;
      } else if (byte == kC1Lead) {
        half_ = true;
      } else if (byte == kBell || byte == kCancel || byte == kSubstitute) {
        state_ = State::text;
      } else if (byte == '\n') {
        state_ = State::text;
        out += byte;
      }
      return;
  }
}

// `ESC \` ends a string; any other sequence ends it, too.
void EscapeSequences::take_escaped(std::string& out, char byte) {
  if (within(byte, 0x20, 0x2f)) return;
  switch (byte) {
    case '[':
      state_ = State::control;
      return;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
      state_ = State::string;
      return;
    default:
      state_ = State::text;
      if (!within(byte, 0x30, 0x7e)) take(out, byte);
  }
}

}  // namespace sluice::local
