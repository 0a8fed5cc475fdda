#pragma once

#include "autoscaler/io/kept_records.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// All of them, read as an answer of the API is made.
inline std::vector<nlohmann::json> records_of(const std::unique_ptr<KeptRecords>& records) {
  while (records->find()) {
  }
  std::vector<nlohmann::json> all;
  for (std::size_t place = 0; place < records->count(); ++place) {
    std::string text;
    records->write(text, place);
    if (!text.empty()) all.push_back(nlohmann::json::parse(text));
  }
  return all;
}

}  // namespace sluice::autoscaler
