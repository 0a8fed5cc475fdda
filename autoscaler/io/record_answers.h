#pragma once

#include "autoscaler/io/services_api.h"
#include "common/api/api_request.h"

#include <memory>
#include <string>

namespace sluice::autoscaler {

/// The items of `page` of what was kept, as far as there are so many. `more`: see parts_of_page().
[[nodiscard]] http::AnswerParts parts_of_records(std::unique_ptr<KeptRecords> records,
                                                 const http::ApiPage& page,
                                                 const std::string& more = {});

/// GET …/{name}/history.
[[nodiscard]] api::ApiAnswer history_answer(ServicesApi& services, const http::ApiTarget& target,
                                            const ServiceName& name, TimePoint now);

/// GET …/{name}/recording.
[[nodiscard]] api::ApiAnswer recording_answer(ServicesApi& services, const http::ApiTarget& target,
                                              const ServiceName& name, TimePoint now);

}  // namespace sluice::autoscaler
