#include "common/json/write.h"

#include <nlohmann/json.hpp>

namespace sluice {

std::string json_line(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sluice
