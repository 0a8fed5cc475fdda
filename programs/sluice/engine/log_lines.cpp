#include "programs/sluice/engine/log_lines.h"

#include "autoscaler/io/services_api.h"
#include "common/values/rfc3339.h"

namespace sluice::local {

std::string log_text(const std::vector<LogLine>& lines, bool times) {
  std::string text;
  for (const LogLine& line : lines) {
    text += autoscaler::output_text({.time = rfc3339(line.time, Fraction::milliseconds),
                                     .replica = line.replica,
                                     .start = line.start,
                                     .text = line.text},
                                    times);
  }
  return text;
}

}  // namespace sluice::local
