#include "programs/sluice/engine/engine_api.h"

#include <utility>

namespace sluice::local {

ApiProblem no_such_service(std::string_view service, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& name : known) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return {404, "no-such-service", "No such service", "no service is named " + std::string(service),
          list.empty() ? "this engine has no services; add one: sluice apply -f FILE"
                       : "services here: " + list};
}

ApiProblem no_such_path(std::string_view path) {
  return http::no_such_path(path, "see GET /api/v1/services");
}

ApiProblem invalid_document(std::string detail, std::string fix) {
  return {422, "invalid-document", "Not accepted", std::move(detail), std::move(fix)};
}

}  // namespace sluice::local
