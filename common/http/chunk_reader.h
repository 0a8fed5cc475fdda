#pragma once

#include "common/http/fed.h"

#include <array>
#include <cstdint>
#include <string>

namespace sluice::http {

/// Reads a chunked body up to its last trailer and keeps to RFC 9112 section 7.1 without leniency:
/// a size is 1 to 16 hexadecimal digits and nothing else, extensions and trailers are bounded, a
/// trailer keeps the rules of fields and never names one that frames or routes a message. Every
/// byte given is used, wherever the body is cut.
class ChunkReader {
 public:
  static constexpr std::size_t kExtensionBytesMax = 256;          ///< of one chunk
  static constexpr std::size_t kExtensionBytesTotal = 16 * 1024;  ///< beyond the content's size
  static constexpr std::size_t kTrailerBytesMax = 16 * 1024;
  static constexpr std::size_t kTrailerFieldsMax = 100;

  void reset() { *this = ChunkReader{}; }

  /// `decoded`, when given, receives the content without framing.
  Fed feed(std::string_view bytes, std::string* decoded) { return read(bytes, decoded, false); }

  /// The same for a body that is passed on unchanged except for chunk extensions: they mean
  /// something to the sender's neighbour at most (RFC 9112, 7.1.1). `used` ends before one; the
  /// next call, which begins with it, returns how much of it is `dropped`.
  Fed relay(std::string_view bytes);

  [[nodiscard]] bool done() const { return state_ == State::done; }

  [[nodiscard]] std::uint64_t content_bytes() const { return content_bytes_; }

 private:
  enum class State : std::uint8_t {
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    line,
    name,
    value,
    line_lf,
    last_lf,
    done,
  };

  Fed read(std::string_view bytes, std::string* decoded, bool before_extension);
  [[nodiscard]] bool extension_begins(char c) const;

  /// Takes one byte of framing; not empty: what is wrong with it.
  [[nodiscard]] std::string_view step(char c);
  [[nodiscard]] std::string_view step_size(char c);
  [[nodiscard]] std::string_view step_trailer(char c);
  [[nodiscard]] std::string_view step_name(char c);

  std::uint64_t left_ = 0;  // of the present chunk
  std::uint64_t content_bytes_ = 0;
  std::uint64_t extension_total_ = 0;
  std::size_t extension_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::size_t trailer_fields_ = 0;
  std::array<char, 32> name_{};  // longer ones are none that matter
  std::size_t name_size_ = 0;
  std::uint8_t digits_ = 0;
  State state_ = State::size;
};

}  // namespace sluice::http
