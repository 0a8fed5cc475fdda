#include "common/api/door_fields.h"

#include <string>

namespace sluice::api {

const std::vector<DoorField>& door_fields() {
  static const std::vector<DoorField> kFields = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
       "require-trusted-types-for 'script'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return kFields;
}

std::string_view door_lines() {
  static const std::string kLines = [] {
    std::string lines;
    for (const DoorField& field : door_fields()) {
      lines.append(field.name).append(": ").append(field.value).append("\r\n");
    }
    return lines;
  }();
  return kLines;
}

}  // namespace sluice::api
