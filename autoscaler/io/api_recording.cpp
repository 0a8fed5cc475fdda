// The API's answer that is too long for one turn of the loop.

#include "autoscaler/io/api.h"
#include "autoscaler/io/recording_json.h"

#include <memory>
#include <utility>

namespace sluice::autoscaler {
namespace {

// A line takes some ten microseconds: requests that wait for the loop wait for half a millisecond.
constexpr int kLinesOfTurn = 50;

struct Writing {
  RecordingText lines;
  std::string text;
  ServicesApi::RecordingDone done;
};

void write_on(Loop& loop, const std::shared_ptr<Writing>& writing) {
  for (int line = 0; line < kLinesOfTurn; ++line) {
    if (!writing->lines.next(writing->text)) return writing->done(std::move(writing->text));
  }
  loop.post([&loop, writing] { write_on(loop, writing); });
}

}  // namespace

void Api::recording(const ServiceName& name, TimePoint since, RecordingDone done) {
  const Revision* const revision = find(name);
  if (revision == nullptr) return done(no_such_service(name));
  const Recording* const recording = revision->recording();
  auto stretches = recording == nullptr ? std::vector<RecordedStretch>{} : recording->stretches();
  if (stretches.empty()) {
    return done(http::ApiProblem{404, "no-recording", "No recording",
                                 "nothing is kept of " + name.space + "/" + name.name,
                                 "it is recorded while it is awake: send it a request first"});
  }
  write_on(parts_.loop,
           std::make_shared<Writing>(Writing{
               RecordingText{std::move(stretches), about(revision->facts()), facts_.version, since},
               {},
               std::move(done)}));
}

}  // namespace sluice::autoscaler
