#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::local {

/// Removes the sequences that steer a terminal (ECMA-48: CSI as in `ESC [31m`, OSC as in titles and
/// links, DCS, SOS, PM, APC, and the short ones) from a text that comes in pieces. A sequence goes
/// as a whole, wherever the pieces begin and end. One that is not ended ends with its line, so that
/// it hides no other; the end of the line stays.
class EscapeSequences {
 public:
  /// What is left of `text`, behind what `out` holds.
  void append_without(std::string& out, std::string_view text);

  /// The text ends here: what a sequence had begun with is forgotten.
  void end(std::string& out);

 private:
  enum class State : std::uint8_t {
    text,
    escape,   // behind ESC
    control,  // CSI, until its final byte
    string,   // OSC and the others, until BEL or ST
    string_escape,
  };

  void take(std::string& out, char byte);
  void take_escaped(std::string& out, char byte);
  [[nodiscard]] bool take_c1(std::string& out, char byte);

  State state_ = State::text;
  bool half_ = false;  // 0xc2 came, which begins the two bytes of a C1 character in UTF-8
};

}  // namespace sluice::local
