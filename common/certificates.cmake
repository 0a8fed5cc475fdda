# Certificates that programs make for themselves and rotate: what a certificate says of its holder and
# when the next step is due (pure), the certificates, and the Secret that replicas share.
sluice_library(certificate_core CORE
  SOURCES certificates/identity.cpp certificates/plan.cpp
  HEADERS certificates/identity.h certificates/plan.h
  DEPS sluice::time_core)
# What an agent that enrols and the autoscaler say to each other.
sluice_library(enrolment_text CORE SOURCES certificates/enrolment_text.cpp
  HEADERS certificates/enrolment_text.h DEPS sluice::base sluice::http)
if(TARGET sluice_tls)
  sluice_library(certificates SOURCES certificates/certificates.cpp
    HEADERS certificates/certificates.h
    DEPS sluice::base sluice::certificate_core sluice::tls PRIVATE_DEPS sluice::openssl)
endif()
if(TARGET sluice_kube)
  sluice_library(certificate_keeper
    SOURCES certificates/documents.cpp certificates/keeper.cpp
    HEADERS certificates/documents.h certificates/keeper.h
    DEPS sluice::certificates sluice::kube sluice::log sluice::clock Boost::headers
    PRIVATE_DEPS sluice::json_depth nlohmann_json::nlohmann_json)
endif()
