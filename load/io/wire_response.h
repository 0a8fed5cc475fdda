#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::loadgen {

/// Reads HTTP/1.x responses from bytes; does no I/O. One object serves a connection for its whole
/// life and allocates nothing per response. Bodies are counted and dropped.
class WireResponse {
 public:
  /// Status line and headers of a response may take so many bytes.
  static constexpr std::size_t kHeaderBytesMax = 16U << 10U;

  enum class State {
    more,     ///< not whole yet
    whole,    ///< status, headers and body are complete
    invalid,  ///< these bytes are no response
  };

  struct Fed {
    std::size_t consumed = 0;
    State state = State::more;
  };

  WireResponse();
  ~WireResponse();
  WireResponse(const WireResponse&) = delete;
  WireResponse& operator=(const WireResponse&) = delete;

  /// Makes ready for the next response; `to_head`: the answer to HEAD, which has no body.
  void begin(bool to_head);

  /// Takes bytes. What was not consumed must be given again with more behind it.
  [[nodiscard]] Fed feed(std::string_view bytes);

  /// The peer has closed: whole for a body that ends so, invalid otherwise.
  [[nodiscard]] State finish();

  /// A first byte of the response has been consumed.
  [[nodiscard]] bool started() const;
  /// After the head.
  [[nodiscard]] unsigned status() const;
  /// The connection may carry another request after a whole response.
  [[nodiscard]] bool keep_alive() const;
  /// The response carries Sluice-Error: Sluice made it itself (protocols.md 7).
  [[nodiscard]] bool refused() const;
  [[nodiscard]] std::uint64_t body_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::loadgen
