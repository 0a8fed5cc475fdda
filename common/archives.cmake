# Libraries as archives, so that the sidecar can be linked into one static file; sanitizer builds use the
# same ones. sluice_archive(NAME HEADER ARCHIVE...): sluice::NAME.
function(sluice_archive name header)
  find_path(SLUICE_${name}_INCLUDE ${header} REQUIRED)
  add_library(sluice_${name} INTERFACE)
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} SYSTEM INTERFACE ${SLUICE_${name}_INCLUDE})
  foreach(archive IN LISTS ARGN)
    find_library(SLUICE_${archive} NAMES ${archive} REQUIRED)
    target_link_libraries(sluice_${name} INTERFACE ${SLUICE_${archive}})
  endforeach()
endfunction()

sluice_archive(nghttp2 nghttp2/nghttp2.h libnghttp2.a)
sluice_archive(re2 re2/re2.h libre2.a)
sluice_archive(openssl openssl/ssl.h libssl.a libcrypto.a)
target_link_libraries(sluice_openssl INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
find_library(SLUICE_PROTOBUF_LITE NAMES libprotobuf-lite.a REQUIRED)
