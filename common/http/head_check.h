#pragma once

#include "common/http/fed.h"
#include "common/http/message.h"

namespace sluice::http {

/// Limits of one message's head.
struct HeadLimits {
  std::size_t bytes_max = 1 << 20;  ///< start line and fields with their line ends
  std::size_t fields_max = 1000;    ///< at most 65535
};

/// Watches a head arrive and finds its end, line by line, as RFC 9112 spells it and no laxer: every
/// line ends with CRLF, no control characters but tabs inside fields, no folded lines, no space
/// around names. What passes is read alike by every reader behind us. Sees each byte once.
class HeadCheck {
 public:
  enum class Kind : std::uint8_t { request, response };

  HeadCheck(Kind kind, const HeadLimits& limits) : kind_{kind}, limits_{limits} {}

  void reset() { at_ = line_ = fields_ = 0; }

  [[nodiscard]] bool begun() const { return at_ > 0; }

  /// `bytes` begin with the head's first byte on every call. `done`: `used` is the head's size.
  Fed look(std::string_view bytes);

 private:
  [[nodiscard]] Fed check_line(std::string_view line);

  Kind kind_;
  HeadLimits limits_;
  std::size_t at_ = 0;    // first byte not looked at
  std::size_t line_ = 0;  // where the present line begins
  std::size_t fields_ = 0;
};

/// How the end of a body is given in its head.
struct BodyFraming {
  Framing framing = Framing::none;
  std::uint64_t length = 0;
  std::string_view problem;  ///< as Fed::why; empty when the fields agree with RFC 9112 section 6
};

/// Reads Content-Length and Transfer-Encoding: at most one of them, once, a plain decimal number or
/// exactly `chunked`. Everything else is a problem, also what a lenient reader could make sense of.
[[nodiscard]] BodyFraming framing_of(const FieldList& fields, int version_minor);

/// Whether `target` is one a request with `method` may have, in any version of HTTP: origin-form,
/// absolute-form, `*` for OPTIONS, authority-form for CONNECT; no fragment, space or control
/// character.
[[nodiscard]] bool is_target(std::string_view method, std::string_view target);

/// Path part of a target as it came, in origin-form or absolute-form, without query.
[[nodiscard]] std::string_view path_of(std::string_view target);

/// Method and target as the request line of a head that is refused gives them, whatever is wrong
/// with it or not there yet; no more than their beginnings, and nothing else. Leaves `head` empty
/// where `bytes`, the head from its first byte on, begin with no method.
void glean_request_line(std::string_view bytes, RequestHead& head);

/// Whether `host` is allowed in a Host field: no spaces, slashes or control characters.
[[nodiscard]] bool is_host(std::string_view host);

/// What is wrong with the Host fields of a request; empty when nothing is.
[[nodiscard]] std::string_view host_problem(const RequestHead& head);

/// Makes the authority of an absolute-form target the Host, whatever Host came with it, and leaves
/// the target in origin-form, or `*` (RFC 9112, 3.2.2 and 3.2.4): a program that routes, serves or
/// logs the request sees one host. Not empty: what is wrong with the authority.
[[nodiscard]] std::string_view to_origin_form(RequestHead& head);

}  // namespace sluice::http
