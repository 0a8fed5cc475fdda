# HTTP/2 framing and header compression. The archive, so that the sidecar can be linked statically.
find_path(SLUICE_NGHTTP2_INCLUDE nghttp2/nghttp2.h REQUIRED)
find_library(SLUICE_NGHTTP2 NAMES libnghttp2.a REQUIRED)
add_library(sluice_nghttp2 INTERFACE)
add_library(sluice::nghttp2 ALIAS sluice_nghttp2)
target_include_directories(sluice_nghttp2 SYSTEM INTERFACE ${SLUICE_NGHTTP2_INCLUDE})
target_link_libraries(sluice_nghttp2 INTERFACE ${SLUICE_NGHTTP2})
