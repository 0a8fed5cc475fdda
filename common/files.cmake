# The directory platform of protocols.md 9: files of JSON that are replaced by rename and watched.
sluice_library(files
  SOURCES files/directory_watch.cpp files/file_io.cpp files/json_fields.cpp
    files/platform_directory.cpp files/revision_file.cpp files/scale_file.cpp
  HEADERS files/directory_watch.h files/file_io.h files/write_all.h files/json_fields.h files/platform_directory.h
    files/revision_file.h files/scale_file.h
  DEPS sluice::base sluice::time_core sluice::net sluice::knative_contract sluice::log nlohmann_json::nlohmann_json
  PRIVATE_DEPS sluice::json_depth)
