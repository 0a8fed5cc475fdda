include(openssl.cmake)
sluice_library(tls SOURCES net/tls_settings.cpp net/tls_context.cpp net/tls_session.cpp
  HEADERS net/tls_settings.h net/tls_context.h net/tls_session.h
  DEPS sluice::net PRIVATE_DEPS sluice::openssl)
