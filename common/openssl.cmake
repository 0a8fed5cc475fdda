# sluice::openssl: OpenSSL's archives, since the sidecar is one static file. Only what ends TLS links
# it; sanitizer builds use the same archives.
find_path(SLUICE_OPENSSL_INCLUDE_DIR openssl/ssl.h REQUIRED)
find_library(SLUICE_LIBSSL NAMES libssl.a REQUIRED)
find_library(SLUICE_LIBCRYPTO NAMES libcrypto.a REQUIRED)
add_library(sluice_openssl INTERFACE)
add_library(sluice::openssl ALIAS sluice_openssl)
target_include_directories(sluice_openssl SYSTEM INTERFACE ${SLUICE_OPENSSL_INCLUDE_DIR})
target_link_libraries(sluice_openssl INTERFACE
  ${SLUICE_LIBSSL} ${SLUICE_LIBCRYPTO} Threads::Threads ${CMAKE_DL_LIBS})
