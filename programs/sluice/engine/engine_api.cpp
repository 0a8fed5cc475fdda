#include "programs/sluice/engine/engine_api.h"

#include <utility>

namespace sluice::local {

ApiProblem::ApiProblem(int status_code, std::string type_word, std::string title_text,
                       std::string detail_text, std::string fix_text)
    : status(status_code),
      type(std::move(type_word)),
      title(std::move(title_text)),
      detail(std::move(detail_text)),
      fix(std::move(fix_text)) {}

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
  return {404, "no-such-path", "No such path", "nothing is served at " + std::string(path),
          "see GET /api/v1/services"};
}

ApiProblem invalid_document(std::string detail, std::string fix) {
  return {422, "invalid-document", "Not accepted", std::move(detail), std::move(fix)};
}

}  // namespace sluice::local
