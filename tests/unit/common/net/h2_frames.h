#pragma once

#include <string>

/// Frames of HTTP/2 written out: type, flags and stream are easily read so.
namespace sluice::net::testing {

/// `payload`: at most 127 bytes.
[[nodiscard]] inline std::string frame(char type, char flags, char stream,
                                       const std::string& payload) {
  std::string bytes{'\0', '\0',  static_cast<char>(payload.size()), type, flags, '\0', '\0',
                    '\0', stream};
  return bytes + payload;
}

inline constexpr char kData = 0;
inline constexpr char kHeaders = 1;
inline constexpr char kReset = 3;
inline constexpr char kSettings = 4;
inline constexpr char kGoaway = 7;
inline constexpr char kWindowUpdate = 8;
inline constexpr char kContinuation = 9;
inline constexpr char kEnds = 5;     // END_STREAM and END_HEADERS
inline constexpr char kEndHead = 4;  // END_HEADERS

inline const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, "");
inline const std::string kGetBlock{"\x82\x86\x84\x41\x01h"};   // GET http / h
inline const std::string kPostBlock{"\x83\x86\x84\x41\x01h"};  // POST
inline const std::string kProtocolError{"\0\0\0\x01", 4};
inline const std::string kRefusedStream{"\0\0\0\x07", 4};
inline const std::string kGone = frame(kGoaway, 0, 0, std::string{"\0\0\0\0\0\0\0\0", 8});
inline const std::string kOk = frame(kHeaders, kEnds, 1, "\x88");

}  // namespace sluice::net::testing
