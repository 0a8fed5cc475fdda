#include "load/io/body_file.h"

#include "common/base/clean_text.h"
#include "common/values/whole_number.h"

#include "load/core/load_plan.h"
#include <algorithm>
#include <fstream>
#include <ios>
#include <iterator>
#include <utility>

namespace sluice::loadgen {

Result<std::string, Problem> read_body_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::string body(kBodyBytesMax + 1, '\0');
  if (file) file.read(body.data(), static_cast<std::streamsize>(body.size()));
  if (file.bad() || !file.is_open() || (file.fail() && !file.eof())) {
    return Problem{"cannot read the body from '" + path + "'", "check the path of the body"};
  }
  body.resize(static_cast<std::size_t>(file.gcount()));
  // Said outright: a string would also do for a Problem.
  return Result<std::string, Problem>{boost::system::in_place_value, std::move(body)};
}

Result<std::string, Problem> parse_hex(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != ' ' && c != '\n'; });
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto byte = hex_number<unsigned>(std::string_view{digits}.substr(i, 2));
    if (!byte || i + 1 == digits.size()) {
      return Problem{"not hexadecimal: '" + clean_text(text.substr(0, 40)) + "'",
                     "give two digits for each byte, like 0a0568656c6c6f"};
    }
    bytes += static_cast<char>(*byte);
  }
  // Said outright: a string would also do for a Problem.
  return Result<std::string, Problem>{boost::system::in_place_value, std::move(bytes)};
}

}  // namespace sluice::loadgen
