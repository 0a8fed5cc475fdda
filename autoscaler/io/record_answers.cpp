#include "autoscaler/io/record_answers.h"

#include "autoscaler/io/since.h"
#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <utility>

namespace sluice::autoscaler {
namespace {

using api::ApiAnswer;
using http::ApiTarget;
using nlohmann::json;

ApiAnswer refusal(const http::ApiProblem& problem) {
  return {http::problem_answer(problem), {}, {}, {}};
}

}  // namespace

http::AnswerParts parts_of_records(std::unique_ptr<KeptRecords> records, const http::ApiPage& page,
                                   const std::string& more) {
  const std::shared_ptr<KeptRecords> shared = std::move(records);
  return http::parts_after(
      [shared] { return shared->find(); },
      [shared, page, more] {
        const http::ApiPage shown = http::page_within(page, shared->count());
        return http::parts_of_page(
            shown, shared->count(),
            [shared, begin = shown.begin](std::string& body, std::size_t place) {
              shared->write(body, begin + place);
            },
            more);
      });
}

ApiAnswer history_answer(ServicesApi& services, const ApiTarget& target, const ServiceName& name,
                         TimePoint now) {
  const auto from = since_in(target, "10m", now);
  if (!from) return refusal(from.error());
  const auto page = http::page_of(target, std::numeric_limits<std::size_t>::max());
  if (!page) return refusal(page.error());
  auto decisions = services.history(name, *from);
  if (!decisions) return refusal(decisions.error());
  const json not_kept = services.not_kept(name, *from);
  ApiAnswer answer;
  answer.parts = parts_of_records(std::move(*decisions), *page,
                                  not_kept.empty() ? "" : ",\"not_kept\":" + json_line(not_kept));
  return answer;
}

ApiAnswer recording_answer(ServicesApi& services, const ApiTarget& target, const ServiceName& name,
                           TimePoint now) {
  const auto from = since_in(target, "15m", now);
  if (!from) return refusal(from.error());
  auto lines = services.recording(name, *from);
  if (!lines) return refusal(lines.error());
  ApiAnswer answer;
  answer.content_type = "text/plain; charset=utf-8";
  answer.parts = std::move(*lines);
  return answer;
}

}  // namespace sluice::autoscaler
