#include "load/io/body_file.h"

#include "load/core/load_plan.h"
#include <fstream>
#include <ios>

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

}  // namespace sluice::loadgen
