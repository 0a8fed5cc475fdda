// The API's answer with what was recorded of a service.

#include "autoscaler/io/api.h"
#include "autoscaler/io/recording_json.h"

#include <memory>
#include <utility>

namespace sluice::autoscaler {

ApiResult<http::AnswerParts> Api::recording(const ServiceName& name, TimePoint since) {
  const Revision* const revision = find(name);
  if (revision == nullptr) return no_such_service(name);
  const Recording* const recording = revision->recording();
  auto stretches = recording == nullptr ? std::vector<RecordedStretch>{} : recording->stretches();
  if (stretches.empty()) {
    return http::ApiProblem{404, "no-recording", "No recording",
                            "nothing is kept of " + name.space + "/" + name.name,
                            "it is recorded while it is awake: send it a request first"};
  }
  auto lines = std::make_shared<RecordingText>(std::move(stretches), about(revision->facts()),
                                               facts_.version, since);
  return http::AnswerParts{
      [lines = std::move(lines)](std::string& body) { return lines->next(body); }};
}

}  // namespace sluice::autoscaler
