#pragma once

#include "common/model/placement_wish.h"
#include "common/yaml/yaml_reader.h"

#include <map>
#include <string>

namespace sluice::local {

using Annotations = std::map<std::string, std::string>;

/// The annotations of a mapping of free keys.
[[nodiscard]] Annotations read_annotations(YamlReader& reader, const YamlEntry& entry);

/// The entry that holds annotation `key`, for messages with a line and for quantity parsers.
[[nodiscard]] YamlEntry annotation_entry(const YamlEntry& annotations, const std::string& key);

/// Judges the keys of a service's own metadata: what belongs to its template is an error, or of the
/// autoscaler a warning.
void check_service_annotations(YamlReader& reader, const YamlEntry& entry,
                               const Annotations& annotations);

/// Judges the keys of a template's metadata, and the values of those of the autoscaler.
void check_template_annotations(YamlReader& reader, const YamlEntry& entry,
                                const Annotations& annotations);

/// What a template's annotations ask of the places where its replicas run.
[[nodiscard]] model::PlacementWish read_placement_wish(YamlReader& reader, const YamlEntry& entry,
                                                       const Annotations& annotations);

}  // namespace sluice::local
