#include "autoscaler/io/since.h"

#include "autoscaler/io/time_text.h"

namespace sluice::autoscaler {

Result<TimePoint, http::ApiProblem> since_in(const http::ApiTarget& target, const std::string& age,
                                             TimePoint now) {
  const std::string since = target.query.contains("since") ? target.text("since") : age;
  if (const auto from = parse_moment(since, now)) return *from;
  return http::bad_parameter("since", since, "give an age such as 10m, or a time in RFC 3339");
}

}  // namespace sluice::autoscaler
