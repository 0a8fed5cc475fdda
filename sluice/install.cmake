# deploy/manifests inside the command: `sluice install` needs no files beside it.
foreach(profile small standard ha)
  string(TOUPPER ${profile} upper)
  set(manifest ${PROJECT_SOURCE_DIR}/deploy/manifests/${profile}.yaml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
  file(READ ${manifest} SLUICE_MANIFEST_${upper})
endforeach()
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/commands/install_manifests.cpp.in
  ${CMAKE_CURRENT_BINARY_DIR}/install_manifests.cpp @ONLY)
sluice_library(installation
  HEADERS commands/install.h
  SOURCES commands/install.cpp ${CMAKE_CURRENT_BINARY_DIR}/install_manifests.cpp
  DEPS sluice::base
  PRIVATE_DEPS yaml-cpp)
