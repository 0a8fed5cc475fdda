#pragma once

#include <string>
#include <string_view>

namespace sluice::log {

/// Appends `text` as the function `js` of Go's templates writes it: quotes, backslash, `<`, `>`,
/// `&`, `=`, control characters and what is not printable as escapes, anything else as it is. What
/// is not UTF-8 is \uFFFD, where Go leaves the bytes.
void append_js(std::string& out, std::string_view text);

/// The same, but so that it always fits between the quotes of a JSON string: an apostrophe is
/// \u0027.
void append_json(std::string& out, std::string_view text);

/// Appends a number as Go's %v does: the shortest digits that give it back, with an exponent below
/// 1e-4 and from 1e6 on. `number` is finite.
void append_go_float(std::string& out, double number);

/// Appends the path of a request target with its percent escapes decoded, as Go's URL.Path; control
/// characters stay escaped, so that a path cannot end a line.
void append_decoded_path(std::string& out, std::string_view target);

}  // namespace sluice::log
