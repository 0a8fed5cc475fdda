# Requests that count for nothing. RE2 as the archive, so that the sidecar can be linked statically; its
# copy stays invisible to the one that gRPC's shared libraries bring along.
find_path(SLUICE_RE2_INCLUDE re2/re2.h REQUIRED)
find_library(SLUICE_RE2 NAMES libre2.a REQUIRED)
sluice_library(ignore_rules SOURCES ignore/rules.cpp HEADERS ignore/rules.h
  DEPS sluice::http PRIVATE_DEPS ${SLUICE_RE2} Threads::Threads)
target_include_directories(sluice_ignore_rules SYSTEM PRIVATE ${SLUICE_RE2_INCLUDE})
target_link_options(sluice_ignore_rules INTERFACE LINKER:--exclude-libs,libre2.a)
