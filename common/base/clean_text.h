#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// Whether a character controls the terminal instead of being shown: control characters of
/// ASCII and Latin-1 (C1) but the tab, breaks of lines and paragraphs, marks that turn the
/// direction of writing, characters without width. With them a text from outside could steer a
/// terminal or show a reader of logs something else than what is there.
[[nodiscard]] bool misleads(std::uint32_t rune);

/// `text` with each character that misleads, and each byte that is no UTF-8, replaced by `instead`;
/// what goes into logs, complaints and terminals passes here.
[[nodiscard]] std::string clean_text(std::string_view text, char instead = '?');

/// The same behind what `out` holds.
void append_clean(std::string& out, std::string_view text, char instead = '?');

}  // namespace sluice
