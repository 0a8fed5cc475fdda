#include "platform/process/config_documents.h"

namespace sluice::local {

std::string ConfigName::text() const {
  return (kind == ConfigKind::secret ? "Secret " : "ConfigMap ") + name;
}

const std::string* value_of(const ConfigDocuments& documents, const ConfigKey& key) {
  const auto document = documents.find(key.source);
  if (document == documents.end()) return nullptr;
  const auto value = document->second.find(key.key);
  return value == document->second.end() ? nullptr : &value->second;
}

}  // namespace sluice::local
